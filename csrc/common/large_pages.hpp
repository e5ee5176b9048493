// Memory for large tables with random access: in large pages where the system has them, which saves TLB
// misses.
#pragma once

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

template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / sizeof(T) - kPage) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    // A multiple of the alignment, as std::aligned_alloc requires.
    const std::size_t alignment = bytes < kPage ? alignof(std::max_align_t) : kPage;
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, whole);
    if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    if (alignment == kPage) madvise(memory, whole, MADV_HUGEPAGE);  // only a hint
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }

  bool operator==(const LargePages&) const = default;

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;
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
