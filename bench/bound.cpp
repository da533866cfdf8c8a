// Lower bounds on the traced problems beside the reference's, with the CPU seconds they take, and what gaps alone prove; live bytes, no
// offsets. bench_bound [folder of problems] [problem ...]
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tidemark/plan/bound.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"

namespace {

using namespace tidemark;
using namespace tidemark::plan;

constexpr double kFractions[] = {0.8, 0.6, 0.5, 0.4, 0.3, 0.2};
constexpr double kNone = -1;  // infeasible, or not given
struct Reference {
  const char* name;
  double plan[6], bound[6];
};
// problems/README.md: best plan found and proven bound, in % over running every task once.
constexpr Reference kReferences[] = {
    {"vgg16", {1.25, 5.61, 8.79, kNone, kNone, kNone}, {1.25, 5.61, 8.27, kNone, kNone, kNone}},
    {"unet", {3.15, 8.33, 11.49, 16.23, 27.64, kNone}, {3.15, 8.32, 11.48, 15.36, 21.30, kNone}},
    {"resnet50", {2.03, 6.68, 10.42, 14.74, 19.70, 30.32}, {1.96, 6.63, 10.28, 14.34, 18.81, 23.94}},
    {"mobilenet_v2", {1.92, 4.52, 6.83, 9.75, 12.98, 21.05}, {1.90, 4.49, 6.82, 9.73, 12.79, 18.64}},
    {"googlenet", {2.68, 6.16, 8.24, 10.92, 14.14, kNone}, {2.61, 5.89, 7.92, 10.34, 13.70, kNone}},
    {"gpt2_small", {2.74, 6.04, 10.52, 15.94, 22.22, kNone}, {2.72, 5.99, 10.48, 15.93, 22.17, kNone}},
    {"bert_base", {2.45, 6.32, 9.58, 13.18, 19.61, kNone}, {2.44, 6.28, 9.55, 13.14, 19.59, kNone}},
    {"lstm_lm", {6.85, kNone, kNone, kNone, kNone, kNone}, {6.79, kNone, kNone, kNone, kNone, kNone}},
    {"gpt2_xl", {1.75, 4.11, 6.28, 9.58, kNone, kNone}, {1.75, 4.10, 6.03, 9.54, kNone, kNone}},
    {"swin_t", {0.95, 2.66, 4.41, 6.91, 10.18, 15.46}, {0.90, 2.64, 4.36, 6.72, 9.79, 14.43}},
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "../shared/problems/h200";
  std::printf("%-14s %4s %9s %9s %9s %8s %7s %6s %8s %11s\n", "problem", "f", "bound %", "ref bound",
              "ref plan", "gap %", "cpu s", "leaves", "moments", "over gaps %");
  double total = 0;
  int below = 0;
  for (const Reference& ref : kReferences) {
    if (argc > 2 &&
        std::none_of(argv + 2, argv + argc, [&](const char* a) { return ref.name == std::string(a); }))
      continue;
    const std::string text = read_file(folder + "/" + ref.name + ".json");
    if (text.empty()) {
      std::printf("%-14s not in %s\n", ref.name, folder.c_str());
      continue;
    }
    const Problem p = read_problem(text);
    for (int i = 0; i < 6; ++i) {
      if (ref.bound[i] == kNone) continue;
      const double begin = cpu_seconds();
      const BoundResult r = bound(p, {.budget = budget_at(p, kFractions[i])});
      const double spent = cpu_seconds() - begin;
      total += spent;
      const double over = 100 * (r.seconds / r.floor_seconds - 1);
      const bool low = over < ref.bound[i] - 0.005;
      below += low ? 1 : 0;
      const double gap = 100 * (100 + ref.plan[i]) / (100 + over) - 100;
      // No cut, as where there is no time for any.
      const BoundResult gaps = bound(p, {.budget = budget_at(p, kFractions[i]),
                                         .time_limit = 1e-5 * static_cast<double>(p.tasks.size()),
                                         .effort = 0,
                                         .peak = false});
      std::printf("%-14s %4.1f %9.3f %9.2f %9.2f %8.3f %7.3f %6d %8d %11.3f%s\n", ref.name, kFractions[i],
                  over, ref.bound[i], ref.plan[i], gap, spent, r.leaves, static_cast<int>(r.moments.size()),
                  100 * (gaps.seconds / gaps.floor_seconds - 1), low ? "  below" : "");
    }
  }
  std::printf("%.2f s in all; %d below the reference\n", total, below);
}
