// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/verb.h"

namespace tidemark::cli {
namespace {

constexpr Verb kVerbs[] = {
    {"models", "List the model zoo with its parameter counts", models_verb},
    {"plan", "Plan a problem or a model inside a memory budget", plan_verb},
    {"explain", "Say what was done with a value, what it costs and what it saved", explain_verb},
    {"frontier", "Plan for many budgets: the curve of time against memory", frontier_verb},
    {"fit", "Find the largest batch or sequence that fits a budget", fit_verb},
    {"whatif", "Answer what people ask before a run: batch, sequence, optimizer, budget, modules",
     whatif_verb},
    {"train", "Train a model inside a budget, with checkpoints", train_verb},
    {"bench", "Measure a training step at several budgets", bench_verb},
    {"verify", "Train inside a budget and with everything kept: the same bits?", verify_verb},
    {"report", "Show a plan as a page in the browser, or as a trace", report_verb},
    {"show", "Print a graph, its gradient or a planned program as text", show_verb},
    {"pose", "Write the training step of a model as a problem file", pose_verb},
    {"profile", "Time the ops of models on this device and write the profile that plans are made with",
     profile_verb},
    {"smallest", "Find the smallest budget that can be planned, and what bounds it", smallest_verb},
    {"bound", "Prove what no plan for a budget can beat", bound_verb},
    {"check", "Check a plan, its figures and its proof against the problem", check_verb},
    {"pack", "Give buffers with lifetimes offsets in one arena", pack_verb},
    {"schedule", "Count what a checkpoint schedule for a loop costs", schedule_verb},
    {"generate", "", generate_verb},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

}  // namespace tidemark::cli
