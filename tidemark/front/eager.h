// Eager evaluation: outside a trace, operations run as they are written. The Evaluator is the Recorder of
// concrete tensors. Compiled code runs the same kernels: its numbers differ by the order of sums at most (ir/join.h, fuse.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <span>

#include "tidemark/ir/op.h"

namespace tidemark {

class TIDEMARK_API Evaluator : public Recorder {
 public:
  explicit Evaluator(int threads);
  Tensors record(const Op& op, std::span<const Tensor> in, Attrs attrs, std::vector<Graph> regions,
                 Where where) override;
  void set_name(const Tensor&, const std::string&) override {}
  Tensor lift(const Tensor& tensor) override { return tensor; }
  Tensor wrap(const Type& type, std::shared_ptr<Storage> storage);

 private:
  int threads_;
};

// Used for tensors made without saying where: stateless, on all hardware threads.
TIDEMARK_API const std::shared_ptr<Evaluator>& default_evaluator();

// Concrete tensors. Sizes that do not match the data are an error.
template <typename T>
Tensor tensor(std::span<const T> data, const Shape& shape);
template <typename T>
Tensor tensor(std::initializer_list<T> data, const Shape& shape) {
  return tensor(std::span<const T>(data.begin(), data.size()), shape);
}
template <typename T>
Tensor tensor(const std::vector<T>& data, const Shape& shape) {
  return tensor(std::span<const T>(data), shape);
}
template <typename T>
  requires std::is_arithmetic_v<T>
Tensor scalar(T value) {
  return tensor<T>({value}, Shape{});
}
// A concrete tensor over existing storage, row-major.
TIDEMARK_API Tensor from_storage(const Type& type, std::shared_ptr<Storage> storage);
TIDEMARK_API Tensor full(const Shape& shape, double value, DType dtype = DType::f32);
TIDEMARK_API Tensor zeros(const Shape& shape, DType dtype = DType::f32);
TIDEMARK_API Tensor ones(const Shape& shape, DType dtype = DType::f32);
TIDEMARK_API Tensor arange(std::int64_t n, DType dtype = DType::i64);
// Shape and dtype without contents: for tracing and planning what is never allocated.
TIDEMARK_API Tensor abstract(const Type& type);
// "[[1, 2],\n [3, 4]]"; long arrays are shortened.
TIDEMARK_API std::string to_string(const Tensor& x);

TIDEMARK_API Tensor tensor_from_bytes(const void* data, std::size_t count, const Type& type);
template <typename T>
Tensor tensor(std::span<const T> data, const Shape& shape) {
  return tensor_from_bytes(data.data(), data.size(), Type{shape, dtype_of<T>()});
}

}  // namespace tidemark
