// SPDX-License-Identifier: Apache-2.0
#include "tidemark/front/eager.h"

#include <cstring>

#include "tidemark/base/parallel.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/elementwise.h"

namespace tidemark {

Evaluator::Evaluator(int threads) : threads_(threads) { forget_serial(); }

Tensor Evaluator::wrap(const Type& type, std::shared_ptr<Storage> storage) {
  return Tensor(shared_from_this(), -1, type, std::move(storage));
}

Tensors Evaluator::record(const Op& op, std::span<const Tensor> in, Attrs attrs, std::vector<Graph> regions,
                          Where where) {
  std::vector<Type> types;
  KernelSpec spec{.attrs = std::move(attrs), .regions = std::move(regions), .threads = threads_};
  std::vector<const void*> inputs;
  for (const Tensor& t : in) {
    if (!t.concrete())
      fail(Error::Kind::usage, "[{}] the value of an abstract tensor {} is asked for", op.name,
           to_string(t.type()));
    types.push_back(t.type());
    spec.in.push_back(Value{.type = t.type()});
    inputs.push_back(t.storage()->data());
  }
  Tensors results;
  std::vector<void*> outputs;
  for (const Type& type : infer_types(op, types, spec.attrs, spec.regions, where)) {
    spec.out.push_back(Value{.type = type});
    results.push_back(wrap(type, Storage::allocate(type.bytes())));
    outputs.push_back(results.back().storage()->data());
  }
  const std::unique_ptr<Kernel> kernel = prepare(op, spec);
  const std::shared_ptr<Storage> workspace = Storage::allocate(kernel->workspace());
  kernel->run({inputs, outputs, workspace->data()});
  return results;
}

const std::shared_ptr<Evaluator>& default_evaluator() {
  static const auto evaluator = std::make_shared<Evaluator>(hardware_threads());
  return evaluator;
}

Tensor from_storage(const Type& type, std::shared_ptr<Storage> storage) {
  if (storage->bytes() < type.bytes()) {
    fail(Error::Kind::usage, "[tensor] {} needs {} bytes vs {} given", to_string(type), type.bytes(),
         storage->bytes());
  }
  return default_evaluator()->wrap(type, std::move(storage));
}

Tensor tensor_from_bytes(const void* data, std::size_t count, const Type& type) {
  if (static_cast<std::int64_t>(count) != type.shape.numel()) {
    fail(Error::Kind::usage, "[tensor] {} elements given vs shape {}", count, to_string(type.shape));
  }
  auto storage = Storage::allocate(type.bytes());
  if (count > 0) std::memcpy(storage->data(), data, static_cast<std::size_t>(type.bytes()));
  return default_evaluator()->wrap(type, std::move(storage));
}

namespace {
// Factories have no tensor to stand beside; any concrete one leads to the evaluator.
const Tensor& anchor() {
  static const Tensor zero = default_evaluator()->wrap(Type{Shape{}, DType::f32}, Storage::allocate(4));
  return zero;
}
}  // namespace

Tensor full(const Shape& shape, double value, DType dtype) {
  return full_beside(anchor(), Type{shape, dtype}, value);
}
Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor arange(std::int64_t n, DType dtype) { return iota_beside(anchor(), n, dtype); }
Tensor abstract(const Type& type) { return Tensor(default_evaluator(), -1, type, nullptr); }

namespace {

std::string element(const Tensor& x, std::int64_t i) {
  return dispatch(x.dtype(), [&]<typename T>() -> std::string {
    const T v = x.data<T>()[static_cast<std::size_t>(i)];
    if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>)
      return fmt::format("{:.6g}", static_cast<float>(v));
    else if constexpr (std::is_floating_point_v<T>)
      return fmt::format("{:.6g}", v);
    else if constexpr (std::is_same_v<T, bool>)
      return v ? "true" : "false";
    else
      return fmt::format("{}", v);
  });
}

void write(const Tensor& x, int axis, std::int64_t first, std::string& out) {
  if (axis == x.rank()) {
    out += element(x, first);
    return;
  }
  constexpr std::int64_t kMost = 8, kEdge = 3;
  const std::int64_t n = x.size(axis);
  std::int64_t step = 1;
  for (int a = axis + 1; a < x.rank(); ++a) step *= x.size(a);
  out += '[';
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0)
      out += axis + 1 < x.rank() ? ",\n" + std::string(static_cast<std::size_t>(axis + 1), ' ') : ", ";
    if (n > kMost && i == kEdge) {
      out += "...";
      i = n - kEdge - 1;
      continue;
    }
    write(x, axis + 1, first + i * step, out);
  }
  out += ']';
}

}  // namespace

std::string to_string(const Tensor& x) {
  if (!x.concrete()) return to_string(x.type());
  std::string out;
  write(x, 0, 0, out);
  return out;
}

}  // namespace tidemark
