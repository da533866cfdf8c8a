// The uses and makings of one buffer in order of their slots. Most buffers have a handful: those stay in place, in one cache line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

namespace tidemark::plan {

struct Event {
  std::int32_t slot;
  bool use;  // else the buffer is made here
};

class EventList {
 public:
  EventList() = default;
  EventList(EventList&&) = default;
  EventList& operator=(EventList&&) = default;
  EventList(const EventList& other) { *this = other; }
  EventList& operator=(const EventList& other) {
    if (this == &other) return *this;
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (other.more_) {
      more_ = std::make_unique<std::int32_t[]>(static_cast<std::size_t>(capacity_));
      std::memcpy(more_.get(), other.more_.get(), sizeof(std::int32_t) * static_cast<std::size_t>(size_));
    } else {
      more_.reset();
      std::memcpy(few_, other.few_, sizeof few_);
    }
    return *this;
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return static_cast<std::size_t>(size_); }
  Event operator[](std::size_t i) const { return {data()[i] >> 1, (data()[i] & 1) != 0}; }
  Event front() const { return (*this)[0]; }
  Event back() const { return (*this)[size() - 1]; }
  void clear() { size_ = 0; }

  // Index of the first event at or after `slot`.
  std::size_t from(std::int32_t slot) const {
    const std::int32_t* list = data();
    const std::int32_t key = slot << 1;
    std::int32_t low = 0, high = size_;
    while (high - low > 8) {
      const std::int32_t middle = (low + high) / 2;
      if (list[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
    while (low < high && list[low] < key) ++low;
    return static_cast<std::size_t>(low);
  }

  void push_back(Event event) { insert(size(), event); }
  void insert(std::size_t at, Event event) {
    if (size_ == capacity_) grow();
    std::int32_t* list = data();
    std::memmove(list + at + 1, list + at, sizeof(std::int32_t) * (size() - at));
    list[at] = event.slot << 1 | static_cast<std::int32_t>(event.use);
    ++size_;
  }
  void erase(std::size_t at) {
    std::int32_t* list = data();
    std::memmove(list + at, list + at + 1, sizeof(std::int32_t) * (size() - at - 1));
    --size_;
  }

 private:
  static constexpr std::int32_t kFew = 12;
  const std::int32_t* data() const { return capacity_ == kFew ? few_ : more_.get(); }
  std::int32_t* data() { return capacity_ == kFew ? few_ : more_.get(); }
  void grow() {
    auto bigger = std::make_unique<std::int32_t[]>(static_cast<std::size_t>(2 * capacity_));
    std::memcpy(bigger.get(), data(), sizeof(std::int32_t) * size());
    more_ = std::move(bigger);
    capacity_ *= 2;
  }

  std::int32_t size_ = 0, capacity_ = kFew;
  std::int32_t few_[kFew];  // slot * 2 + use
  std::unique_ptr<std::int32_t[]> more_;
};

}  // namespace tidemark::plan
