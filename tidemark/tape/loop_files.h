// What a sweep leaves on disk so that it can be taken up again: snapshots of states by step, and its progress. Every file is
// written beside and renamed, has a checksum, and is named in every error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"

namespace tidemark::tape {

// Tells one loop from another: a folder is not shared by two.
struct LoopIdentity {
  std::int64_t steps = 0;  // -1: until it ends
  std::uint64_t given =
      0;  // the checksum of its parameters, its first state, what its first step makes of it, and what else it depends on
  bool operator==(const LoopIdentity&) const = default;
};

class LoopFiles {
 public:
  LoopFiles(std::string folder, const LoopIdentity& identity);

  // Nothing where there is no such file; Error(data) where it is damaged or another loop's, Error(io) where it cannot be read.
  std::optional<std::vector<std::byte>> read_state(std::int64_t step) const;
  bool has_state(std::int64_t step) const;
  void write_state(std::int64_t step, std::span<const std::byte> state) const;
  void remove_state(std::int64_t step) const;
  void remove_states() const;  // all of this loop
  std::set<std::int64_t> states() const;

  struct Progress {
    std::int64_t left = 0;               // steps not yet reversed
    std::int64_t steps = 0;              // all of them
    std::optional<std::uint64_t> state;  // the checksum of the state before step `left`, where it was known
    std::vector<std::byte> adjoint;
  };
  std::optional<Progress> read_progress() const;
  void write_progress(const Progress& progress) const;
  void remove_progress() const;
  std::string progress_path() const;
  const std::string& folder() const { return folder_; }

  // Which states go to disk (schedule/tier_splits.h), as the first run decided.
  std::optional<std::vector<std::int64_t>> read_splits() const;
  void write_splits(std::span<const std::int64_t> splits) const;
  void remove_splits() const;

 private:
  std::string state_path(std::int64_t step) const;
  std::string splits_path() const;
  std::optional<std::vector<std::byte>> read(const std::string& path, std::int64_t& number) const;
  void write(const std::string& path, std::int64_t number, std::span<const std::byte> contents) const;

  std::string folder_;
  LoopIdentity identity_;
};

}  // namespace tidemark::tape
