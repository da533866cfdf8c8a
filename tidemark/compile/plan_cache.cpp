// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/plan_cache.h"

#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/runtime/profile.h"

namespace tidemark {

std::string text_key(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325ull;  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return fmt::format("{:016x}", h);
}

std::string plan_key(const plan::Problem& problem, Bytes budget, std::string_view device, int threads,
                     std::string_view options) {
  return text_key(fmt::format("{}|{}|{}|{}|{}|{}", plan::hash(problem), budget, device, threads, options,
                              library_versions()));
}

namespace {

plan::Plan read_kept(const plan::Problem& problem, Bytes budget, std::string_view json) {
  plan::Plan plan = plan::read_plan(problem, json);
  if (!plan::has_plan(plan) || !plan.has_arena) fail(Error::Kind::usage, "[plan] none that could be run");
  const plan::Replay truth = plan::replay(problem, plan);
  if (truth.broken.empty()) add_figures(problem, truth, plan);
  if (budget >= 0) plan.budget = budget;
  const std::string broken = plan::check(problem, plan);
  if (!broken.empty()) fail(Error::Kind::usage, "[plan] {}", broken);
  return plan;
}

}  // namespace

std::optional<KeptPlan> PlanCache::find(const std::string& key, const plan::Problem& problem,
                                        Bytes budget) const {
  std::error_code error;
  if (folder_.empty() || !std::filesystem::is_regular_file(path(key), error)) return std::nullopt;
  try {
    const std::string json = read_file(path(key)), beside = read_notes(json).fallback;
    KeptPlan kept{.plan = read_kept(problem, budget, json), .fallback = std::nullopt};
    if (!beside.empty()) kept.fallback = read_kept(problem, budget, beside);
    return kept;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool PlanCache::store(const std::string& key, const plan::Problem& problem, const KeptPlan& kept) const {
  if (folder_.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  try {
    PlanNotes notes;
    if (kept.fallback) notes.fallback = plan::write_plan(problem, *kept.fallback);
    write_file(path(key), with_notes(plan::write_plan(problem, kept.plan), notes));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tidemark
