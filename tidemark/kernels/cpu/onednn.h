// The little of oneDNN's C interface that our kernels share: handles that free themselves, and a primitive
// with its memories made up front, so that a run sets pointers and executes. Only in builds with oneDNN.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef TIDEMARK_WITH_ONEDNN
#include <dnnl.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "tidemark/ir/kernel.h"

namespace tidemark::kernels::onednn {

// Throws Error(internal) naming the call.
void check(dnnl_status_t status, const char* call);

struct Free {
  void operator()(dnnl_memory_desc_t d) const { dnnl_memory_desc_destroy(d); }
  void operator()(dnnl_primitive_desc_t d) const { dnnl_primitive_desc_destroy(d); }
  void operator()(dnnl_primitive_t p) const { dnnl_primitive_destroy(p); }
  void operator()(dnnl_memory_t m) const { dnnl_memory_destroy(m); }
  void operator()(dnnl_stream_t s) const { dnnl_stream_destroy(s); }
  void operator()(dnnl_primitive_attr_t a) const { dnnl_primitive_attr_destroy(a); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Free>;
using Desc = Owned<dnnl_memory_desc_t>;
using PrimitiveDesc = Owned<dnnl_primitive_desc_t>;

dnnl_engine_t engine();  // the CPU; one for the process, as oneDNN's cache of primitives wants it

Desc strided(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides);
Desc any_form(const std::vector<std::int64_t>& sizes);
Desc copy(const_dnnl_memory_desc_t desc);
inline Bytes size_of(const_dnnl_memory_desc_t desc) {
  return static_cast<Bytes>(dnnl_memory_desc_get_size(desc));
}
// The form that a primitive wants for one of its arrays, by DNNL_ARG_*.
const_dnnl_memory_desc_t wanted(const PrimitiveDesc& desc, int argument);
std::string implementation(const PrimitiveDesc& desc);
// Attributes with the scratchpad left to us.
Owned<dnnl_primitive_attr_t> attributes();

// Runs oneDNN with so many threads while it lives.
class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_ = 0;
};

// A primitive and its arguments. run() takes the pointers in the order of `arguments`, the scratchpad last.
class Primitive {
 public:
  struct Argument {
    int name;  // DNNL_ARG_*
    const_dnnl_memory_desc_t desc;
  };
  Primitive(const PrimitiveDesc& desc, const std::vector<Argument>& arguments);
  Bytes scratchpad() const { return scratchpad_; }
  void run(std::initializer_list<const void*> pointers) const;

 private:
  Owned<dnnl_primitive_t> primitive_;
  Owned<dnnl_stream_t> stream_;
  std::vector<Owned<dnnl_memory_t>> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  Bytes scratchpad_ = 0;
};

// A copy of an array into another form: (from, to, scratchpad).
Primitive reorder(const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to);

}  // namespace tidemark::kernels::onednn
#endif
