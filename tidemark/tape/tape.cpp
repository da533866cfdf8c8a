// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/tape.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/tape/recordings.h"
#include "tidemark/tape/sweep.h"

namespace tidemark::tape {

namespace {

Key first_of_new() { return static_cast<Key>(recordings().begin()) << 32 | 1; }  // index 0 is passive

}  // namespace

template <typename Real>
BasicTape<Real>::BasicTape(const TapeOptions& options) : options_(options), known_(first_of_new()) {
  const Bytes least =
      static_cast<Bytes>(descriptor_words(kMaxArguments) * 4 + 2 * kMaxArguments * sizeof(Real));
  if (options.chunk < least)
    fail(Error::Kind::usage, "[tape] chunks of {} vs at least {}, one statement of {} arguments",
         format_bytes(options.chunk), format_bytes(least), kMaxArguments);
  this->next_ = known_.first();
  if (options.memory > 0) {
    if (options.memory < 2 * options.chunk)
      fail(Error::Kind::usage, "[tape] memory {} vs at least {}, two chunks", format_bytes(options.memory),
           format_bytes(2 * options.chunk));
    if (options.folder.empty())
      fail(Error::Kind::usage, "[tape] memory {} vs no folder for what does not fit; name one",
           format_bytes(options.memory));
    TierSpec spec = tidemark::disk(options.folder, options.disk);
    spec.name = options.folder;
    spec.fault = options.fault;
    store_ = std::make_unique<TierStore>(spec, options.disk, static_cast<int>(options.disk / options.chunk));
  }
  enter(0, 0, 0);
  if (options.adjoints > 0) adjoints_ = Pages(options.adjoints);
}

template <typename Real>
BasicTape<Real>::~BasicTape() {
  if (store_ != nullptr) store_->drain();  // chunks must not go while they are written
  known_.end(this->next_);
}

template <typename Real>
BasicTape<Real>::Recording::Recording(BasicTape& tape) : tape_(tape), before_(current<Real>) {
  const void* here = &current<Real>;
  const void* nobody = nullptr;
  nested_ = !tape.recorded_by_.compare_exchange_strong(nobody, here);
  if (nested_ && nobody != here)
    fail(Error::Kind::usage,
         "[tape] a recording on this thread vs one under way on another; one tape per thread");
  current<Real> = &tape;
}

template <typename Real>
BasicTape<Real>::Recording::~Recording() {
  current<Real> = before_;
  if (!nested_) tape_.recorded_by_.store(nullptr);
}

// Brings a chunk into memory, where the one farthest from it makes room: the oldest while recording, the newest in the sweep.
template <typename Real>
void BasicTape<Real>::bring(std::size_t chunk) {
  while (chunks_.size() <= chunk) chunks_.emplace_back();
  Chunk& wanted = chunks_[chunk];
  if (wanted.pages.data() != nullptr) return;
  const auto name = [&](std::size_t i) { return fmt::format("chunk {} of a tape", i); };
  Bytes held = 0;
  std::size_t farthest = chunk;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i].pages.data() == nullptr) continue;
    held += chunks_[i].pages.bytes();
    const auto distance = [&](std::size_t c) { return c > chunk ? c - chunk : chunk - c; };
    if (farthest == chunk || distance(i) > distance(farthest)) farthest = i;
  }
  if (store_ == nullptr || held + options_.chunk <= options_.memory) {
    wanted.pages = Pages(options_.chunk);
  } else {
    Chunk& victim = chunks_[farthest];
    if (victim.written) store_->wait(static_cast<int>(farthest), name(farthest).c_str());
    wanted.pages = std::move(victim.pages);
  }
  if (wanted.written) {
    store_->read(static_cast<int>(chunk), wanted.pages.data());
    store_->wait(static_cast<int>(chunk), name(chunk).c_str());
  }
}

// Makes a chunk the one being filled, with so many bytes of it in use.
template <typename Real>
void BasicTape<Real>::enter(std::size_t chunk, Bytes partials, Bytes runs) {
  bring(chunk);
  // What was written of it, or of those behind it, is not true any more once it is filled further.
  for (std::size_t i = chunk; i < chunks_.size(); ++i)
    if (std::exchange(chunks_[i].written, false)) store_->wait(static_cast<int>(i), "a chunk of a tape");
  chunk_ = chunk;
  std::byte* begin = chunks_[chunk].pages.data();
  std::byte* end = begin + chunks_[chunk].pages.bytes();
  this->partial_ = reinterpret_cast<Real*>(begin + partials);
  this->words_ = reinterpret_cast<std::uint32_t*>(end - runs);
  this->limit_ = this->partial_;
  this->shape_ = kNoShape;
}

template <typename Real>
void BasicTape<Real>::next_chunk() {
  Chunk& full = chunks_[chunk_];
  full.partials = reinterpret_cast<std::byte*>(this->partial_) - full.pages.data();
  full.runs = full.pages.data() + full.pages.bytes() - reinterpret_cast<std::byte*>(this->words_);
  if (store_ != nullptr) {
    // At once and beside the recording, so that it is there when its memory is wanted.
    if (static_cast<Bytes>(chunk_ + 1) * options_.chunk > options_.disk)
      fail(Error::Kind::io, "[tape] {} of tape vs {} of disk in '{}'; give it more",
           format_bytes(static_cast<Bytes>(chunk_ + 2) * options_.chunk), format_bytes(options_.disk),
           options_.folder);
    full.written = true;
    store_->write(static_cast<int>(chunk_), static_cast<Bytes>(chunk_) * options_.chunk, full.pages.data(),
                  full.pages.bytes());
  }
  enter(chunk_ + 1, 0, 0);
}

template <typename Real>
Active<Real> BasicTape<Real>::first_input(const Real& value) {
  need_thread();
  ++inputs_;
  this->close_run();
  return {value, this->append_new(nullptr, nullptr, kInputs, shape_of(kInputs))};
}

template <typename Real>
Active<Real> BasicTape<Real>::statement(const Real& value, std::span<const Scalar> arguments,
                                        std::span<const Real> partials) {
  if (arguments.size() != partials.size())
    fail(Error::Kind::usage, "[tape] {} arguments vs {} partials", arguments.size(), partials.size());
  need_thread();
  Recorder<Real>* before = current<Real>;
  current<Real> = this;
  struct Back {
    Recorder<Real>* to;
    ~Back() { current<Real> = to; }
  } back{before};
  // The running sum takes one argument's place.
  Key sum = 0;
  Key keys[kMaxArguments];
  Real factors[kMaxArguments];
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (n == kMaxArguments) {
      sum = record_rest(keys, factors, n);
      n = 0;
      keys[n] = sum;
      factors[n++] = Real(1);
    }
    keys[n] = arguments[i].key();
    factors[n++] = partials[i];
  }
  return {value, record_rest(keys, factors, n)};
}

template <typename Real>
std::vector<Active<Real>> BasicTape<Real>::external(std::span<const Real> values, Reverse reverse) {
  if (values.empty() || values.size() > kMaxRun)
    fail(Error::Kind::usage, "[tape] an external function of {} outputs vs 1 to {}", values.size(), kMaxRun);
  need_thread();
  this->close_run();
  if (reinterpret_cast<std::byte*>(this->partial_) > reinterpret_cast<std::byte*>(this->words_ - 2))
    next_chunk();
  std::vector<Scalar> outputs;
  outputs.reserve(values.size());
  const Key first = this->next_;
  for (const Real& v : values) outputs.push_back({v, this->next_++});
  this->words_ -= 2;
  this->words_[0] = kExternal | static_cast<std::uint32_t>(values.size()) << kLengthShift;
  this->words_[1] = static_cast<std::uint32_t>(externals_.size());
  externals_.push_back({std::move(reverse), first, static_cast<std::uint32_t>(values.size())});
  ++this->run_count_;
  return outputs;
}

template <typename Real>
void BasicTape<Real>::need_thread() const {
  if (!on_this_thread())
    fail(Error::Kind::usage,
         "[tape] recording from this thread vs a recording under way on another; one tape per thread");
}

template <typename Real>
void BasicTape<Real>::need_recorded(const Scalar& x, const char* what) const {
  if (!x.active())
    fail(Error::Kind::usage, "[{}] the variable is passive: it depends on no input of the tape", what);
  need_known(x.key());
}

template <typename Real>
void BasicTape<Real>::need_known(Key key) const {
  if (!known_.has(key, this->next_)) known_.refuse(key, this->next_);
}

// Zeros are written here, not when an earlier sweep is forgotten: the sweep then finds them in the caches.
template <typename Real>
Real* BasicTape<Real>::prepare_adjoints(std::uint32_t width) {
  const Bytes bytes = static_cast<Bytes>(index_of(this->next_)) * width * static_cast<Bytes>(sizeof(Real));
  if (bytes > adjoints_.bytes()) {
    adjoints_ = Pages();
    adjoints_ = Pages(bytes);
    dirty_ = bytes;
  } else {
    if (const Bytes old = std::min(dirty_, bytes); old > 0)
      std::memset(adjoints_.data(), 0, static_cast<std::size_t>(old));
    dirty_ = std::max(dirty_, bytes);
  }
  width_ = directions_ = width;
  swept_ = this->next_;
  return reinterpret_cast<Real*>(adjoints_.data());
}

// The chunk being filled is written too before another takes its memory; afterwards it is filled no further where it lies.
template <typename Real>
void BasicTape<Real>::save_last(std::size_t wanted) {
  Chunk& last = chunks_[chunk_];
  if (store_ == nullptr || last.written || wanted == chunk_ || chunks_[wanted].pages.data() != nullptr)
    return;
  last.written = true;
  store_->write(static_cast<int>(chunk_), static_cast<Bytes>(chunk_) * options_.chunk, last.pages.data(),
                last.pages.bytes());
}

template <typename Real>
template <typename Visit>
void BasicTape<Real>::each_chunk(const Position& from, const Position& to, const Visit& visit) {
  for (std::size_t c = from.chunk + 1; c-- > to.chunk;) {
    save_last(c);
    bring(c);
    const Chunk& chunk = chunks_[c];
    const std::byte* begin = chunk.pages.data();
    const std::byte* end = begin + chunk.pages.bytes();
    const bool newest = c == from.chunk;
    visit(reinterpret_cast<const std::uint32_t*>(end - (newest ? from.runs : chunk.runs)),
          reinterpret_cast<const std::uint32_t*>(end - (c == to.chunk ? to.runs : 0)),
          reinterpret_cast<const Real*>(begin + (newest ? from.partials : chunk.partials)));
  }
  // Recording goes on where it was.
  if (chunks_[from.chunk].written) enter(from.chunk, from.partials, from.runs);
}

template <typename Real>
std::vector<Active<Real>> BasicTape<Real>::outputs_of(const External& external) const {
  std::vector<Scalar> outputs;
  for (std::uint32_t i = 0; i < external.outputs; ++i) outputs.push_back({Real(0), external.first + i});
  return outputs;
}

template <typename Real>
void BasicTape<Real>::sweep(const Position& from, const Position& to) {
  auto* adjoints = reinterpret_cast<Real*>(adjoints_.data());
  std::uint32_t index = index_of(from.next);
  auto call = [&](std::uint32_t number) {
    const External& e = externals_[number];
    const std::vector<Scalar> outputs = outputs_of(e);
    for (std::uint32_t d = 0; d < width_; ++d) {
      Adjoints<Real> view(adjoints, width_, d, known_, this->next_);
      e.reverse(outputs, view);
    }
  };
  const auto walk = [&](auto width) {
    Sweeper<Real, width, decltype(call)> sweeper{adjoints, call};
    each_chunk(from, to, [&](const std::uint32_t* words, const std::uint32_t* end, const Real* partials) {
      walk_chunk(words, end, partials, index, sweeper);
    });
  };
  switch (width_) {
    case 1:
      return walk(std::integral_constant<int, 1>{});
    case 2:
      return walk(std::integral_constant<int, 2>{});
    case 4:
      return walk(std::integral_constant<int, 4>{});
    default:
      return walk(std::integral_constant<int, 8>{});
  }
}

template <typename Real>
void BasicTape<Real>::reverse(const Scalar& y, const Real& seed) {
  reverse(std::span(&y, 1), std::span(&seed, 1));
}

template <typename Real>
void BasicTape<Real>::reverse(std::span<const Scalar> ys, std::span<const Real> seeds) {
  if (ys.size() != seeds.size())
    fail(Error::Kind::usage, "[reverse] {} variables vs {} seeds", ys.size(), seeds.size());
  for (const Scalar& y : ys) need_recorded(y, "reverse");
  Real* adjoints = prepare_adjoints(1);
  for (std::size_t i = 0; i < ys.size(); ++i) adjoints[index_of(ys[i].key())] += seeds[i];
  sweep(position(), {});
}

template <typename Real>
void BasicTape<Real>::seed(const Scalar& x, const Real& adjoint) {
  need_recorded(x, "seed");
  if (width_ != 1 || swept_ != this->next_)
    fail(Error::Kind::usage, "[seed] no sweep was begun since the last statement");
  reinterpret_cast<Real*>(adjoints_.data())[index_of(x.key())] += adjoint;
}

template <typename Real>
void BasicTape<Real>::sweep() {
  if (width_ != 1 || swept_ != this->next_)
    fail(Error::Kind::usage, "[sweep] no sweep was begun since the last statement");
  sweep(position(), {});
}

template <typename Real>
void BasicTape<Real>::reverse_each(std::span<const Scalar> ys) {
  if (ys.empty() || ys.size() > 8)
    fail(Error::Kind::usage, "[reverse_each] {} directions vs 1 to 8 in one sweep", ys.size());
  for (const Scalar& y : ys) need_recorded(y, "reverse_each");
  const std::uint32_t width = ys.size() <= 2 ? static_cast<std::uint32_t>(ys.size()) : ys.size() <= 4 ? 4 : 8;
  Real* adjoints = prepare_adjoints(width);
  directions_ = static_cast<std::uint32_t>(ys.size());
  for (std::size_t i = 0; i < ys.size(); ++i)
    adjoints[std::size_t{index_of(ys[i].key())} * width + i] = Real(1);
  sweep(position(), {});
}

template <typename Real>
Real BasicTape<Real>::adjoint(const Scalar& x, int direction) const {
  need_recorded(x, "adjoint");
  if (width_ == 0 || index_of(x.key()) >= index_of(swept_))
    fail(Error::Kind::usage, "[adjoint] no sweep since the variable was recorded; call reverse first");
  if (direction < 0 || direction >= static_cast<int>(directions_))
    fail(Error::Kind::usage, "[adjoint] direction {} vs {} swept", direction, directions_);
  return reinterpret_cast<const Real*>(
      adjoints_.data())[std::size_t{index_of(x.key())} * width_ + static_cast<std::size_t>(direction)];
}

template <typename Real>
void BasicTape<Real>::reset() {
  known_.end(this->next_);
  known_ = KnownKeys(first_of_new());
  this->next_ = known_.first();
  externals_.clear();
  inputs_ = this->run_count_ = 0;
  width_ = 0;
  swept_ = 0;
  enter(0, 0, 0);
}

template <typename Real>
typename BasicTape<Real>::Position BasicTape<Real>::position() {
  this->close_run();
  const Chunk& chunk = chunks_[chunk_];
  return {this->next_,
          chunk_,
          reinterpret_cast<std::byte*>(this->partial_) - chunk.pages.data(),
          chunk.pages.data() + chunk.pages.bytes() - reinterpret_cast<std::byte*>(this->words_),
          inputs_,
          this->run_count_,
          externals_.size()};
}

template <typename Real>
void BasicTape<Real>::rewind(const Position& to) {
  if (!known_.has_position(to.next, this->next_))
    fail(Error::Kind::usage, "[rewind] a position of another recording, or later than where this one stands");
  go_to(to);
  this->next_ = known_.go_back(to.next, this->next_);
  // Adjoints of what is forgotten are nobody's.
  if (index_of(swept_) > index_of(to.next)) swept_ = to.next;
}

// What is behind it is overwritten from now on.
template <typename Real>
void BasicTape<Real>::go_to(const Position& to) {
  enter(to.chunk, to.partials, to.runs);
  inputs_ = to.inputs;
  this->run_count_ = to.run_count;
  externals_.resize(to.externals);
}

template <typename Real>
std::vector<Active<Real>> BasicTape<Real>::preaccumulate(std::span<const Scalar> inputs,
                                                         const std::function<std::vector<Scalar>()>& region) {
  std::vector<std::uint32_t> indices;
  for (const Scalar& x : inputs) {
    if (x.active()) need_recorded(x, "preaccumulate");
    indices.push_back(index_of(x.key()));
  }
  const Position begin = position();
  std::vector<Scalar> outputs;
  {
    const Recording recording(*this);
    outputs = region();
  }
  const Position end = position();
  // Its statements make way for those of the Jacobian, many times in a recording: not a recording of their own each time.
  const auto leave = [&] {
    if (recording_of(begin.next) != recording_of(this->next_)) return rewind(begin);
    go_to(begin);
    this->next_ = begin.next;
  };
  if (end.inputs != begin.inputs) {
    leave();
    fail(Error::Kind::usage,
         "[preaccumulate] {} inputs made inside the region vs none; make them before it and name them",
         end.inputs - begin.inputs);
  }
  struct RegionSweeper : RegionAdjoints<Real> {
    BasicTape* tape;
    std::uint32_t directions;
    void call(std::uint32_t number) {
      const External& e = tape->externals_[number];
      const std::vector<Scalar> outputs = tape->outputs_of(e);
      for (std::uint32_t d = 0; d < directions; ++d) {
        Adjoints<Real> view(*this, d, tape->known_, tape->next_);
        e.reverse(outputs, view);
      }
    }
  };
  const auto older = [&](const Scalar& y) { return index_of(y.key()) < index_of(begin.next); };
  std::vector<std::vector<Real>> rows(outputs.size(), std::vector<Real>(inputs.size(), Real(0)));
  for (std::size_t at = 0; at < outputs.size(); at += 8) {
    const auto many = static_cast<std::uint32_t>(std::min<std::size_t>(8, outputs.size() - at));
    RegionSweeper adjoints{{index_of(begin.next), index_of(end.next), indices, many}, this, many};
    for (std::uint32_t i = 0; i < many; ++i)
      if (!older(outputs[at + i])) adjoints.add(index_of(outputs[at + i].key()), i, Real(1));
    std::uint32_t index = index_of(end.next);
    each_chunk(end, begin, [&](const std::uint32_t* words, const std::uint32_t* last, const Real* partials) {
      walk_chunk(words, last, partials, index, adjoints);
    });
    if (adjoints.others()) {
      leave();
      fail(Error::Kind::usage,
           "[preaccumulate] a variable from before the region that it reads vs its {} inputs; name it there",
           inputs.size());
    }
    for (std::size_t j = 0; j < inputs.size(); ++j)
      if (inputs[j].active())  // taken away: a variable that is named twice has them once
        for (std::uint32_t i = 0; i < many; ++i)
          rows[at + i][j] = std::exchange(adjoints.of(indices[j])[i], Real(0));
  }
  leave();
  std::vector<Scalar> results;
  results.reserve(outputs.size());
  // An output that was there before the region needs no statement.
  for (std::size_t i = 0; i < outputs.size(); ++i)
    results.push_back(older(outputs[i]) ? outputs[i] : statement(outputs[i].value(), inputs, rows[i]));
  return results;
}

template <typename Real>
TapeCounts BasicTape<Real>::counts() const {
  TapeCounts c;
  c.inputs = inputs_;
  c.statements = static_cast<std::int64_t>(index_of(this->next_)) - 1 - inputs_;
  c.runs = this->run_count_ + (this->shape_ == kNoShape ? 0 : 1);
  for (std::size_t i = 0; i < chunk_; ++i) c.tape += chunks_[i].partials + chunks_[i].runs;
  const Chunk& chunk = chunks_[chunk_];
  c.tape += reinterpret_cast<const std::byte*>(this->partial_) - chunk.pages.data();
  c.tape += chunk.pages.data() + chunk.pages.bytes() - reinterpret_cast<const std::byte*>(this->words_);
  if (this->shape_ != kNoShape) c.tape += static_cast<Bytes>(4 * descriptor_words(this->n_));
  c.adjoints = static_cast<Bytes>(index_of(this->next_)) * static_cast<Bytes>(sizeof(Real));
  for (const Chunk& each : chunks_) {
    c.held += each.pages.bytes();
    if (each.written) c.on_disk += options_.chunk;
  }
  c.held += adjoints_.bytes();
  return c;
}

template class BasicTape<double>;
template class BasicTape<float>;
template class BasicTape<DualOf<double>>;
template class BasicTape<Sym>;
template class BasicTape<Sym32>;

}  // namespace tidemark::tape
