// Memory that grows without a copy where the system can move pages.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace motiflux {

#if defined(__linux__)
// Mapped blocks that were freed, for the next ones: to clear fresh pages takes longer than to write rows into
// them. At most kMost bytes, which the system takes back if it needs them (MADV_FREE).
class SpareBlocks {
 public:
  static constexpr std::size_t kMost = std::size_t{64} << 20;

  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };

  // Keeps a block, or its beginning, in place of a smaller one; unmaps what is not kept.
  void put(Block block) {
    if (!busy_.test_and_set(std::memory_order_acquire)) {
      Block& least = *std::ranges::min_element(blocks_, {}, &Block::bytes);
      const std::size_t kept = std::min(block.bytes, kMost + least.bytes - bytes());
      if (kept > least.bytes) {
        if (kept < block.bytes) munmap(static_cast<char*>(block.data) + kept, block.bytes - kept);
#if defined(MADV_FREE)
        madvise(block.data, kept, MADV_FREE);
#endif
        block = std::exchange(least, {block.data, kept});
      }
      busy_.clear(std::memory_order_release);
    }
    if (block.bytes > 0) munmap(block.data, block.bytes);
  }

  // The largest block, if it has at least `bytes`.
  Block take(std::size_t bytes) {
    Block taken;
    if (busy_.test_and_set(std::memory_order_acquire)) return taken;
    Block& most = *std::ranges::max_element(blocks_, {}, &Block::bytes);
    if (most.bytes >= bytes) std::swap(taken, most);
    busy_.clear(std::memory_order_release);
    return taken;
  }

 private:
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Block& block : blocks_) sum += block.bytes;
    return sum;
  }

  std::array<Block, 4> blocks_{};
  // Nobody waits: while another thread is here, a block is mapped or unmapped instead.
  std::atomic_flag busy_;
};

// Never destroyed: NumPy arrays may be freed when the process ends.
inline constinit SpareBlocks spare_blocks;
#endif

// On Linux, blocks of at least a large page are mapped at a multiple of its size. Large pages are then moved
// as a whole when the block must move, and first writes to 167 MB take 23 ms instead of the 69 ms of small
// pages.
class GrowingMemory {
 public:
  GrowingMemory() = default;
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;
  ~GrowingMemory() { release(); }

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // Grows to at least `bytes`; what is there keeps its content. Throws std::bad_alloc, and is then as before.
  void grow(std::size_t bytes) {
    if (bytes <= bytes_) return;
    if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
#if defined(__linux__)
    if (bytes >= kPage) {
      grow_mapped((bytes + kPage - 1) / kPage * kPage);
      return;
    }
#endif
    void* larger = std::realloc(data_, bytes);
    if (larger == nullptr) throw std::bad_alloc();
    data_ = larger;
    bytes_ = bytes;
  }

  void swap(GrowingMemory& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

 private:
#if defined(__linux__)
  static constexpr std::size_t kPage = std::size_t{2} << 20;

#if defined(__SANITIZE_THREAD__)
  static constexpr bool kMoves = false;  // ThreadSanitizer does not see that pages move
#else
  static constexpr bool kMoves = true;
#endif

  // Smaller blocks are allocated, larger ones mapped.
  bool is_mapped() const { return bytes_ >= kPage; }
  void release() {
    if (is_mapped())
      spare_blocks.put({data_, bytes_});
    else
      std::free(data_);
  }

  void grow_mapped(std::size_t bytes) {
    if (kMoves && is_mapped() && mremap(data_, bytes_, bytes, 0) != MAP_FAILED) {  // in place
      bytes_ = bytes;
      return;
    }
    void* larger = nullptr;
    if (kMoves && is_mapped()) {
      larger = mapped(bytes);
      // After a failure `larger` may be unmapped already, so it is not unmapped here; no page of it was
      // touched.
      if (mremap(data_, bytes_, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, larger) == MAP_FAILED)
        throw std::bad_alloc();
    } else {
      const SpareBlocks::Block spare = spare_blocks.take(bytes);
      if (spare.data != nullptr) bytes = spare.bytes;
      larger = spare.data != nullptr ? spare.data : mapped(bytes);
      if (bytes_ > 0) std::memcpy(larger, data_, bytes_);
      release();
    }
    data_ = larger;
    bytes_ = bytes;
  }

  static void* mapped(std::size_t bytes) {
    void* whole = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (whole == MAP_FAILED) throw std::bad_alloc();
    const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(whole) % kPage) % kPage;
    char* first = static_cast<char*>(whole) + before;
    if (before > 0) munmap(whole, before);
    munmap(first + bytes, kPage - before);
#if defined(MADV_HUGEPAGE)
    madvise(first, bytes, MADV_HUGEPAGE);  // only a hint
#endif
    return first;
  }
#else
  void release() { std::free(data_); }
#endif

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace motiflux
