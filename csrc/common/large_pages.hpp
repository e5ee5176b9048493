// Memory for large tables with random access: in large pages where the system has them, which saves TLB
// misses.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace motiflux {

// Blocks that were freed, for the next ones of the same size: memory of one call is soon that of the next,
// and to clear fresh pages takes longer than to fill them. At most kMost bytes, which the system takes back
// if it needs them (MADV_FREE). Sanitizers see every allocation instead.
class SparePages {
 public:
  static constexpr std::size_t kMost = std::size_t{256} << 20;

  // A block of this size, or null.
  void* take(std::size_t bytes) {
    if (!kKeeps || busy_.test_and_set(std::memory_order_acquire)) return nullptr;
    void* taken = nullptr;
    for (std::size_t at = size_; at-- > 0 && taken == nullptr;)
      if (blocks_[at].bytes == bytes) taken = take_out(at);
    busy_.clear(std::memory_order_release);
    return taken;
  }

  // Keeps a block of std::aligned_alloc, in place of the oldest ones, or frees it.
  void put(void* data, std::size_t bytes) {
    if (!kKeeps || bytes > kMost / 2 || busy_.test_and_set(std::memory_order_acquire)) {
      std::free(data);
      return;
    }
#if defined(MADV_FREE)
    madvise(data, bytes, MADV_FREE);
#endif
    while (size_ == blocks_.size() || kept_ + bytes > kMost) std::free(take_out(0));
    blocks_[size_++] = {data, bytes};
    kept_ += bytes;
    busy_.clear(std::memory_order_release);
  }

 private:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(MADV_FREE)
  static constexpr bool kKeeps = false;
#else
  static constexpr bool kKeeps = true;
#endif

  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };

  void* take_out(std::size_t at) {
    const Block block = blocks_[at];
    std::copy(blocks_.begin() + at + 1, blocks_.begin() + size_, blocks_.begin() + at);
    --size_;
    kept_ -= block.bytes;
    return block.data;
  }

  std::array<Block, 32> blocks_{};  // the oldest first
  std::size_t size_ = 0, kept_ = 0;
  // Nobody waits: while another thread is here, memory is allocated or freed instead.
  std::atomic_flag busy_;
};

// Never destroyed: NumPy arrays may be freed when the process ends.
inline constinit SparePages spare_pages;

template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kPage) {
      const std::size_t alignment = alignof(std::max_align_t);
      void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      if (memory == nullptr) throw std::bad_alloc();
      return static_cast<T*>(memory);
    }
    const std::size_t whole = whole_size(bytes);
    void* memory = spare_pages.take(whole);
    if (memory == nullptr) memory = std::aligned_alloc(kPage, whole);
    if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    madvise(memory, whole, MADV_HUGEPAGE);  // only a hint
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kPage)
      std::free(memory);
    else
      spare_pages.put(memory, whole_size(count * sizeof(T)));
  }

  bool operator==(const LargePages&) const = default;

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;

  // A multiple of the alignment, as std::aligned_alloc requires; of few sizes, so that blocks fit again.
  static std::size_t whole_size(std::size_t bytes) {
    const std::size_t step = std::max(kPage, std::bit_floor(bytes) / 8);
    return (bytes + step - 1) / step * step;
  }
};

// For vectors of plain values that are resized before they are written: new elements are not cleared, so the
// threads that write them touch their pages.
template <class T>
struct UnclearedPages : LargePages<T> {
  static_assert(std::is_trivially_copyable_v<T>);
  using value_type = T;

  UnclearedPages() = default;
  template <class U>
  UnclearedPages(const UnclearedPages<U>&) {}

  template <class U>
  void construct(U*) {}
  template <class U, class... Values>
    requires(sizeof...(Values) > 0)
  void construct(U* element, Values&&... values) {
    std::construct_at(element, std::forward<Values>(values)...);
  }
};

// Elements that are not cleared at first since they are written before they are read: the writing threads
// touch their pages in parallel.
template <class T>
class Unwritten {
 public:
  explicit Unwritten(std::size_t count) : data_(LargePages<T>().allocate(count), Free{count}), size_(count) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    std::size_t count;
    void operator()(T* memory) const { LargePages<T>().deallocate(memory, count); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_;
};

}  // namespace motiflux
