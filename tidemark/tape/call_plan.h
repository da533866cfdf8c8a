// Which calls of a call tree keep their tape and which are run again: what one run of the tree was measured to take, the choice for a
// budget, and the peak and time that it predicts. call_tree.h carries it out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark {

// split: the call's tape is kept from the forward run on. joint: only a snapshot is kept, and the call is run again, taped, when its turn to be
// reversed comes (Griewank & Walther, 2008, chapter 12).
enum class CallMode : std::uint8_t { joint, split };

struct CallOptions {
  Bytes memory = 64_MiB;                  // tapes with their adjoints, and snapshots
  std::map<std::string, CallMode> modes;  // of functions for which it is not to be chosen
};

struct CallReport {
  struct Function {
    std::string name;
    std::int64_t calls = 0, split = 0;
    Bytes tape = 0, snapshot = 0;  // the largest of a call, without those of the calls inside it
    Bytes state = 0;               // what a snapshot of everything would take
    double seconds = 0;            // of all calls in one run that watches them, with those inside them
  };
  std::vector<Function> functions;  // by name
  Bytes budget = 0;
  Bytes smallest = 0;  // what every call joint takes, or fewer where a snapshot is larger than its tape
  Bytes all_split = 0;              // with every call split
  Bytes peak = 0, measured_peak = 0;
  Bytes measuring = 0;  // the most that measuring took of tapes
  double seconds = 0;   // predicted
  // One line for each function: "advect: 40 calls, 12 keep their tape of 1.2 MiB, 28 run again from 80 KiB of 240 KiB".
  TIDEMARK_API std::string explain() const;
};

namespace tape {

// What a call does to the world: begins something (allocates, opens, sends) or ends it (frees, closes, receives).
struct CallEffect {
  std::string what, key;
  bool ends = false;
  std::source_location where;
};

// One call, as it was measured. Control flow is deterministic: a second run makes the same calls.
struct CallNode {
  std::string function;
  CallNode* parent = nullptr;
  std::vector<std::unique_ptr<CallNode>> children;
  CallMode mode = CallMode::joint;
  bool fixed = false;             // not to be chosen
  Bytes chunk = 0, adjoints = 0;  // its tape
  Bytes links = 0;                // beside it: the state on Vars, and the keys that the calls in it get
  Bytes bytes = 0;                // both: all that is held while it is taped, without its children
  double plain = 0, taped = 0, own = 0;  // seconds: of a plain run, with its children; taped, without
  std::vector<bool> changes;             // by number of the state: it, or a call in it, assigns it
  std::vector<bool> uses;                // or reads it
  std::vector<bool> saved;               // the snapshot: what is used and does not outlive the parent's body
  std::vector<bool> overwritten;         // what does not, while that is found out
  Bytes snapshot = 0;
  // One that changes no number has no adjoint: it is run beside the tape.
  bool changes_any() const { return std::find(changes.begin(), changes.end(), true) != changes.end(); }
  std::vector<CallEffect> effects;  // its own, and those of the calls in it, in order
};

struct CallForecast {
  Bytes peak = 0;
  double seconds = 0;
};
TIDEMARK_API CallForecast forecast(const CallNode& root);
// Sets the modes. Throws Error(infeasible) with the smallest budget, and Error(usage) naming both places where a call that was asked to be
// joint would separate what begins from what ends.
TIDEMARK_API void choose_modes(CallNode& root, const CallOptions& options, CallReport& report);

}  // namespace tape
}  // namespace tidemark
