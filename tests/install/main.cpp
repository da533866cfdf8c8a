// A stranger's program: built against an installed Tidemark by find_package alone. It needs what every part of the library links:
// kernels, the planner, loops, the tape.
#include <cstdio>

#include "tidemark/tape/tape.h"
#include "tidemark/tidemark.h"

int main() {
  using namespace tidemark;
  const auto loss = [](const Tensor& w, const Tensor& x) {
    const Tensor h = matmul(x, w);
    return sum(scan(3, h, [](const Tensor& s) { return 0.5 * s; })) +
           sum(conv2d(reshape(x, {1, 1, 4, 4}), full({1, 1, 3, 3}, 1.0)));
  };
  const Tensor w = full({4, 4}, 2.0), x = full({4, 4}, 3.0);
  auto compiled = compile(value_and_grad(loss), {.memory = 1_MiB});
  const auto [value, gradient] = compiled(w, x);
  const Tensor eager = grad(loss)(w, x);
  Tape tape;
  const Tape::Recording recording(tape);
  const Var v = tape.input(1.5);
  tape.reverse(v * v);
  std::printf("%g %g %g\n", static_cast<double>(value.data<float>()[0]),
              static_cast<double>(gradient.data<float>()[0]), tape.adjoint(v));
  return value.data<float>()[0] == 156.0f && gradient.data<float>()[0] == 1.5f &&
                 eager.data<float>()[0] == 1.5f && tape.adjoint(v) == 3.0
             ? 0
             : 1;
}
