// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/tensor.h"

#include <atomic>

#include "tidemark/ir/op.h"

namespace tidemark {

Tensor::Tensor(std::shared_ptr<Recorder> recorder, ValueId id, Type type, std::shared_ptr<Storage> storage)
    : impl_(
          std::make_shared<const Impl>(Impl{std::move(type), std::move(recorder), id, std::move(storage)})) {}

const Tensor::Impl& Tensor::impl() const {
  if (!impl_) fail(Error::Kind::usage, "[tensor] an undefined tensor is used; assign it first");
  return *impl_;
}

const void* Tensor::raw(DType wanted) const {
  if (wanted != dtype())
    fail(Error::Kind::usage, "[data] asked for {} vs a tensor of {}", name_of(wanted), to_string(type()));
  const std::shared_ptr<Storage> known = storage() ? storage() : recorder()->contents(*this);
  if (!known) {
    fail(Error::Kind::usage,
         "[data] the value of {} is not known while tracing; return it, or use where() to choose by value",
         to_string(type()));
  }
  return known->data();
}

namespace {
std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial;
}
thread_local std::string scope_path;
}  // namespace

Recorder::Recorder() : serial_(next_serial()) {}

std::shared_ptr<Storage> Recorder::contents(const Tensor& tensor) const { return tensor.storage(); }

Recorder& newest_recorder(std::span<const Tensor> in) {
  Recorder* newest = nullptr;
  for (const Tensor& t : in) {
    if (!t.defined()) continue;
    Recorder* r = t.recorder().get();
    if (newest == nullptr || r->serial() > newest->serial()) newest = r;
  }
  if (newest == nullptr) fail(Error::Kind::usage, "[tensor] an undefined tensor is used; assign it first");
  return *newest;
}

Tensors apply(const Op& op, std::span<const Tensor> in, Attrs attrs, Where where,
              std::vector<Graph> regions) {
  // Ops are objects of the library; before main() a static library's may not be there yet.
  if (op.name == nullptr)
    fail(Error::Kind::usage,
         "[tensor] an operation before main() began; make global tensors inside a function");
  const Called called(op.name, where);
  for (const Tensor& t : in) {
    if (!t.defined()) fail(Error::Kind::usage, "[{}] an undefined tensor is used; assign it first", op.name);
  }
  return newest_recorder(in).record(op, in, std::move(attrs), std::move(regions), where);
}

Tensor apply_beside(const Tensor& like, const Op& op, Attrs attrs, Where where) {
  const Called called(op.name, where);
  return like.recorder()->record(op, {}, std::move(attrs), {}, where)[0];
}

std::string to_string(const Loc& loc) {
  if (loc.line == 0) return "";
  const std::string_view file = loc.file;
  const std::size_t slash = file.rfind('/');
  return fmt::format("{}:{}", slash == std::string_view::npos ? file : file.substr(slash + 1), loc.line);
}

std::vector<Type> infer_types(const Op& op, std::span<const Type> in, const Attrs& attrs,
                              const std::vector<Graph>& regions, Where where) {
  const Called called(op.name, where);
  return op.infer(InferArgs{op.name, in, attrs, regions});
}

std::string Called::complete(Error::Kind kind, std::string message) const {
  // Shapes know the axis, not the op; say the op first in every case.
  for (const std::string_view general : {"[shape] ", "[tensor] "}) {
    if (message.starts_with(general)) message.erase(0, general.size());
  }
  if (!message.starts_with('[')) message = fmt::format("[{}] {}", op_, message);
  if (outer() != nullptr) return outer()->complete(kind, std::move(message));
  const std::string at = to_string(Loc{where_.file_name(), where_.line()});
  if (at.empty() || message.find("(" + at + ")") != std::string::npos) return message;
  return fmt::format("{} ({}){}", message, at, Scope::path().empty() ? "" : " in " + Scope::path());
}

Scope::Scope(const std::string& name) : length_before_(scope_path.size()) {
  if (!scope_path.empty()) scope_path += '.';
  scope_path += name;
}
Scope::~Scope() { scope_path.resize(length_before_); }
std::string Scope::path() { return scope_path; }

Tensor name(const Tensor& x, const std::string& n) {
  x.recorder()->set_name(x, scope_path.empty() ? n : scope_path + "." + n);
  return x;
}

}  // namespace tidemark
