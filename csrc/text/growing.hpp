// An array that grows in place if the system can: large blocks are moved by page tables, so there are never
// two copies, and pages not written yet take no memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace motiflux::text {

template <class T>
class Growing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Growing() = default;
  Growing(Growing&& other) noexcept { *this = std::move(other); }
  Growing& operator=(Growing&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;
  ~Growing() { std::free(data_); }

  void push_back(T value) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_ + 1);
    data_[size_++] = value;
  }

  void append(const T* values, std::size_t count) {
    if (count == 0) return;
    reserve(size_ + count);
    std::memcpy(data_ + size_, values, count * sizeof(T));
    size_ += count;
  }

  void append_copies(std::size_t count, T value) {
    reserve(size_ + count);
    for (std::size_t i = 0; i < count; ++i) data_[size_ + i] = value;
    size_ += count;
  }

  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }

  void clear() { *this = Growing(); }

  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // The array itself, to be freed with std::free; never null.
  T* release() {
    resize_block(size_ == 0 ? 1 : size_);
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  static constexpr std::size_t kSmallest = 64;

  void grow(std::size_t least) {
    std::size_t capacity = capacity_ < kSmallest ? kSmallest : 2 * capacity_;
    if (capacity < least) capacity = least;
    resize_block(capacity);
  }

  void resize_block(std::size_t capacity) {
    void* const moved = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace motiflux::text
