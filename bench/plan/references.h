// What others reach on the shared problems: overhead in per cent over running every task once. Published figures from
// the Moccasin paper (ICML 2023, arXiv 2304.14463: Checkmate MILP, Moccasin) and the FastSA paper ("A fast heuristic to
// optimize time-space tradeoff for large models", NeurIPS 2023), which give one decimal; reference plans and bounds
// from the README beside the problems, which give two.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tidemark::bench {

constexpr double kNone = -1;         // not reported
constexpr double kInfeasible = -2;   // reported to have no plan

struct Reference {
  const char* folder;
  const char* problem;
  int percent;               // budget = resident + percent of (store-all live peak - resident)
  double published;          // the best of the published planners
  const char* by;
  double reference, bound;   // the reference's plan and its proven bound
  double seconds;            // CPU to spend
};

constexpr Reference kReferences[] = {
    {"published", "random_layered_100", 80, 0.3, "FastSA", 0.66, kNone, 2},
    {"published", "random_layered_250", 90, 0.0, "FastSA", kNone, kNone, 2},
    {"published", "random_layered_250", 80, 0.0, "FastSA", 0.29, kNone, 2},
    {"published", "random_layered_500", 80, 2.3, "FastSA", kNone, kNone, 2},
    {"published", "random_layered_1000", 90, 0.4, "FastSA", kNone, kNone, 2},
    {"published", "random_layered_1000", 80, 2.5, "FastSA", 2.0, kNone, 2},
    {"published", "fcn8", 90, 0.0, "Checkmate", kNone, kNone, 0.1},
    {"published", "fcn8", 80, 0.1, "Checkmate", kNone, kNone, 0.1},
    {"published", "fcn8", 70, 3.0, "FastSA", 0.891, 0.891, 0.1},
    {"published", "resnet50_mlsys", 90, 0.1, "Checkmate", kNone, kNone, 0.1},
    {"published", "resnet50_mlsys", 80, 0.3, "Checkmate", 0.279, 0.279, 0.1},
    {"published", "resnet50_mlsys", 70, 0.8, "FastSA", kNone, kNone, 0.1},
    {"h200", "vgg16", 80, kNone, "", 1.25, 1.25, 1},
    {"h200", "vgg16", 60, kNone, "", 5.61, 5.61, 1},
    {"h200", "vgg16", 50, kNone, "", 8.79, 8.27, 1},
    {"h200", "vgg16", 40, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "vgg16", 30, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "vgg16", 20, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "unet", 80, kNone, "", 3.15, 3.15, 1},
    {"h200", "unet", 60, kNone, "", 8.33, 8.32, 1},
    {"h200", "unet", 50, kNone, "", 11.49, 11.48, 1},
    {"h200", "unet", 40, kNone, "", 16.23, 15.36, 1},
    {"h200", "unet", 30, kNone, "", 27.64, 21.30, 1},
    {"h200", "unet", 20, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "resnet50", 80, kNone, "", 2.03, 1.96, 1},
    {"h200", "resnet50", 60, kNone, "", 6.68, 6.63, 1},
    {"h200", "resnet50", 50, kNone, "", 10.42, 10.28, 1},
    {"h200", "resnet50", 40, kNone, "", 14.74, 14.34, 1},
    {"h200", "resnet50", 30, kNone, "", 19.70, 18.81, 1},
    {"h200", "resnet50", 20, kNone, "", 30.32, 23.94, 1},
    {"h200", "mobilenet_v2", 80, kNone, "", 1.92, 1.90, 1},
    {"h200", "mobilenet_v2", 60, kNone, "", 4.52, 4.49, 1},
    {"h200", "mobilenet_v2", 50, kNone, "", 6.83, 6.82, 1},
    {"h200", "mobilenet_v2", 40, kNone, "", 9.75, 9.73, 1},
    {"h200", "mobilenet_v2", 30, kNone, "", 12.98, 12.79, 1},
    {"h200", "mobilenet_v2", 20, kNone, "", 21.05, 18.64, 1},
    {"h200", "googlenet", 80, kNone, "", 2.68, 2.61, 1},
    {"h200", "googlenet", 60, kNone, "", 6.16, 5.89, 1},
    {"h200", "googlenet", 50, kNone, "", 8.24, 7.92, 1},
    {"h200", "googlenet", 40, kNone, "", 10.92, 10.34, 1},
    {"h200", "googlenet", 30, kNone, "", 14.14, 13.70, 1},
    {"h200", "googlenet", 20, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "gpt2_small", 80, kNone, "", 2.74, 2.72, 1},
    {"h200", "gpt2_small", 60, kNone, "", 6.04, 5.99, 1},
    {"h200", "gpt2_small", 50, kNone, "", 10.52, 10.48, 1},
    {"h200", "gpt2_small", 40, kNone, "", 15.94, 15.93, 1},
    {"h200", "gpt2_small", 30, kNone, "", 22.22, 22.17, 1},
    {"h200", "gpt2_small", 20, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "bert_base", 80, kNone, "", 2.45, 2.44, 1},
    {"h200", "bert_base", 60, kNone, "", 6.32, 6.28, 1},
    {"h200", "bert_base", 50, kNone, "", 9.58, 9.55, 1},
    {"h200", "bert_base", 40, kNone, "", 13.18, 13.14, 1},
    {"h200", "bert_base", 30, kNone, "", 19.61, 19.59, 1},
    {"h200", "bert_base", 20, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "lstm_lm", 80, kNone, "", 6.85, 6.79, 1},
    {"h200", "lstm_lm", 60, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "lstm_lm", 50, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "lstm_lm", 40, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "lstm_lm", 30, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "lstm_lm", 20, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "gpt2_xl", 80, kNone, "", 1.75, 1.75, 1},
    {"h200", "gpt2_xl", 60, kNone, "", 4.11, 4.10, 1},
    {"h200", "gpt2_xl", 50, kNone, "", 6.28, 6.03, 1},
    {"h200", "gpt2_xl", 40, kNone, "", 9.58, 9.54, 1},
    {"h200", "gpt2_xl", 30, kNone, "", kNone, kNone, 1},
    {"h200", "gpt2_xl", 20, kNone, "", kInfeasible, kInfeasible, 1},
    {"h200", "swin_t", 80, kNone, "", 0.95, 0.90, 1},
    {"h200", "swin_t", 60, kNone, "", 2.66, 2.64, 1},
    {"h200", "swin_t", 50, kNone, "", 4.41, 4.36, 1},
    {"h200", "swin_t", 40, kNone, "", 6.91, 6.72, 1},
    {"h200", "swin_t", 30, kNone, "", 10.18, 9.79, 1},
    {"h200", "swin_t", 20, kNone, "", 15.46, 14.43, 1},
};

}  // namespace tidemark::bench
