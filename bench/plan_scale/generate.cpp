// SPDX-License-Identifier: Apache-2.0
#include "generate.h"

#include <algorithm>

#include "tidemark/base/random.h"

namespace tidemark::bench {
namespace {

using plan::BufferId;
using plan::Problem;

constexpr double kBytesPerSecond = 4e12, kFlopsPerSecond = 4e14;

// Forward ops record how to go back; `finish` adds the backward pass. What an op's gradient reads is said where the op is made.
class Net {
 public:
  explicit Net(const char* name) { p_.name = name; }

  BufferId parameter(Bytes bytes) { return add("w", bytes, true); }
  BufferId input(Bytes bytes) { return add("x", bytes, true); }

  // `keep_in`, `keep_out`: whether the gradient reads the inputs, the output. A parameter's gradient is a task of its own.
  BufferId op(const char* kind, const std::vector<BufferId>& in, Bytes bytes, double flops, bool keep_in,
              bool keep_out) {
    const BufferId out = add(kind, bytes, false);
    run(kind, in, out, flops);
    back_.push_back({kind, in, out, flops, keep_in, keep_out});
    return out;
  }

  Problem finish(BufferId loss) {
    std::vector<BufferId> grad(p_.buffers.size(), -1);
    const auto size_of = [&](BufferId b) { return p_.buffers[static_cast<std::size_t>(b)].bytes; };
    grad[static_cast<std::size_t>(loss)] = make("grad", {loss}, size_of(loss), 0);
    for (auto it = back_.rbegin(); it != back_.rend(); ++it) {
      const BufferId g = grad[static_cast<std::size_t>(it->out)];
      if (g < 0) continue;
      for (const BufferId b : it->in) {
        if (b == first_input_) continue;
        std::vector<BufferId> reads{g};
        if (it->keep_in) {
          for (const BufferId other : it->in) {
            if (other != b || it->in.size() == 1) reads.push_back(other);
          }
        }
        if (it->keep_out) reads.push_back(it->out);
        const BufferId made = make(it->kind, reads, size_of(b), it->flops);
        if (p_.buffers[static_cast<std::size_t>(b)].resident) {
          p_.outputs.push_back(made);
          continue;
        }
        BufferId& sum = grad[static_cast<std::size_t>(b)];
        sum = sum < 0 ? made : make("add", {sum, made}, size_of(b), 0);
      }
    }
    return std::move(p_);
  }

  void set_first_input(BufferId b) { first_input_ = b; }
  std::int64_t tasks() const { return static_cast<std::int64_t>(p_.tasks.size()); }

 private:
  struct Back {
    const char* kind;
    std::vector<BufferId> in;
    BufferId out;
    double flops;
    bool keep_in, keep_out;
  };

  BufferId add(const char* name, Bytes bytes, bool resident) {
    plan::Buffer b;
    b.name = name + std::to_string(p_.buffers.size());
    b.bytes = bytes;
    b.resident = resident;
    p_.buffers.push_back(std::move(b));
    return static_cast<BufferId>(p_.buffers.size() - 1);
  }

  void run(const char* kind, const std::vector<BufferId>& in, BufferId out, double flops) {
    plan::Task t;
    t.name = kind + std::to_string(p_.tasks.size());
    t.kind = kind;
    t.reads = in;
    std::sort(t.reads.begin(), t.reads.end());
    t.reads.erase(std::unique(t.reads.begin(), t.reads.end()), t.reads.end());
    t.writes = {out};
    double bytes = static_cast<double>(p_.buffers[static_cast<std::size_t>(out)].bytes);
    for (const BufferId b : t.reads)
      bytes += static_cast<double>(p_.buffers[static_cast<std::size_t>(b)].bytes);
    t.seconds = 2e-6 + std::max(bytes / kBytesPerSecond, flops / kFlopsPerSecond);
    p_.tasks.push_back(std::move(t));
  }

  BufferId make(const char* kind, const std::vector<BufferId>& in, Bytes bytes, double flops) {
    const BufferId out = add(kind, bytes, false);
    run(kind, in, out, flops);
    return out;
  }

  Problem p_;
  std::vector<Back> back_;
  BufferId first_input_ = -1;
};

}  // namespace

Problem gpt_like(std::int64_t tasks) {
  const std::int64_t layers = std::max<std::int64_t>(1, tasks / 41);
  Net net("gpt_like");
  const Bytes width = 1024, rows = 8192, unit = rows * width * 4;
  const double product =
      2.0 * static_cast<double>(rows) * static_cast<double>(width) * static_cast<double>(width);
  BufferId x = net.input(unit);
  net.set_first_input(x);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const BufferId norm = net.op("norm", {x}, unit, 0, true, false);
    const BufferId qkv =
        net.op("mm", {norm, net.parameter(12 * width * width)}, 3 * unit, 3 * product, true, false);
    const BufferId scores = net.op("scores", {qkv}, 2 * unit, product, true, false);
    const BufferId soft = net.op("softmax", {scores}, 2 * unit, 0, false, true);
    const BufferId mix = net.op("mix", {soft, qkv}, unit, product, true, false);
    const BufferId out = net.op("mm", {mix, net.parameter(4 * width * width)}, unit, product, true, false);
    const BufferId drop = net.op("dropout", {out}, unit, 0, false, true);
    const BufferId middle = net.op("add", {x, drop}, unit, 0, false, false);
    const BufferId norm2 = net.op("norm", {middle}, unit, 0, true, false);
    const BufferId up =
        net.op("mm", {norm2, net.parameter(16 * width * width)}, 4 * unit, 4 * product, true, false);
    const BufferId gelu = net.op("gelu", {up}, 4 * unit, 0, true, false);
    const BufferId down =
        net.op("mm", {gelu, net.parameter(16 * width * width)}, unit, 4 * product, true, false);
    x = net.op("add", {middle, down}, unit, 0, false, false);
  }
  return net.finish(net.op("loss", {x}, 4, 0, true, false));
}

Problem convolutional(std::int64_t tasks) {
  const std::int64_t blocks = std::max<std::int64_t>(1, tasks / 22);
  Net net("convolutional");
  Bytes unit = 256 << 20;
  BufferId x = net.input(unit);
  net.set_first_input(x);
  for (std::int64_t block = 0; block < blocks; ++block) {
    // Four stages, each half as large as the one before.
    if (block > 0 && block % std::max<std::int64_t>(1, blocks / 4) == 0 && unit > (32 << 20)) {
      unit /= 2;
      x = net.op("pool", {x}, unit, 0, true, false);
    }
    const auto conv = [&](BufferId from) {
      const BufferId c = net.op("conv", {from, net.parameter(2 << 20)}, unit,
                                500.0 * static_cast<double>(unit), true, false);
      const BufferId n = net.op("norm", {c}, unit, 0, true, false);
      return net.op("relu", {n}, unit, 0, false, true);
    };
    const BufferId y = conv(conv(x));
    x = net.op("add", {x, y}, unit, 0, false, false);
  }
  return net.finish(net.op("loss", {x}, 4, 0, true, false));
}

Problem u_shaped(std::int64_t tasks) {
  const std::int64_t levels = std::max<std::int64_t>(1, std::min<std::int64_t>(6, tasks / 60));
  const std::int64_t each =
      std::max<std::int64_t>(1, tasks / (2 * levels * 10));  // convolutions a level and side
  Net net("u_shaped");
  Bytes unit = 256 << 20;
  BufferId x = net.input(unit);
  net.set_first_input(x);
  const auto convs = [&](BufferId from) {
    for (std::int64_t k = 0; k < each; ++k) {
      const BufferId c = net.op("conv", {from, net.parameter(2 << 20)}, unit,
                                500.0 * static_cast<double>(unit), true, false);
      const BufferId n = net.op("norm", {c}, unit, 0, true, false);
      from = net.op("relu", {n}, unit, 0, false, true);
    }
    return from;
  };
  std::vector<BufferId> skips;
  for (std::int64_t level = 0; level < levels; ++level) {
    x = convs(x);
    skips.push_back(x);
    unit /= 2;
    x = net.op("pool", {x}, unit, 0, true, false);
  }
  while (!skips.empty()) {
    unit *= 2;
    const BufferId up = net.op("up", {x}, unit, 0, false, false);
    x = convs(net.op("cat", {skips.back(), up}, 2 * unit, 0, false, false));
    skips.pop_back();
  }
  return net.finish(net.op("loss", {x}, 4, 0, true, false));
}

Problem random_layered(std::int64_t tasks, std::uint64_t seed) {
  Rng rng(seed);
  Problem p;
  p.name = "random_layered";
  std::vector<BufferId> previous, layer;
  while (static_cast<std::int64_t>(p.tasks.size()) < tasks) {
    layer.clear();
    for (std::int64_t k = 2 + rng.below(12); k > 0; --k) {
      plan::Task t;
      t.name = "t" + std::to_string(p.tasks.size());
      t.seconds = 1e-6 * static_cast<double>(rng.below(1000));
      for (const BufferId b : previous) {
        if (rng.below(3) == 0) t.reads.push_back(b);
      }
      if (!previous.empty() && t.reads.empty()) t.reads.push_back(previous.front());
      if (p.tasks.size() > 50 && rng.below(4) == 0) {
        const auto far = static_cast<BufferId>(rng.below(static_cast<std::int64_t>(p.tasks.size())));
        if (std::find(t.reads.begin(), t.reads.end(), far) == t.reads.end()) t.reads.push_back(far);
      }
      plan::Buffer b;
      b.name = t.name;
      b.bytes = 10 * rng.below(1000);
      t.writes = {static_cast<BufferId>(p.buffers.size())};
      layer.push_back(t.writes.front());
      p.buffers.push_back(std::move(b));
      p.tasks.push_back(std::move(t));
    }
    previous = layer;
  }
  return p;
}

}  // namespace tidemark::bench
