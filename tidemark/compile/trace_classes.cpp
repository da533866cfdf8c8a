// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/trace_classes.h"

#include <algorithm>
#include <array>
#include <map>

namespace tidemark {
namespace {

using tape::Code;
using tape::Ref;
using tape::Trace;

// Chains below that length, or of which there are more beside each other, are better as arrays: one addition of the chains after the other.
constexpr std::size_t kFoldLength = 16, kFoldWidth = 8;

class Classifier {
 public:
  explicit Classifier(const Trace& trace) : trace_(trace), uses_(trace.nodes.size(), 0) {
    count_uses();
    fold_of_.assign(trace.nodes.size(), -1);
  }

  TraceClasses run() {
    // Constants of one value each where that is enough; where a loop has other constants in every iteration, as tables.
    by_value_ = true;
    TraceClasses exact = assign();
    by_value_ = false;
    TraceClasses loose = assign();
    by_value_ = exact.classes.size() <= 2 * loose.classes.size() + 64;
    find_folds(by_value_ ? exact : loose);
    TraceClasses result = assign();
    sort(result);
    find_offsets(result);
    result = assign();
    sort(result);
    result.folds = std::move(folds_);
    return result;
  }

 private:
  void count_uses() {
    const auto use = [&](Ref r) {
      if (!r.is_constant()) ++uses_[r.index()];
    };
    for (const Trace::Output& o : trace_.outputs)
      for (const Ref r : o.numbers) use(r), use(r);  // twice: never inside a fold
    for (const Trace::Guard& g : trace_.guards) use(g.truth);
    for (std::size_t i = trace_.nodes.size(); i-- > 0;) {
      const Trace::Node& n = trace_.nodes[i];
      if (uses_[i] > 0)
        for (std::size_t k = 0; k < n.count; ++k) use(n.in[k]);
    }
  }

  TraceClasses assign() const {
    TraceClasses c;
    c.class_of.assign(trace_.nodes.size(), -1);
    using Key = std::array<std::int64_t, 6>;
    std::map<Key, std::int32_t> known;
    for (std::size_t i = 0; i < trace_.inputs.size(); ++i) {
      TraceClass one{.input = static_cast<std::int32_t>(i)};
      for (std::uint32_t k = 0; k < trace_.inputs[i].count; ++k) {
        one.members.push_back(trace_.inputs[i].first + k);
        c.class_of[one.members.back()] = static_cast<std::int32_t>(i);
      }
      c.classes.push_back(std::move(one));
    }
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const Trace::Node& n = trace_.nodes[i];
      if (n.code == Code::input || uses_[i] == 0 || fold_of_[i] == kInside) continue;
      Key key{static_cast<std::int64_t>(n.code), -1, -1, -1, 0, 0};
      if (!offsets_.empty()) std::copy(offsets_[i].begin(), offsets_[i].end(), key.begin() + 4);
      if (fold_of_[i] >= 0)
        key = {-1, fold_of_[i], -1, -1, 0, 0};
      else
        for (std::size_t k = 0; k < n.count; ++k)
          key[k + 1] = n.in[k].is_constant()
                           ? (by_value_ ? -2 - static_cast<std::int64_t>(n.in[k].index()) : -2)
                           : c.class_of[n.in[k].index()];
      const auto [found, fresh] = known.try_emplace(key, static_cast<std::int32_t>(c.classes.size()));
      if (fresh) c.classes.push_back({.code = n.code, .fold = std::max(fold_of_[i], -1)});
      c.class_of[i] = found->second;
      c.classes[static_cast<std::size_t>(found->second)].members.push_back(static_cast<std::uint32_t>(i));
    }
    return c;
  }

  void find_folds(const TraceClasses& c) {
    const auto narrow = [&](std::size_t i) {
      return trace_.nodes[i].code == Code::add && c.class_of[i] >= 0 &&
             c.classes[static_cast<std::size_t>(c.class_of[i])].members.size() <= kFoldWidth;
    };
    // Node i adds to the sum before it, which nobody else reads.
    const auto continues = [&](std::size_t i) {
      const Ref before = trace_.nodes[i].in[0];
      return narrow(i) && !before.is_constant() && narrow(before.index()) && uses_[before.index()] == 1;
    };
    std::vector<bool> inside(trace_.nodes.size(), false);
    for (std::size_t i = trace_.nodes.size(); i-- > 0;) {
      if (uses_[i] == 0 || inside[i] || !continues(i)) continue;
      std::vector<std::uint32_t> chain{static_cast<std::uint32_t>(i)};
      while (continues(chain.back())) {
        chain.push_back(trace_.nodes[chain.back()].in[0].index());
        inside[chain.back()] = true;
      }
      if (chain.size() < kFoldLength) continue;
      TraceFold fold{trace_.nodes[chain.back()].in[0], {}};
      for (std::size_t k = chain.size(); k-- > 0;) {
        fold.terms.push_back(trace_.nodes[chain[k]].in[1]);
        fold_of_[chain[k]] = kInside;
      }
      fold_of_[i] = static_cast<std::int32_t>(folds_.size());
      folds_.push_back(std::move(fold));
    }
  }

  // One class may hold the same formula for the left and the right neighbour: operands that lie apart by another distance. Told apart,
  // each reads slices.
  void find_offsets(const TraceClasses& c) {
    constexpr std::size_t kMostOffsets = 4;
    offsets_.assign(trace_.nodes.size(), {});
    for (const TraceClass& one : c.classes) {
      if (one.input >= 0 || one.fold >= 0 || trace_.nodes[one.members[0]].count < 2) continue;
      const auto offsets_of = [&](std::uint32_t i) {
        const Trace::Node& n = trace_.nodes[i];
        std::array<std::int64_t, 2> d{};
        std::int64_t from = -1;
        for (std::size_t k = 0, at = 0; k < n.count; ++k) {
          if (n.in[k].is_constant() || width(c, n.in[k]) == 1) continue;
          const std::int64_t place = c.place_of[n.in[k].index()];
          if (from < 0)
            from = place;
          else
            d[at++] = place - from;
        }
        return d;
      };
      std::map<std::array<std::int64_t, 2>, std::size_t> seen;
      for (const std::uint32_t i : one.members) {
        ++seen[offsets_of(i)];
        if (seen.size() > kMostOffsets) break;
      }
      if (seen.size() < 2 || seen.size() > kMostOffsets) continue;
      for (const std::uint32_t i : one.members) offsets_[i] = offsets_of(i);
    }
  }
  static std::size_t width(const TraceClasses& c, Ref r) {
    return c.classes[static_cast<std::size_t>(c.class_of[r.index()])].members.size();
  }

  // Members by the places of what they read: a sweep goes backwards through the arrays that its operands were made in.
  void sort(TraceClasses& c) const {
    c.place_of.assign(trace_.nodes.size(), 0);
    for (TraceClass& one : c.classes) {
      if (one.input < 0 && one.fold < 0) {
        const auto key = [&](std::uint32_t i) {
          std::array<std::uint32_t, 3> places{};
          const Trace::Node& n = trace_.nodes[i];
          for (std::size_t k = 0; k < n.count; ++k)
            if (!n.in[k].is_constant()) places[k] = c.place_of[n.in[k].index()];
          return places;
        };
        std::stable_sort(one.members.begin(), one.members.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
      }
      for (std::size_t k = 0; k < one.members.size(); ++k)
        c.place_of[one.members[k]] = static_cast<std::uint32_t>(k);
    }
  }

  static constexpr std::int32_t kInside = -2;
  const Trace& trace_;
  std::vector<std::int32_t> uses_;
  std::vector<std::int32_t> fold_of_;  // by node: the fold that ends there; -1: none
  std::vector<TraceFold> folds_;
  std::vector<std::array<std::int64_t, 2>>
      offsets_;  // by node: what tells it from others of its class, if anything
  bool by_value_ = true;
};

}  // namespace

TraceClasses classify(const tape::Trace& trace) { return Classifier(trace).run(); }

}  // namespace tidemark
