// A growing column of plain values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "common/growing_memory.hpp"

namespace motiflux {

template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column&& other) noexcept {
    Column taken(std::move(other));
    swap(taken);
    return *this;
  }

  T* data() { return static_cast<T*>(memory_.data()); }
  const T* data() const { return static_cast<const T*>(memory_.data()); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const T> all() const { return {data(), size_}; }
  void clear() { size_ = 0; }

  // Makes room for `count` more elements and returns a pointer to the first.
  T* extend(std::size_t count) {
    if (count > capacity_ - size_) grow(count);
    T* first = data() + size_;
    size_ += count;
    return first;
  }
  void push_back(T value) { *extend(1) = value; }
  void append(std::span<const T> values) {
    if (!values.empty()) std::memcpy(extend(values.size()), values.data(), values.size_bytes());
  }

 private:
  static constexpr std::size_t kFewest = 64;

  void swap(Column& other) {
    memory_.swap(other.memory_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void grow(std::size_t count) {
    const std::size_t wanted = std::max({kFewest, capacity_ + capacity_ / 2, size_ + count});
    memory_.grow(wanted * sizeof(T));
    capacity_ = memory_.bytes() / sizeof(T);
  }

  GrowingMemory memory_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace motiflux
