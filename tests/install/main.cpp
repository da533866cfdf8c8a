// A stranger's program: built against an installed Tidemark by find_package alone.
#include <cstdio>

#include "tidemark/tidemark.h"

int main() {
  using namespace tidemark;
  const Tensor x = full({4}, 3.0);
  const Tensor g = grad([](const Tensor& t) { return sum(t * t); })(x);
  std::printf("%g\n", static_cast<double>(g.data<float>()[0]));
  return g.data<float>()[0] == 6.0f ? 0 : 1;
}
