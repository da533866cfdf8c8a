// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/conv.h"
#include "tidemark/kernels/cpu/onednn.h"

namespace tidemark::kernels {

#ifdef TIDEMARK_WITH_ONEDNN
namespace {

using onednn::Desc;
using onednn::PrimitiveDesc;

std::vector<std::int64_t> sizes_of_weights(const Conv& c) {
  if (c.groups == 1) return {c.o, c.c, c.kh, c.kw};
  return {c.groups, c.group_o(), c.group_c(), c.kh, c.kw};
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& sizes) {
  return row_major_strides(Shape(sizes));
}

PrimitiveDesc describe(const Conv& c, ConvResult result, const Desc& x, const Desc& w, const Desc& y) {
  const std::int64_t strides[] = {c.stride_h, c.stride_w}, padding[] = {c.pad_h, c.pad_w},
                     dilation[] = {c.dilation_h - 1, c.dilation_w - 1};
  const auto attributes = onednn::attributes();
  dnnl_primitive_desc_t forward = nullptr;
  if (dnnl_convolution_forward_primitive_desc_create(
          &forward, onednn::engine(), dnnl_forward_training, dnnl_convolution_direct, x.get(), w.get(),
          nullptr, y.get(), strides, dilation, padding, padding, attributes.get()) != dnnl_success) {
    return nullptr;
  }
  PrimitiveDesc hint(forward);
  if (result == ConvResult::y) return hint;
  dnnl_primitive_desc_t desc = nullptr;
  const dnnl_status_t status =
      result == ConvResult::x
          ? dnnl_convolution_backward_data_primitive_desc_create(
                &desc, onednn::engine(), dnnl_convolution_direct, x.get(), w.get(), y.get(), strides,
                dilation, padding, padding, hint.get(), attributes.get())
          : dnnl_convolution_backward_weights_primitive_desc_create(
                &desc, onednn::engine(), dnnl_convolution_direct, x.get(), w.get(), nullptr, y.get(), strides,
                dilation, padding, padding, hint.get(), attributes.get());
  return status == dnnl_success ? PrimitiveDesc(desc) : nullptr;
}

// Weights lie row-major in the graph and in the primitive's own form in the workspace:
// [weights in its form | scratchpad of the convolution or the reorder].
class OnednnConv final : public Kernel {
 public:
  OnednnConv(const PrimitiveDesc& desc, const Desc& x, const Desc& y, const Desc& plain, ConvResult result,
             int threads)
      : result_(result),
        threads_(threads),
        conv_(desc, {{result == ConvResult::x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x.get()},
                     {weights_name(result), onednn::wanted(desc, weights_name(result))},
                     {result == ConvResult::y ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y.get()}}),
        reorder_(result == ConvResult::w
                     ? onednn::reorder(onednn::wanted(desc, weights_name(result)), plain.get())
                     : onednn::reorder(plain.get(), onednn::wanted(desc, weights_name(result)))) {
    const_dnnl_memory_desc_t packed = onednn::wanted(desc, weights_name(result));
    in_place_ = dnnl_memory_desc_equal(packed, plain.get()) != 0;
    packed_ = in_place_ ? 0 : round_up(onednn::size_of(packed), kStorageAlign);
    workspace_ = packed_ + std::max(conv_.scratchpad(), reorder_.scratchpad());
  }

  void run(const Operands& o) const override {
    const onednn::Threads scope(threads_);
    const auto bytes = static_cast<std::byte*>(o.workspace);
    void* const scratch = bytes + packed_;
    if (result_ == ConvResult::w) {
      void* const packed = in_place_ ? o.out[0] : bytes;
      conv_.run({o.in[0], packed, o.in[1], scratch});
      if (!in_place_) reorder_.run({packed, o.out[0], scratch});
      return;
    }
    const void* const packed = in_place_ ? o.in[1] : bytes;
    if (!in_place_) reorder_.run({o.in[1], packed, scratch});
    if (result_ == ConvResult::y)
      conv_.run({o.in[0], packed, o.out[0], scratch});
    else
      conv_.run({o.out[0], packed, o.in[0], scratch});
  }

 private:
  static constexpr Bytes kStorageAlign = 64;
  static int weights_name(ConvResult result) {
    return result == ConvResult::w ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
  }
  ConvResult result_;
  int threads_;
  onednn::Primitive conv_, reorder_;
  bool in_place_ = false;
  Bytes packed_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> onednn_conv(const Conv& c, ConvResult result, int threads) {
  if (c.dtype != DType::f32 || c.empty()) return nullptr;
  // Channels first it falls back on a product with buffers of its own, allocated behind our back.
  if (!channels_last({c.n, c.c, c.h, c.w}, c.x) || !channels_last({c.n, c.o, c.oh, c.ow}, c.y))
    return nullptr;
  const onednn::Threads scope(threads);
  const auto last = [](std::int64_t n, std::int64_t ch, std::int64_t h, std::int64_t w) {
    return onednn::strided({n, ch, h, w}, {ch * h * w, 1, ch * w, ch});
  };
  const Desc x = last(c.n, c.c, c.h, c.w), y = last(c.n, c.o, c.oh, c.ow);
  const std::vector<std::int64_t> sizes = sizes_of_weights(c);
  const PrimitiveDesc desc = describe(c, result, x, onednn::any_form(sizes), y);
  if (desc == nullptr) return nullptr;
  const std::string name = onednn::implementation(desc);
  for (const char* slow : {"gemm", "ref", "simple"}) {
    if (name.find(slow) != std::string::npos) return nullptr;
  }
  return std::make_unique<OnednnConv>(desc, x, y, onednn::strided(sizes, dense_strides(sizes)), result,
                                      threads);
}
#else
std::unique_ptr<Kernel> onednn_conv(const Conv&, ConvResult, int) { return nullptr; }
#endif

}  // namespace tidemark::kernels
