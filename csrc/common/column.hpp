// A growing column of plain values; where the system can move pages, growth does not copy it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace motiflux {

template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  ~Column() { std::free(data_); }
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column&& other) noexcept {
    Column taken(std::move(other));
    swap(taken);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const T> all() const { return {data_, size_}; }
  void clear() { size_ = 0; }

  // Makes room for `count` more elements and returns a pointer to the first.
  T* extend(std::size_t count) {
    if (count > capacity_ - size_) grow(count);
    T* first = data_ + size_;
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
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void grow(std::size_t count) {
    const std::size_t wanted = std::max({kFewest, capacity_ + capacity_ / 2, size_ + count});
    void* larger = std::realloc(static_cast<void*>(data_), wanted * sizeof(T));
    if (larger == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(larger);
    capacity_ = wanted;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace motiflux
