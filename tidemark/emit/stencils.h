// Loops of a program that read one another at constant distances (a pad, a part of an array, a neighbour), written as one: what is made
// only to be read so is computed where it is read, and never lies in memory. Each element is computed as before, so that no bit changes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tidemark/emit/writer.h"

namespace tidemark::emitting {

class Stencils {
 public:
  explicit Stencils(const EmitSource& source);

  // Instruction j is computed where it is read, and there is nothing to write for it.
  bool left_out(std::size_t j) const { return points_[j] && !made_[j]; }
  // It reads some that are left out: write() has the whole of it.
  bool joined(std::size_t j) const { return made_[j] && reads_left_out(j); }
  void write(std::size_t j, std::string& out) const;

 private:
  using Shift = std::vector<std::int64_t>;
  struct Operand {
    std::size_t maker = 0;   // the instruction left out, or kNone: it lies in memory
    std::size_t output = 0;  // of the maker
    Shift shift;             // where element 0 lies in that output
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  class Writer;

  const Node& node(std::size_t j) const;
  const Value& input(std::size_t j, std::size_t i) const;
  const Value& output(std::size_t j, std::size_t o = 0) const;
  const Place& place(std::size_t j, std::size_t operand) const;
  std::string address(std::size_t j, std::size_t operand) const;
  bool reads_left_out(std::size_t j) const;
  bool is_points(std::size_t j) const;
  void find_operands();
  void choose();
  bool mend(std::size_t j);

  const EmitSource& s_;
  std::vector<char> points_, made_,
      needed_;  // by instruction: element by element; lies in memory; must lie there
  std::vector<std::vector<Operand>> operands_;
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> readers_;  // (instruction, input)
};

}  // namespace tidemark::emitting
