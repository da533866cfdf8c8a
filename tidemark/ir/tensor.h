// Tensor: a handle with value semantics on a value that some Recorder knows: one of a graph being built, or
// an array computed at once. Operations are free functions (ops/); each goes through apply() to the newest
// recorder involved.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/storage.h"

namespace tidemark {

class Recorder;
class Indexed;
struct Index;
TIDEMARK_API const Index& no_index();  // stands for an index not given
// Defaulted last parameter of every operation, so that errors and `explain` name the user's line.
using Where = std::source_location;

class TIDEMARK_API Tensor {
 public:
  Tensor() = default;  // undefined: no value
  Tensor(std::shared_ptr<Recorder> recorder, ValueId id, Type type,
         std::shared_ptr<Storage> storage = nullptr);

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const = delete;  // a tensor is not a condition: use item<bool>()
  const Type& type() const { return impl().type; }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int rank() const { return shape().rank(); }
  std::int64_t size(int axis) const { return shape()[axis]; }
  std::int64_t numel() const { return shape().numel(); }

  // The array, where it is known: everywhere but in a trace. Row-major. Throws Error(usage) in one.
  template <typename T>
  std::span<const T> data() const {
    return {static_cast<const T*>(raw(dtype_of<T>())), static_cast<std::size_t>(numel())};
  }
  template <typename T>
  T item() const {
    if (numel() != 1)
      fail(Error::Kind::usage, "[item] {} has {} elements, not one", to_string(type()), numel());
    return data<T>()[0];
  }
  bool concrete() const { return defined() && impl().storage != nullptr; }
  const std::shared_ptr<Storage>& storage() const { return impl().storage; }
  // At most so many copies of this tensor and holders of its array: it may be given a new version.
  bool held_by_at_most(long handles, long storages) const {
    return impl_.use_count() <= handles && storage().use_count() <= storages;
  }

  // For keys of random ops: how often this value was drawn from, so that each draw has a stream of its own
  // that does not depend on whether the program is traced or run at once.
  std::int64_t next_draw() const { return impl().draws++; }

  const std::shared_ptr<Recorder>& recorder() const { return impl().recorder; }
  ValueId id() const { return impl().id; }
  // Copies of one handle.
  bool same_as(const Tensor& other) const { return impl_ == other.impl_; }

  // x[2], x[Slice{0, 3}], x(all, 2, Slice{1, {}, 2}); assigning to one makes x a new version (ops/index.h).
  Indexed operator[](const Index& index) &;
  Tensor operator[](const Index& index) const&;
  Tensor operator[](const Index& index) &&;  // a temporary has no later version: the part alone
  Indexed operator()(const Index& a, const Index& b = no_index(), const Index& c = no_index(),
                     const Index& d = no_index(), const Index& e = no_index(), const Index& f = no_index()) &;
  Tensor operator()(const Index& a, const Index& b = no_index(), const Index& c = no_index(),
                    const Index& d = no_index(), const Index& e = no_index(),
                    const Index& f = no_index()) const&;
  Tensor operator()(const Index& a, const Index& b = no_index(), const Index& c = no_index(),
                    const Index& d = no_index(), const Index& e = no_index(), const Index& f = no_index()) &&;

 private:
  struct Impl {
    Type type;
    std::shared_ptr<Recorder> recorder;
    ValueId id = -1;
    std::shared_ptr<Storage> storage;  // set for concrete tensors only
    mutable std::int64_t draws = 0;
  };
  const Impl& impl() const;
  const void* raw(DType wanted) const;
  std::shared_ptr<const Impl> impl_;
};

using Tensors = std::vector<Tensor>;

// Who carries operations out, or writes them down. Newer recorders (inner traces) win over older ones.
class TIDEMARK_API Recorder : public std::enable_shared_from_this<Recorder> {
 public:
  Recorder();
  virtual ~Recorder() = default;
  virtual Tensors record(const Op& op, std::span<const Tensor> in, Attrs attrs, std::vector<Graph> regions,
                         Where where) = 0;
  virtual void set_name(const Tensor& tensor, const std::string& name) = 0;
  // A tensor of an older recorder, as a value of this one.
  virtual Tensor lift(const Tensor& tensor) = 0;
  // The array behind one of this recorder's tensors, where it is known (eager grad records and computes at once).
  virtual std::shared_ptr<Storage> contents(const Tensor& tensor) const;
  std::uint64_t serial() const { return serial_; }

 protected:
  void forget_serial() { serial_ = 0; }  // for the evaluator: older than every trace

 private:
  std::uint64_t serial_;
};

// Alive while an operation is asked for: errors get its name in front, where they have none, and the line of the
// user who asked, which is the outermost one's.
class TIDEMARK_API Called : public ErrorContext {
 public:
  Called(const char* op, Where where) : op_(op), where_(where) {}
  std::string complete(Error::Kind kind, std::string message) const override;

 private:
  const char* op_;
  Where where_;
};

// The newest of the recorders of the defined tensors among `in`.
TIDEMARK_API Recorder& newest_recorder(std::span<const Tensor> in);
TIDEMARK_API Tensors apply(const Op& op, std::span<const Tensor> in, Attrs attrs, Where where,
                           std::vector<Graph> regions = {});
// For ops without inputs: recorded where `like` lives.
TIDEMARK_API Tensor apply_beside(const Tensor& like, const Op& op, Attrs attrs, Where where);
inline Tensor apply1(const Op& op, std::initializer_list<Tensor> in, Attrs attrs, Where where) {
  return apply(op, std::span<const Tensor>(in.begin(), in.size()), std::move(attrs), where)[0];
}
// The output types by the op's own rule.
TIDEMARK_API std::vector<Type> infer_types(const Op& op, std::span<const Type> in, const Attrs& attrs,
                                           const std::vector<Graph>& regions, Where where);

// Names for people: values made while a Scope lives are called "outer.inner.op".
class TIDEMARK_API Scope {
 public:
  explicit Scope(const std::string& name);
  Scope(const std::string& name, std::int64_t index) : Scope(name + "." + std::to_string(index)) {}
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  static std::string path();  // "blocks.3.attn", "" outside any

 private:
  std::size_t length_before_;
};
// Gives a value its name (within the scope) and returns it.
TIDEMARK_API Tensor name(const Tensor& x, const std::string& n);

}  // namespace tidemark
