// Losses, logits, gradients and running statistics of every zoo model at a small size against PyTorch's
// (tools/make_references.py). Parameters and inputs are made by one formula on both sides.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>

#include "tidemark/base/random.h"
#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/elementwise.h"

namespace tidemark {
namespace {

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t h = 0xCBF29CE484222325;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return h;
}

std::uint32_t word(const std::string& name, std::int64_t i) {
  return Philox::block(fnv1a(name), static_cast<std::uint64_t>(i))[0];
}
float uniform(const std::string& name, std::int64_t i) {
  return static_cast<float>(word(name, i) >> 8) * 0x1p-23f - 1.0f;
}

template <typename F>
Tensor filled(const Shape& shape, DType dtype, F&& element) {
  std::vector<float> data(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = element(static_cast<std::int64_t>(i));
  return cast(tensor(data, shape), dtype);
}

Tensor parameter(const std::string& name, const Shape& shape, DType dtype) {
  const std::string last = name.substr(name.rfind('.') + 1);
  if (shape.rank() == 1) {
    const bool around_one = last == "scale" || last == "norm" || last == "norm1" || last == "norm2";
    return filled(shape, dtype, [&](std::int64_t i) {
      return around_one ? 1.0f + 0.2f * uniform(name, i) : 0.1f * uniform(name, i);
    });
  }
  const std::int64_t fan = shape.rank() == 2 ? shape[0] : shape.numel() / shape[0];
  const auto bound = static_cast<float>(std::sqrt(3.0 / static_cast<double>(fan)));
  return filled(shape, dtype, [&](std::int64_t i) { return uniform(name, i) * bound; });
}

Tensor input(const BatchInput& in, DType dtype) {
  const std::string name = "input." + in.name;
  if (is_float(in.type.dtype)) {
    const auto root = static_cast<float>(std::sqrt(3.0));
    return filled(in.type.shape, dtype, [&](std::int64_t i) { return uniform(name, i) * root; });
  }
  std::vector<std::int64_t> data(static_cast<std::size_t>(in.type.shape.numel()));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::int64_t>(
        (std::uint64_t{word(name, static_cast<std::int64_t>(i))} * static_cast<std::uint64_t>(in.below)) >>
        32);
  }
  return tensor(data, in.type.shape);
}

struct Summary {
  double norm = 0, sum = 0, first = 0, middle = 0, last = 0;
};

Summary summary(const Tensor& x) {
  const Tensor wide = cast(x, DType::f64);
  const auto d = wide.data<double>();
  Summary s{.first = d.front(), .middle = d[d.size() / 2], .last = d.back()};
  for (const double v : d) s.norm += v * v, s.sum += v;
  s.norm = std::sqrt(s.norm);
  return s;
}

class Reference {
 public:
  explicit Reference(const std::string& name)
      : document_(parser_.load(std::string(TIDEMARK_SOURCE_DIR) + "/tests/nn/references/" + name + ".json")) {
    options.batch = document_["options"]["batch"].get_int64();
    if (std::int64_t n = 0; document_["options"]["size"].get(n) == simdjson::SUCCESS) options.size = n;
    if (std::int64_t n = 0; document_["options"]["seq"].get(n) == simdjson::SUCCESS) options.seq = n;
    for (const auto [key, value] : document_["sizes"].get_object())
      options.sizes[std::string(key)] = value.get_int64();
    loss = document_["loss"].get_double();
  }
  ModelOptions options;
  double loss = 0;

  std::size_t count(const char* group) const { return document_[group].get_object().value().size(); }
  void expect_logits(const Tensor& x, double tolerance) const {
    expect(x, document_["logits"].get_array(), 0, tolerance, "logits");
  }
  void expect_member(const char* group, const std::string& name, const Tensor& x, double tolerance) const {
    simdjson::dom::array row;
    ASSERT_EQ(document_[group][name].get(row), simdjson::SUCCESS) << group << " has no " << name;
    std::vector<std::int64_t> shape;
    for (const auto n : row.at(0).get_array()) shape.push_back(n.get_int64());
    ASSERT_EQ(x.shape().sizes(), shape) << name;
    expect(x, row, 1, tolerance, name);
  }

 private:
  // Relative to the norm: single elements may be nearly zero by cancellation, and all of them in a shift before a batch
  // norm, hence the floor.
  static void expect(const Tensor& x, simdjson::dom::array row, std::size_t at, double tolerance,
                     const std::string& what) {
    const Summary s = summary(x);
    const double norm = row.at(at).get_double();
    const double close = tolerance * (norm + 1e-2), root = std::sqrt(static_cast<double>(x.numel()));
    EXPECT_NEAR(s.norm, norm, close) << what;
    EXPECT_NEAR(s.sum, row.at(at + 1).get_double().value(), close * root) << what;
    EXPECT_NEAR(s.first, row.at(at + 2).get_double().value(), close) << what;
    EXPECT_NEAR(s.middle, row.at(at + 3).get_double().value(), close) << what;
    EXPECT_NEAR(s.last, row.at(at + 4).get_double().value(), close) << what;
  }
  simdjson::dom::parser parser_;
  simdjson::dom::element document_;
};

void compare(const std::string& name, DType dtype, double tolerance) {
  const Reference reference(name);
  const Model model = make_model(name, reference.options);
  Init shapes({.abstract = true});
  Tensors params = model.parameters(shapes), batch;
  for (std::size_t i = 0; i < params.size(); ++i)
    params[i] = parameter(model.parameter_names[i], params[i].shape(), dtype);
  for (const BatchInput& in : model.batch) batch.push_back(input(in, dtype));
  Init start({.dtype = dtype});
  const Tensors state = model.state(start);

  const LossAndGrads r = loss_and_grads(model, params, state, batch);
  EXPECT_NEAR(cast(r.loss, DType::f64).item<double>(), reference.loss, tolerance * reference.loss);
  Tensors next = state;
  reference.expect_logits(model.logits(params, next, batch), tolerance);
  ASSERT_EQ(r.grads.size(), reference.count("gradients"));
  for (std::size_t i = 0; i < r.grads.size(); ++i)
    reference.expect_member("gradients", model.parameter_names[i], r.grads[i], tolerance);
  ASSERT_EQ(r.state.size(), reference.count("state"));
  for (std::size_t i = 0; i < r.state.size(); ++i)
    reference.expect_member("state", model.state_names[i], r.state[i], tolerance);
}

class References : public testing::TestWithParam<std::string> {};

// f64 leaves no room for a wrong formula; f32 is what the fast kernels run.
TEST_P(References, AgreeInDouble) { compare(GetParam(), DType::f64, 1e-7); }
TEST_P(References, AgreeInFloat) { compare(GetParam(), DType::f32, 2e-3); }

INSTANTIATE_TEST_SUITE_P(Zoo, References, testing::ValuesIn(model_names()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace tidemark
