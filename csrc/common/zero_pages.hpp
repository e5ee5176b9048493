// Arrays that take memory only where they are written, page by page; new ones have zeros.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace motiflux {

template <class T>
class ZeroPagesAllocator {
 public:
  using value_type = T;

  ZeroPagesAllocator() = default;
  template <class Other>
  ZeroPagesAllocator(const ZeroPagesAllocator<Other>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
#if defined(__linux__)
    if (bytes >= kLeast) {
      void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (pages == MAP_FAILED) throw std::bad_alloc();
      if (bytes < kLeastOfLargePages) madvise(pages, bytes, MADV_NOHUGEPAGE);
      return static_cast<T*>(pages);
    }
#endif
    void* const data = std::calloc(count, sizeof(T));
    if (data == nullptr) throw std::bad_alloc();
    return static_cast<T*>(data);
  }

  void deallocate(T* data, std::size_t count) {
#if defined(__linux__)
    if (count * sizeof(T) >= kLeast) {
      munmap(data, count * sizeof(T));
      return;
    }
#endif
    std::free(data);
  }

  // Elements are zero as they are.
  template <class Element>
  void construct(Element*) {}
  template <class Element, class First, class... Rest>
  void construct(Element* element, First&& first, Rest&&... rest) {
    ::new (static_cast<void*>(element)) Element(std::forward<First>(first), std::forward<Rest>(rest)...);
  }

  friend bool operator==(const ZeroPagesAllocator&, const ZeroPagesAllocator&) { return true; }

 private:
  static constexpr std::size_t kLeast = std::size_t{1} << 14;              // bytes of a block of its own
  static constexpr std::size_t kLeastOfLargePages = std::size_t{1} << 26;  // of which a part is little
};

// A new one has zeros. Memory that is reserved and not written takes none.
template <class T>
using ZeroPages = std::vector<T, ZeroPagesAllocator<T>>;

}  // namespace motiflux
