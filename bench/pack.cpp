// Packing figures: bytes against the lower bound, process CPU seconds, beside the references.
// Usage: bench_pack [--time SECONDS] [--capacity BYTES] [file.csv ...]; without files, the instances of
// ../shared/packing.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/pack.h"
#include "tidemark/plan/pack_csv.h"

namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tidemark;
  plan::PackOptions options;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--time" && i + 1 < argc) {
      options.time_limit = std::stod(argv[++i]);
    } else if (a == "--capacity" && i + 1 < argc) {
      options.capacity = std::stoll(argv[++i]);
    } else {
      files.push_back(a);
    }
  }
  if (files.empty()) {
    const std::string root = TIDEMARK_SOURCE_DIR "/../shared/packing";
    for (const char* set : {"challenging", "training"}) {
      if (!std::filesystem::exists(root + "/" + set)) continue;
      std::vector<std::string> some;
      for (const auto& e : std::filesystem::directory_iterator(root + "/" + set))
        if (e.path().extension() == ".csv") some.push_back(e.path());
      std::sort(some.begin(), some.end());
      files.insert(files.end(), some.begin(), some.end());
    }
  }
  fmt::print("{:<16} {:>6} {:>14} {:>14} {:>8} {:>8}\n", "set", "n", "LB", "bytes", "ratio", "CPU s");
  for (const std::string& file : files) {
    const plan::PackInstance instance = plan::read_pack_csv(read_file(file));
    const double start = cpu_seconds();
    const plan::Packing packing = plan::pack(instance.intervals, options);
    const double seconds = cpu_seconds() - start;
    if (const std::string broken = plan::check_packing(instance.intervals, packing, options.align);
        !broken.empty())
      fail(Error::Kind::internal, "{}: {}", file, broken);
    fmt::print("{:<16} {:>6} {:>14} {:>14} {:>8.4f} {:>8.2f}\n", std::filesystem::path(file).stem().string(),
               instance.intervals.size(), packing.lower_bound, packing.bytes,
               static_cast<double>(packing.bytes) / static_cast<double>(packing.lower_bound), seconds);
    std::fflush(stdout);
  }
}
