// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/loop_kernels.h"

#include <cstring>

#include "tidemark/ops/loops.h"

namespace tidemark {
namespace {

void copy(void* to, const void* from, Bytes bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

KernelSpec spec_of(const Graph& g, const Node& n, int threads) {
  KernelSpec spec{.attrs = n.attrs, .regions = n.regions, .threads = threads};
  for (const ValueId v : n.in) spec.in.push_back(Value{.type = g.type(v)});
  for (const ValueId v : n.out) spec.out.push_back(Value{.type = g.type(v)});
  return spec;
}

// First fit among the gaps of the places in use.
class Places {
 public:
  Bytes take(Bytes bytes) {
    Bytes at = 0;
    auto before = used_.begin();
    for (; before != used_.end() && before->first < at + bytes; ++before) at = std::max(at, before->second);
    used_.insert(before, {at, at + bytes});
    most_ = std::max(most_, at + bytes);
    return at;
  }
  void give(Bytes at) {
    for (auto i = used_.begin(); i != used_.end(); ++i) {
      if (i->first == at) {
        used_.erase(i);
        return;
      }
    }
  }
  Bytes most() const { return most_; }

 private:
  std::vector<std::pair<Bytes, Bytes>> used_;  // ascending
  Bytes most_ = 0;
};

class InOrder final : public Kernel {
 public:
  InOrder(const Graph& g, int threads) {
    constexpr std::size_t kNever = static_cast<std::size_t>(-1);
    std::vector<std::size_t> last(g.values.size(), kNever);
    for (std::size_t n = 0; n < g.nodes.size(); ++n) {
      for (const ValueId v : g.nodes[n].in) last[static_cast<std::size_t>(v)] = n;
    }
    std::vector<Operand> place(g.values.size());
    for (std::size_t i = 0; i < g.inputs.size(); ++i) place[static_cast<std::size_t>(g.inputs[i])] = {Kind::in, static_cast<Bytes>(i)};
    // Outputs are made where they belong; those that are inputs, or other outputs too, are copied at the end.
    for (std::size_t o = 0; o < g.outputs.size(); ++o) {
      Operand& p = place[static_cast<std::size_t>(g.outputs[o])];
      if (p.kind == Kind::none) {
        p = {Kind::out, static_cast<Bytes>(o)};
      } else {
        copies_.push_back({p, static_cast<std::int32_t>(o), g.type(g.outputs[o]).bytes()});
      }
    }
    Places places;
    for (std::size_t n = 0; n < g.nodes.size(); ++n) {
      const Node& node = g.nodes[n];
      Step step{.kernel = prepare(*node.op, spec_of(g, node, threads)),
                .first = static_cast<std::int32_t>(operands_.size()),
                .inputs = static_cast<std::int32_t>(node.in.size()),
                .outputs = static_cast<std::int32_t>(node.out.size())};
      for (const ValueId v : node.in) operands_.push_back(place[static_cast<std::size_t>(v)]);
      for (const ValueId v : node.out) {
        Operand& p = place[static_cast<std::size_t>(v)];
        if (p.kind == Kind::none) p = {Kind::work, places.take(round_up(std::max<Bytes>(g.type(v).bytes(), 1), 64))};
        operands_.push_back(p);
      }
      step.workspace = places.take(round_up(std::max<Bytes>(step.kernel->workspace(), 1), 64));
      places.give(step.workspace);
      for (const auto& values : {node.in, node.out}) {
        for (const ValueId v : values) {
          const auto u = static_cast<std::size_t>(v);
          if (place[u].kind == Kind::work && (last[u] == n || last[u] == kNever)) {
            places.give(place[u].at);
            last[u] = n + g.nodes.size();  // given once, however often it stands there
          }
        }
      }
      steps_.push_back(std::move(step));
    }
    table_ = round_up(static_cast<Bytes>(operands_.size() * sizeof(void*)), 64);
    workspace_ = table_ + places.most();
  }

  void run(const Operands& o) const override {
    auto* base = static_cast<std::byte*>(o.workspace);
    auto** table = static_cast<void**>(o.workspace);
    const auto at = [&](const Operand& p) -> void* {
      switch (p.kind) {
        case Kind::in:
          return const_cast<void*>(o.in[static_cast<std::size_t>(p.at)]);
        case Kind::out:
          return o.out[static_cast<std::size_t>(p.at)];
        default:
          return base + table_ + p.at;
      }
    };
    for (std::size_t i = 0; i < operands_.size(); ++i) table[i] = at(operands_[i]);
    for (const Step& s : steps_) {
      void* const* first = table + s.first;
      s.kernel->run({{first, static_cast<std::size_t>(s.inputs)}, {first + s.inputs, static_cast<std::size_t>(s.outputs)}, base + table_ + s.workspace});
    }
    for (const Copy& c : copies_) copy(o.out[static_cast<std::size_t>(c.output)], at(c.from), c.bytes);
  }

 private:
  enum class Kind : std::uint8_t { none, in, out, work };
  struct Operand {
    Kind kind = Kind::none;
    Bytes at = 0;  // position among inputs or outputs, or offset
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::int32_t first, inputs, outputs;
    Bytes workspace = 0;
  };
  struct Copy {
    Operand from;
    std::int32_t output;
    Bytes bytes;
  };
  std::vector<Step> steps_;
  std::vector<Operand> operands_;
  std::vector<Copy> copies_;
  Bytes table_ = 0;
};

// What scan and while_loop share: the state goes back and forth between the outputs and a second place in the workspace.
class Loop : public Kernel {
 public:
  Loop(const KernelSpec& spec, const RegionKernel& region) : shape_(loop_shape(spec.attrs, spec.in.size(), spec.regions)), body_(region(spec.regions[0], spec.threads)) {
    const Graph& body = spec.regions[0];
    WorkspaceParts parts;
    body_in_ = body.inputs.size();
    body_out_ = body.outputs.size();
    table_ = parts.add(static_cast<Bytes>((body_in_ + body_out_) * sizeof(void*)));
    for (const ValueId v : body.inputs) in_bytes_.push_back(body.type(v).bytes());
    for (const ValueId v : body.outputs) out_bytes_.push_back(body.type(v).bytes());
    for (int i = 0; i < shape_.carries; ++i) second_.push_back(parts.add(out_bytes_[static_cast<std::size_t>(i)]));
    inner_ = parts.bytes();
    workspace_ = inner_ + body_->workspace();
  }

 protected:
  struct Tables {
    const void** in;
    void** out;
    std::byte* base;
  };
  Tables begin(const Operands& o) const {
    Tables t{};
    t.base = static_cast<std::byte*>(o.workspace);
    t.in = reinterpret_cast<const void**>(t.base + table_);
    t.out = reinterpret_cast<void**>(t.base + table_) + body_in_;
    for (std::size_t i = 0; i < body_in_; ++i) t.in[i] = o.in[i];
    return t;
  }
  // Step `t`, whose state comes from where the step before left it and goes into the outputs or beside them.
  void step(const Operands& o, const Tables& tables, std::int64_t t, bool into_outputs) const {
    const auto carries = static_cast<std::size_t>(shape_.carries);
    for (std::size_t i = 0; i < carries; ++i) tables.out[i] = into_outputs ? o.out[i] : tables.base + second_[i];
    for (std::size_t i = carries; i < static_cast<std::size_t>(shape_.first_const()); ++i) tables.in[i] = o.input<std::byte>(i) + t * in_bytes_[i];
    for (std::size_t i = carries; i < body_out_; ++i) tables.out[i] = o.output<std::byte>(i) + t * out_bytes_[i];
    body_->run({{tables.in, body_in_}, {tables.out, body_out_}, tables.base + inner_});
    for (std::size_t i = 0; i < carries; ++i) tables.in[i] = tables.out[i];
  }
  void finish(const Operands& o, const Tables& tables, std::int64_t ran) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.carries); ++i) copy(o.out[i], tables.in[i], out_bytes_[i]);
    if (ran == shape_.trips) return;
    for (std::size_t i = static_cast<std::size_t>(shape_.carries); i < body_out_; ++i) {
      const auto rest = static_cast<std::size_t>((shape_.trips - ran) * out_bytes_[i]);
      if (rest > 0) std::memset(o.output<std::byte>(i) + ran * out_bytes_[i], 0, rest);
    }
  }

  LoopShape shape_;
  std::shared_ptr<const Kernel> body_;
  std::size_t body_in_ = 0, body_out_ = 0;
  std::vector<Bytes> in_bytes_, out_bytes_, second_;
  Bytes table_ = 0, inner_ = 0;
};

class Scan final : public Loop {
 public:
  using Loop::Loop;
  void run(const Operands& o) const override {
    std::int64_t n = shape_.trips;
    if (shape_.counted) {
      n = *static_cast<const std::int64_t*>(o.in.back());
      if (n < 0 || n > shape_.trips) fail(Error::Kind::data, "[scan] {} steps counted vs at most {}", n, shape_.trips);
    }
    const Tables tables = begin(o);
    // The last step's state lands in the outputs.
    for (std::int64_t i = 0; i < n; ++i) step(o, tables, shape_.reverse ? n - 1 - i : i, (n - 1 - i) % 2 == 0);
    finish(o, tables, n);
  }
};

class While final : public Loop {
 public:
  While(const KernelSpec& spec, const RegionKernel& region) : Loop(spec, region), condition_(region(spec.regions[1], spec.threads)) {
    workspace_ = inner_ + std::max(body_->workspace(), condition_->workspace());
  }
  void run(const Operands& o) const override {
    const Tables tables = begin(o);
    std::int64_t n = 0;
    bool more = false;
    void* const answer[] = {&more};
    for (;; ++n) {
      condition_->run({{tables.in, body_in_}, answer, tables.base + inner_});
      if (!more) break;
      if (n == shape_.trips) too_many_trips(n);
      step(o, tables, n, n % 2 == 0);
    }
    finish(o, tables, n);
    *static_cast<std::int64_t*>(o.out[o.out.size() - 1]) = n;
  }

 private:
  std::shared_ptr<const Kernel> condition_;
};

}  // namespace

void too_many_trips(std::int64_t trips) {
  fail(Error::Kind::data, "[while_loop] the condition still holds after max_trips {} steps; give it more", trips);
}

std::unique_ptr<Kernel> in_order(const Graph& region, int threads) { return std::make_unique<InOrder>(region, threads); }

std::unique_ptr<Kernel> scan_kernel(const KernelSpec& spec, const RegionKernel& region) { return std::make_unique<Scan>(spec, region); }

std::unique_ptr<Kernel> while_kernel(const KernelSpec& spec, const RegionKernel& region) { return std::make_unique<While>(spec, region); }

std::unique_ptr<Kernel> cond_kernel(const KernelSpec& spec, const RegionKernel& region) {
  std::shared_ptr<const Kernel> yes = region(spec.regions[0], spec.threads), no = region(spec.regions[1], spec.threads);
  const Bytes workspace = std::max(yes->workspace(), no->workspace());
  return make_kernel(workspace, [yes, no](const Operands& o) {
    const bool which = *static_cast<const bool*>(o.in[0]);
    (which ? yes : no)->run({o.in.subspan(1), o.out, o.workspace});
  });
}

}  // namespace tidemark
