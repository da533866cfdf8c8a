// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tidemark/kernels/cpu/gemm.h"
#include "tidemark/kernels/cpu/matmul.h"
#include "tidemark/kernels/cpu/onednn.h"
#include "tidemark/kernels/cpu/strip_product.h"
#include "tidemark/kernels/strips.h"

namespace tidemark::kernels {

#ifdef TIDEMARK_WITH_ONEDNN
namespace {

// Sizes and strides of one operand, with batch axes that it shares as size 1.
struct Array {
  std::vector<std::int64_t> sizes, strides;
  void axis(std::int64_t size, std::int64_t stride) {
    sizes.push_back(stride == 0 ? 1 : size);
    strides.push_back(stride);
  }
  void matrix(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column) {
    // The stride of an axis of size 1 means nothing; oneDNN still looks at it.
    if (rows == 1) row = columns * column;
    if (columns == 1) column = row == 1 ? rows : 1;
    sizes.insert(sizes.end(), {rows, columns});
    strides.insert(strides.end(), {row, column});
    for (std::size_t i = sizes.size() - 2; i-- > 0;) {
      if (strides[i] == 0) strides[i] = strides[i + 1] * sizes[i + 1] > 1 ? dense_step(i) : 1;
    }
  }
  std::int64_t dense_step(std::size_t i) const {
    std::int64_t step = 1;
    for (std::size_t j = i + 1; j < sizes.size(); ++j) step *= sizes[j];
    return step;
  }
};

constexpr Bytes kMostPacked = Bytes{32} << 20;  // of b

// Read in place, a wide row-major b costs a page an element of a column, and one whose rows are whole pages apart
// collides with itself in the caches: from 150 down to 60 GFLOP/s. Packed first it does not; that costs a pass over
// b, little beside a product with many rows.
bool pays_to_pack(const Product& p) {
  if (!p.batch.empty() || p.b_n != 1) return false;
  const std::int64_t size = p.k * p.n;
  return (p.m >= 128 && (p.m >= 1024 || p.n % 1024 == 0 || size >= 1 << 21)) ||
         (p.m >= 512 && size >= 1 << 19);
}

// One call of oneDNN. Workspace: [b in the form the primitive wants, where that is another one | scratchpad].
struct Call {
  std::optional<onednn::Primitive> product, pack;
  Bytes packed = 0;
  Bytes workspace() const { return packed + std::max(product->scratchpad(), pack ? pack->scratchpad() : 0); }
  void run(const void* a, const void* b, void* c, void* workspace) const {
    void* const scratch = static_cast<std::byte*>(workspace) + packed;
    if (pack) pack->run({b, workspace, scratch});
    product->run({a, pack ? workspace : b, c, scratch});
  }
};

std::optional<Call> make_call(const Product& p) {
  Array a, b, c;
  for (const Product::Axis& axis : p.batch) {
    a.axis(axis.size, axis.a);
    b.axis(axis.size, axis.b);
    c.axis(axis.size, axis.c);
  }
  a.matrix(p.m, p.k, p.a_m, p.a_k);
  b.matrix(p.k, p.n, p.b_k, p.b_n);
  c.matrix(p.m, p.n, p.c_m, p.c_n);
  for (const Array* x : {&a, &b, &c}) {
    for (const std::int64_t stride : x->strides) {
      if (stride < 1) return std::nullopt;
    }
  }
  const onednn::Desc da = onednn::strided(a.sizes, a.strides), db = onednn::strided(b.sizes, b.strides),
                     dc = onednn::strided(c.sizes, c.strides);
  const onednn::Desc any = onednn::any_form(b.sizes);
  dnnl_primitive_desc_t desc = nullptr;
  if (dnnl_matmul_primitive_desc_create(&desc, onednn::engine(), da.get(),
                                        pays_to_pack(p) ? any.get() : db.get(), nullptr, dc.get(),
                                        onednn::attributes().get()) != dnnl_success) {
    return std::nullopt;
  }
  const onednn::PrimitiveDesc owned(desc);
  // Its other implementations allocate behind our back or are slow.
  if (onednn::implementation(owned).rfind("brg", 0) != 0) return std::nullopt;
  const_dnnl_memory_desc_t wanted = onednn::wanted(owned, DNNL_ARG_WEIGHTS);
  Call call;
  call.product.emplace(owned,
                       std::vector<onednn::Primitive::Argument>{
                           {DNNL_ARG_SRC, da.get()}, {DNNL_ARG_WEIGHTS, wanted}, {DNNL_ARG_DST, dc.get()}});
  if (dnnl_memory_desc_equal(wanted, db.get()) == 0) {
    call.pack.emplace(onednn::reorder(db.get(), wanted));
    call.packed = round_up(onednn::size_of(wanted), 64);
  }
  return call;
}

}  // namespace

std::unique_ptr<Kernel> onednn_matmul(const Product& p, int threads) {
  if (p.empty() || p.k == 0 || p.batch.size() > 3) return nullptr;
  if (pays_to_pack(p) && p.k * p.n * 4 > kMostPacked) return nullptr;
  const onednn::Threads scope(threads);
  std::optional<Call> made = make_call(p);
  if (!made) return nullptr;
  const auto call = std::make_shared<Call>(std::move(*made));
  return make_kernel(call->workspace(), [call, threads](const Operands& o) {
    const onednn::Threads running(threads);
    call->run(o.in[0], o.in[1], o.out[0], o.workspace);
  });
}
#else
std::unique_ptr<Kernel> onednn_matmul(const Product&, int) { return nullptr; }
#endif

std::unique_ptr<Kernel> matmul(const KernelSpec& spec) {
  const DType dtype = spec.out[0].type.dtype;
  const Product p = product_of(spec);
  if (in_strips(spec.in[1].layout)) return strip_product(p, dtype, spec.threads, true);
  // A large b that is dense along n oneDNN copies first, or reads with pages between its rows: 115 to 125 GFLOP/s of a core,
  // 130 to 145 in ours. Rows of a transposed a that share cache lines: 100 and 130. A transposed b of very many columns: 125
  // and 135; with a long k instead, oneDNN's is up to 1.06 times as fast. Elsewhere they take the same time, and in ours the
  // threads stay awake between two tasks.
  const bool large = p.m >= 128 && p.n >= 128 && p.k >= 128;
  const bool ours = large && (p.b_n == 1 || p.k <= 2 * p.n);
  if (dtype == DType::f32 && !ours) {
    if (auto kernel = onednn_matmul(p, spec.threads)) return kernel;
  }
  if (auto kernel = strip_product(p, dtype, spec.threads)) return kernel;
  return gemm(spec);
}

}  // namespace tidemark::kernels
