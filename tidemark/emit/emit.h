// emit: a Program as one C++20 file that a person can read: a loop for each task, the user's lines as comments, one arena with
// its offsets, libm and nothing else. The formulas are those of base/scalar.h, the orders of sums those of the kernels, so
// results are the executor's, bit for bit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/runtime/program.h"

namespace tidemark {

struct EmitSource {
  const Binding& binding;
  const Program& program;
};

struct EmitOptions {
  std::string name = "step";  // of the function in the file
  // Refuse what a plain loop would round differently from the executor: products and losses.
  bool exact = false;
  // The planned region of a loop's node, with the places of its outputs as further inputs; asked for nodes with regions
  // other than fused chains.
  std::function<EmitSource(const Node& node, std::size_t region)> region;
};

// Throws Error(unsupported) naming the first op that has no plain form (convolutions, attention, …) and where it stands.
TIDEMARK_API std::string emit(const EmitSource& source, const EmitOptions& options = {});

// The entry point of an emitted file: the graph's inputs in order, and an arena.
inline constexpr const char* kEmittedEntry = "tidemark_step";

// What of a program has a plain form, as one file: runs of its instructions, [first, last), each a function of that kind with
// the name entry_of_part(k). The others are the executor's.
struct EmittedParts {
  std::string text;
  std::vector<std::pair<std::size_t, std::size_t>> runs;
};
TIDEMARK_API EmittedParts emit_parts(const EmitSource& source, const EmitOptions& options = {});
TIDEMARK_API std::string entry_of_part(std::size_t k);

struct NativeOptions {
  std::string compiler = "c++";
  std::string cache;  // a folder; "": tidemark-native-<user id> in /tmp
  std::string entry = kEmittedEntry;
};
// Compiles an emitted file with the system's compiler, once for each text (cached by its hash), and loads it: a kernel whose
// inputs are the program's residents and whose workspace is its arena. Throws Error(device) with the compiler's words.
TIDEMARK_API std::shared_ptr<const Kernel> load_native(const std::string& text, Bytes arena_bytes,
                                                       const NativeOptions& options = {});
// The program with one instruction, of the kernel of that part, in the place of each run.
TIDEMARK_API Program native_program(const Program& program, const EmittedParts& parts,
                                    const std::vector<std::shared_ptr<const Kernel>>& kernels);

}  // namespace tidemark
