// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/call_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark {
namespace tape {
namespace {

// The run, with bytes and seconds instead of numbers.
struct Rehearsal {
  Bytes live = 0, peak = 0;
  double seconds = 0;
  void add(Bytes bytes) { peak = std::max(peak, live += bytes); }

  void tape(const CallNode& n) {
    add(n.bytes);
    seconds += n.own;
    for (const auto& c : n.children) {
      if (!c->changes_any()) continue;
      if (c->mode == CallMode::split) {
        tape(*c);
      } else {
        seconds += c->plain;
        add(c->snapshot);
      }
    }
  }
  void reverse(const CallNode& n) {
    seconds += n.own;  // a sweep takes about as long as the recording
    for (auto c = n.children.rbegin(); c != n.children.rend(); ++c) {
      if (!(*c)->changes_any()) continue;
      if ((*c)->mode == CallMode::joint) {
        add(-(*c)->snapshot);
        tape(**c);
      }
      reverse(**c);
    }
    add(-n.bytes);
  }
};

void each(CallNode& n, const auto& f) {
  f(n);
  for (const auto& c : n.children) each(*c, f);
}

// The first thing that a call begins and does not end, or the other way round.
struct Separated {
  const CallEffect* inside = nullptr;
  const CallEffect* outside = nullptr;
};
Separated separated(const CallNode& n, const CallNode& root) {
  const auto matches = [](const CallEffect& a, const CallEffect& b) {
    return a.key == b.key && a.ends != b.ends;
  };
  std::vector<const CallEffect*> open;
  for (const CallEffect& e : n.effects) {
    const auto found = std::find_if(open.rbegin(), open.rend(),
                                    [&](const CallEffect* o) { return !o->ends && matches(*o, e); });
    if (e.ends && found != open.rend())
      open.erase(std::next(found).base());
    else
      open.push_back(&e);
  }
  if (open.empty()) return {};
  Separated s{open.front(), nullptr};
  const auto same_place = [](const CallEffect& a, const CallEffect& b) {
    return a.where.line() == b.where.line() && std::string_view(a.where.file_name()) == b.where.file_name() &&
           a.ends == b.ends;
  };
  for (const CallEffect& e : root.effects)
    if (matches(e, *s.inside) && !same_place(e, *s.inside)) s.outside = &e;
  return s;
}
std::string place(const CallEffect& e) {
  const std::string_view file = e.where.file_name();
  return fmt::format("{} '{}' at {}:{}", e.what, e.key, file.substr(file.rfind('/') + 1), e.where.line());
}

}  // namespace

CallForecast forecast(const CallNode& root) {
  Rehearsal r;
  r.tape(root);
  r.reverse(root);
  return {r.peak, r.seconds};
}

void choose_modes(CallNode& root, const CallOptions& options, CallReport& report) {
  for (const auto& asked : options.modes) {
    bool called = false;
    each(root, [&](const CallNode& n) { called = called || (&n != &root && n.function == asked.first); });
    if (!called)
      fail(Error::Kind::usage, "[call_tree] a mode for '{}' vs the functions that '{}' calls", asked.first,
           root.function);
  }
  root.mode = CallMode::split;
  root.fixed = true;
  std::vector<CallNode*> free;
  each(root, [&](CallNode& n) {
    if (&n == &root) return;
    const auto asked = options.modes.find(n.function);
    n.fixed = asked != options.modes.end();
    n.mode = n.fixed ? asked->second : CallMode::joint;
    if (const Separated s = separated(n, root); s.inside != nullptr) {
      if (n.fixed && n.mode == CallMode::joint)
        fail(Error::Kind::usage,
             "[call_tree] a checkpoint around '{}' would separate {} from {}: both must lie inside what is "
             "run again, or both outside",
             n.function, place(*s.inside),
             s.outside == nullptr ? "what ends or begins it, which is nowhere" : place(*s.outside));
      n.mode = CallMode::split;
      n.fixed = true;
    }
    if (!n.fixed) free.push_back(&n);
  });
  report.budget = options.memory;
  for (CallNode* n : free) n->mode = CallMode::split;
  report.all_split = forecast(root).peak;
  const auto fits = [&] { return forecast(root).peak <= options.memory; };
  const bool all = fits();
  for (CallNode* n : free) n->mode = CallMode::joint;
  report.smallest = forecast(root).peak;
  // A snapshot may be larger than the tape that it stands for.
  for (CallNode* n : free) {
    n->mode = CallMode::split;
    if (const Bytes peak = forecast(root).peak; peak <= report.smallest)
      report.smallest = peak;
    else
      n->mode = CallMode::joint;
  }
  if (all) {
    for (CallNode* n : free) n->mode = CallMode::split;
  } else {
    if (report.smallest > options.memory)
      fail(Error::Kind::infeasible,
           "[call_tree] memory {} vs at least {}: the tapes of a call and of those around it, and their "
           "snapshots",
           format_bytes(options.memory), format_bytes(report.smallest));
    // Most seconds saved for a byte first.
    std::stable_sort(free.begin(), free.end(), [](const CallNode* a, const CallNode* b) {
      return a->plain * static_cast<double>(b->bytes) > b->plain * static_cast<double>(a->bytes);
    });
    for (CallNode* n : free) {
      if (n->mode == CallMode::split) continue;
      n->mode = CallMode::split;
      if (!fits()) n->mode = CallMode::joint;
    }
  }
  const CallForecast now = forecast(root);
  report.peak = now.peak;
  report.seconds = now.seconds;
  std::map<std::string, CallReport::Function> functions;
  each(root, [&](CallNode& n) {
    CallReport::Function& f = functions[n.function];
    f.name = n.function;
    ++f.calls;
    f.split += n.mode == CallMode::split ? 1 : 0;
    f.tape = std::max(f.tape, n.bytes);
    f.snapshot = std::max(f.snapshot, n.snapshot);
    f.state = std::max(f.state, static_cast<Bytes>(n.changes.size() * sizeof(double)));
    f.seconds += n.plain;
  });
  for (auto& [name, f] : functions) report.functions.push_back(std::move(f));
}

}  // namespace tape

std::string CallReport::explain() const {
  std::string text = fmt::format("peak {} of {}; every tape kept would take {}\n", format_bytes(peak),
                                 format_bytes(budget), format_bytes(all_split));
  for (const Function& f : functions) {
    text += fmt::format("{}: {} call{}, {:.3g} s", f.name, f.calls, f.calls == 1 ? "" : "s", f.seconds);
    if (f.split > 0)
      text += fmt::format(", {} keep{} a tape of {}", f.split, f.split == 1 ? "s" : "", format_bytes(f.tape));
    if (f.split < f.calls)
      text += fmt::format(", {} run{} again from {} of {}", f.calls - f.split,
                          f.calls - f.split == 1 ? "s" : "", format_bytes(f.snapshot), format_bytes(f.state));
    text += "\n";
  }
  return text;
}

}  // namespace tidemark
