// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/plan_cache.h"

#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
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

std::optional<plan::Plan> PlanCache::find(const std::string& key, const plan::Problem& problem,
                                          Bytes budget) const {
  std::error_code error;
  if (folder_.empty() || !std::filesystem::is_regular_file(path(key), error)) return std::nullopt;
  try {
    plan::Plan plan = plan::read_plan(problem, read_file(path(key)));
    if (!plan::has_plan(plan) || !plan.has_arena || (budget >= 0 && plan.peak > budget) ||
        !plan::check(problem, plan).empty())
      return std::nullopt;
    return plan;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool PlanCache::store(const std::string& key, const plan::Problem& problem, const plan::Plan& plan) const {
  if (folder_.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  try {
    write_file(path(key), plan::write_plan(problem, plan));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tidemark
