// The arena that all programs of a compiled function share, since only one runs at a time: as large as the largest of them needs, but
// for a program whose budget that would exceed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <tuple>

#include "tidemark/compile/compiled.h"
#include "tidemark/ir/storage.h"

namespace tidemark {

struct SharedArena {
  std::shared_ptr<Device> device;
  std::shared_ptr<std::byte> memory = nullptr;
  Bytes bytes = 0;     // asked for
  Bytes measured = 0;  // what the device counted for it
  std::vector<Compiled*> users = {};
  std::vector<std::weak_ptr<Storage>> lent = {};  // results that lie in it
  // Copies in files of arguments that are only read, by tier, bytes and checksum: programs that are given the same have one.
  using Contents = std::tuple<plan::TierId, Bytes, std::uint64_t>;
  std::map<Contents, std::weak_ptr<Storage>> on_disk = {};

  // Results of the last run that somebody still holds are copied out.
  void take_back();
  // At least so large, and not above `most`. What is there is given back before another is asked for; throws Error(out_of_memory) where
  // the device refuses.
  void hold(Bytes wanted, Bytes most);
  void release();
  // Null where no program has one.
  std::shared_ptr<Storage> copy_of(const Contents& contents);
  // For `user`, whose program is about to run: what the others have taken in tiers is given back where there is not room for all of it.
  void make_room(const Compiled& user);

 private:
  static void put_away(Compiled& user);
  // What `by` has copied into a tier and `but` has not.
  static Bytes copied(const Compiled& by, std::size_t tier, const Compiled& but);
};

}  // namespace tidemark
