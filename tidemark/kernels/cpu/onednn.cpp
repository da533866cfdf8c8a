// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/onednn.h"

#ifdef TIDEMARK_WITH_ONEDNN
#ifdef TIDEMARK_WITH_OPENMP
#include <omp.h>
#endif

namespace tidemark::kernels::onednn {

void check(dnnl_status_t status, const char* call) {
  TIDEMARK_CHECK(status == dnnl_success, "oneDNN: {} returned {}", call, static_cast<int>(status));
}

dnnl_engine_t engine() {
  static const dnnl_engine_t cpu = [] {
    dnnl_engine_t e = nullptr;
    check(dnnl_engine_create(&e, dnnl_cpu, 0), "engine_create");
    return e;
  }();
  return cpu;
}

Desc strided(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
  dnnl_memory_desc_t desc = nullptr;
  check(dnnl_memory_desc_create_with_strides(&desc, static_cast<int>(sizes.size()), sizes.data(), dnnl_f32,
                                             strides.data()),
        "memory_desc_create_with_strides");
  return Desc(desc);
}

Desc any_form(const std::vector<std::int64_t>& sizes) {
  dnnl_memory_desc_t desc = nullptr;
  check(dnnl_memory_desc_create_with_tag(&desc, static_cast<int>(sizes.size()), sizes.data(), dnnl_f32,
                                         dnnl_format_tag_any),
        "memory_desc_create_with_tag");
  return Desc(desc);
}

Desc copy(const_dnnl_memory_desc_t desc) {
  dnnl_memory_desc_t clone = nullptr;
  check(dnnl_memory_desc_clone(&clone, desc), "memory_desc_clone");
  return Desc(clone);
}

const_dnnl_memory_desc_t wanted(const PrimitiveDesc& desc, int argument) {
  return dnnl_primitive_desc_query_md(desc.get(), dnnl_query_exec_arg_md, argument);
}

std::string implementation(const PrimitiveDesc& desc) {
  const char* text = nullptr;
  check(dnnl_primitive_desc_query(desc.get(), dnnl_query_impl_info_str, 0, static_cast<void*>(&text)),
        "query");
  return text;
}

Owned<dnnl_primitive_attr_t> attributes() {
  dnnl_primitive_attr_t attr = nullptr;
  check(dnnl_primitive_attr_create(&attr), "primitive_attr_create");
  Owned<dnnl_primitive_attr_t> owned(attr);
  check(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), "set_scratchpad_mode");
  return owned;
}

#ifdef TIDEMARK_WITH_OPENMP
Threads::Threads(int count) : before_(omp_get_max_threads()) {
  if (count != before_) omp_set_num_threads(count);
}
Threads::~Threads() {
  if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
}
#else
Threads::Threads(int) {}
Threads::~Threads() = default;
#endif

Primitive::Primitive(const PrimitiveDesc& desc, const std::vector<Argument>& arguments) {
  dnnl_primitive_t primitive = nullptr;
  check(dnnl_primitive_create(&primitive, desc.get()), "primitive_create");
  primitive_.reset(primitive);
  dnnl_stream_t stream = nullptr;
  check(dnnl_stream_create(&stream, engine(), dnnl_stream_default_flags), "stream_create");
  stream_.reset(stream);
  const auto add = [&](int name, const_dnnl_memory_desc_t d) {
    dnnl_memory_t memory = nullptr;
    check(dnnl_memory_create(&memory, d, engine(), DNNL_MEMORY_NONE), "memory_create");
    memories_.emplace_back(memory);
    arguments_.push_back({name, memory});
  };
  for (const Argument& a : arguments) add(a.name, a.desc);
  const_dnnl_memory_desc_t scratchpad = wanted(desc, DNNL_ARG_SCRATCHPAD);
  scratchpad_ = size_of(scratchpad);
  add(DNNL_ARG_SCRATCHPAD, scratchpad);
}

void Primitive::run(std::initializer_list<const void*> pointers) const {
  std::size_t i = 0;
  for (const void* p : pointers) dnnl_memory_set_data_handle(arguments_[i++].memory, const_cast<void*>(p));
  check(dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()),
                               arguments_.data()),
        "primitive_execute");
}

Primitive reorder(const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to) {
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_reorder_primitive_desc_create(&desc, from, engine(), to, engine(), attributes().get()),
        "reorder_primitive_desc_create");
  return {PrimitiveDesc(desc), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

}  // namespace tidemark::kernels::onednn
#endif
