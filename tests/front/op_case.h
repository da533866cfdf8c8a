// One op on one sample: the questions that the op-table test asks of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/front/eager.h"
#include "tidemark/front/grad.h"
#include "tidemark/ir/cut.h"

namespace tidemark::testing {

class OpCase {
 public:
  OpCase(const Op& op, const Sample& sample, std::uint64_t seed);

  // Each gives "" or what is wrong.
  std::string shapes_agree() const;
  std::string vjp_matches_jvp() const;  // <ct, J dx> == <J^T ct, dx>
  std::string jvp_matches_differences() const;
  std::string second_derivatives_match() const;  // forward over reverse against differences of the gradient
  std::string in_place_is_bitwise_equal() const;
  std::string repeats_bitwise() const;  // run after run, on 1, 2 and 3 threads
  std::string fast_agrees_with_reference() const;
  std::string narrow_dtypes_agree() const;  // f32, bf16, f16 against f64, values and gradients
  std::string view_agrees_with_copy() const;
  std::string accepts_what_it_says() const;  // strided inputs give the same bits as dense ones
  std::string parts_make_the_whole() const;  // cut along any axis that its rule allows (ir/cut.h)
  int ways_to_cut() const;
  std::string refuses_what_it_says()
      const;  // an index out of range, where the op names the range; nothing else
  std::string makes_indices_in_range() const;
  bool differentiable() const;
  const Op& op() const { return op_; }

 private:
  using Kind = std::unique_ptr<Kernel> (*)(const Op&, const KernelSpec&);
  KernelSpec spec(int threads) const;
  Tensors call(const Tensors& in) const;
  Tensors random_like(const Tensors& like, std::uint64_t salt) const;
  Tensors floats(const Tensors& all) const;          // the float ones
  Tensors with_floats(const Tensors& floats) const;  // the inputs with those replaced
  Tensors outputs_of(const Tensors& float_inputs) const;
  Tensors run(const KernelSpec& spec, Kind prepare_kind) const;

  std::string refused(const Tensors& in, bool fast) const;  // "data", "" or another error

  struct Way {
    std::vector<int> known;
    int wanted;
    std::int64_t parts, stretch;
  };
  std::vector<Way> ways() const;
  std::optional<Cut> cut(const Way& way, std::int64_t part) const;

  const Op& op_;
  const Sample& sample_;
  std::uint64_t seed_;
  Tensors in_;
};

// Bitwise for same dtypes; else the largest difference relative to the largest magnitude.
bool same_bits(const Tensors& a, const Tensors& b);
double distance(const Tensors& a, const Tensors& b);
double dot(const Tensors& a, const Tensors& b);
double element(const Tensor& t, std::int64_t i);
Tensor with_elements(const Type& type, const std::function<double(std::int64_t)>& f);

}  // namespace tidemark::testing
