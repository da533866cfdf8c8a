// Packing figures, process CPU seconds, beside the references: MiniMalloc (Moffitt, ASPLOS 2023; its own
// code), the best of eight greedy rules, simulated annealing for 10 s, all measured on two shared cores; best
// known of idealloc. Usage: bench_pack [--time SECONDS] [--capacity BYTES] [--sweep] [file.csv ...] Without
// files: the sets of ../shared/packing, first at the published capacity, then as small as possible.
// --sweep: instead, how many of the challenging sets are solved at capacities above the published one.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/pack.h"
#include "tidemark/plan/pack_csv.h"

namespace {

using namespace tidemark;

struct Reference {
  const char* name;
  double minimalloc_seconds;  // at kCapacity, or at the lower bound for the training sets; 0: none
  double greedy, annealing;   // over the lower bound; 0: not measured
  double best_known;          // over the lower bound, before this program
};
constexpr Bytes kCapacity = 1048576;
constexpr std::array kReferences{
    Reference{"A.1048576", 7.33, 1.290, 1.150, 1.0000},
    Reference{"B.1048576", 5.70, 1.347, 1.176, 1.0000},
    Reference{"C.1048576", 1.12, 1.364, 1.184, 1.0089},
    Reference{"D.1048576", 3.72, 1.309, 1.192, 1.0592},
    Reference{"E.1048576", 5.76, 1.369, 1.175, 1.0000},
    Reference{"F.1048576", 9.17, 1.123, 1.117, 1.0000},
    Reference{"G.1048576", 2.01, 1.170, 1.112, 1.0000},
    Reference{"H.1048576", 2.61, 1.258, 1.079, 1.0000},
    Reference{"I.1048576", 6.14, 1.410, 1.197, 1.0000},
    Reference{"J.1048576", 1.46, 1.313, 1.208, 1.0476},
    Reference{"K.1048576", 0.99, 1.277, 1.221, 1.0000},
    Reference{"resnet50", 0.37, 1.0069, 0, 1.0000},
    Reference{"G_1", 1.8, 1.0000, 0, 1.0000},
    Reference{"pangu_2.6B", 0, 1.0076, 0, 1.0076},
    Reference{"S_1", 0, 1.0158, 0, 1.0158},
    Reference{"Y_1", 0, 1.0042, 0, 1.0035},
};
struct Sweep {
  double more;
  int minimalloc_solved;  // of 11 within 20 s
};
constexpr std::array kSweep{Sweep{0, 11},   Sweep{0.01, 3}, Sweep{0.02, 4},
                            Sweep{0.05, 5}, Sweep{0.10, 9}, Sweep{0.20, 11}};

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Row {
  std::size_t n = 0;
  plan::Packing packing;
  double seconds = 0;
  double ratio() const {
    return static_cast<double>(packing.bytes) / static_cast<double>(packing.lower_bound);
  }
};

Row measure(const std::string& file, const plan::PackOptions& options) {
  const plan::PackInstance instance = plan::read_pack_csv(read_file(file));
  const double start = cpu_seconds();
  Row row{instance.intervals.size(), plan::pack(instance.intervals, options), 0};
  row.seconds = cpu_seconds() - start;
  if (const std::string broken = plan::check_packing(instance.intervals, row.packing, options.align);
      !broken.empty())
    fail(Error::Kind::internal, "[bench pack] {}: {}", file, broken);
  return row;
}

std::string or_dash(double value, const char* format) {
  return value > 0 ? fmt::format(fmt::runtime(format), value) : "-";
}

void table(const std::vector<std::string>& files, const plan::PackOptions& options) {
  fmt::print("{:<12} {:>6} {:>13} {:>13} {:>7} {:>7} | {:>8} {:>7} {:>7} {:>7}\n", "set", "n", "LB", "bytes",
             "ratio", "CPU s", "MiniM. s", "greedy", "anneal", "best");
  double total = 0, reference_total = 0;
  for (const std::string& file : files) {
    const std::string name = std::filesystem::path(file).stem().string();
    const Row row = measure(file, options);
    const auto* at = std::find_if(kReferences.begin(), kReferences.end(),
                                  [&](const Reference& r) { return r.name == name; });
    const Reference r = at == kReferences.end() ? Reference{} : *at;
    fmt::print("{:<12} {:>6} {:>13} {:>13} {:>7.4f} {:>7.3f} | {:>8} {:>7} {:>7} {:>7}{}\n", name, row.n,
               row.packing.lower_bound, row.packing.bytes, row.ratio(), row.seconds,
               or_dash(r.minimalloc_seconds, "{:.2f}"), or_dash(r.greedy, "{:.4f}"),
               or_dash(r.annealing, "{:.3f}"), or_dash(r.best_known, "{:.4f}"),
               options.capacity >= 0 && row.packing.bytes > options.capacity ? "  does not fit" : "");
    std::fflush(stdout);
    total += row.seconds;
    reference_total += r.minimalloc_seconds;
  }
  fmt::print("total CPU {:.2f} s; MiniMalloc where it solves {:.2f} s\n\n", total, reference_total);
}

void sweep(const std::vector<std::string>& files, plan::PackOptions options) {
  fmt::print("{:>9} {:>8} {:>9}  (MiniMalloc: of {} within 20 s)\n", "capacity", "solved", "MiniM.",
             files.size());
  for (const Sweep& s : kSweep) {
    options.capacity = static_cast<Bytes>(static_cast<double>(kCapacity) * (1 + s.more));
    int solved = 0;
    for (const std::string& file : files) solved += measure(file, options).packing.bytes <= options.capacity;
    fmt::print("{:>+8.0f}% {:>8} {:>9}\n", 100 * s.more, solved, s.minimalloc_solved);
    std::fflush(stdout);
  }
}

std::vector<std::string> files_of(const std::string& set) {
  std::vector<std::string> files;
  const std::string folder = TIDEMARK_SOURCE_DIR "/../shared/packing/" + set;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& e : std::filesystem::directory_iterator(folder))
    if (e.path().extension() == ".csv") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  plan::PackOptions options;
  std::vector<std::string> files;
  bool sweeps = false, timed = false;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--time" && i + 1 < argc) {
      options.time_limit = std::stod(argv[++i]);
      timed = true;
    } else if (a == "--capacity" && i + 1 < argc) {
      options.capacity = std::stoll(argv[++i]);
    } else if (a == "--sweep") {
      sweeps = true;
    } else {
      files.push_back(a);
    }
  }
  const std::vector<std::string> challenging = files_of("challenging"), training = files_of("training");
  if (!files.empty()) {
    table(files, options);
  } else if (challenging.empty() && training.empty()) {
    fmt::print("no ../shared/packing; name CSV files (id,lower,upper,size)\n");
  } else if (sweeps) {
    sweep(challenging, options);
  } else {
    plan::PackOptions fit = options;
    fit.capacity = kCapacity;
    if (!timed) fit.time_limit = 60;
    fmt::print("capacity {}, until it fits\n", kCapacity);
    table(challenging, fit);
    fmt::print("as small as possible within {} s\n", options.time_limit);
    table(challenging, options);
    table(training, options);
  }
}
