#include "dynamic/row_blocks.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>

#include "common/large_pages.hpp"

namespace motiflux::dynamic {
namespace {

constexpr std::size_t kPage = 4096, kLargePage = std::size_t{2} << 20;

// Chunks grow with all blocks, so that there are few of them: a device is given each by a call.
constexpr std::size_t kLeastChunk = std::size_t{1} << 16, kMostChunk = std::size_t{1} << 24;  // words
constexpr std::size_t kChunksOfAll = 64;
constexpr std::size_t kLargeWords = kLeastChunk / 4;

std::size_t whole_pages(std::size_t words) {
  const std::size_t bytes = words * sizeof(std::uint32_t);
  return (bytes + kPage - 1) / kPage * kPage;
}

// In large pages if it is large: fewer page faults, fewer TLB misses.
std::uint32_t* allocate(std::size_t bytes) {
  if (bytes >= kLargePage) return LargePages<std::uint32_t>().allocate(bytes / sizeof(std::uint32_t));
  void* memory = std::aligned_alloc(kPage, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::uint32_t*>(memory);
}

std::atomic<std::uint64_t> arenas_made{0};

// Capacities are powers of two and 1.5 times these.
std::size_t size_class(std::uint32_t capacity) {
  const auto power = static_cast<std::size_t>(std::bit_width(capacity) - 1);
  return 2 * power + (capacity == std::size_t{1} << power ? 0 : 1);
}

}  // namespace

Arena::Arena(std::size_t words)
    : data_(allocate(whole_pages(words))), bytes_(whole_pages(words)), number_(++arenas_made) {}

Arena::Arena(const std::uint32_t* data, std::size_t bytes)
    : data_(const_cast<std::uint32_t*>(data)), bytes_(bytes), number_(++arenas_made), is_lent_(true) {}

Arena::~Arena() {
  if (!is_lent_) std::free(data_);
}

bool RowBlocks::is_large(std::size_t words) {
  return words > kLargeWords;
}

std::uint32_t* RowBlocks::take_many(std::size_t words) {
  chunks_.push_back(std::make_shared<const Arena>(words));
  bytes_ += chunks_.back()->bytes();
  return chunks_.back()->data();
}

std::uint32_t* RowBlocks::take(std::uint32_t capacity, std::size_t words) {
  if (is_large(words)) {
    auto arena = std::make_shared<const Arena>(words);
    std::uint32_t* block = arena->data();
    const std::size_t bytes = arena->bytes();
    alone_.emplace(block, std::move(arena));
    bytes_ += bytes;
    return block;
  }
  auto& free = free_[size_class(capacity)];
  if (!free.empty()) {
    std::uint32_t* block = free.back();
    free.pop_back();
    return block;
  }
  if (left_ < words) {
    const std::size_t all = std::max(bytes_, expected_) / sizeof(std::uint32_t);
    const std::size_t chunk = std::clamp(all / kChunksOfAll, kLeastChunk, kMostChunk);
    next_ = take_many(chunk);
    left_ = chunk;
  }
  std::uint32_t* block = next_;
  next_ += words;
  left_ -= words;
  return block;
}

void RowBlocks::give_back(std::uint32_t* block, std::uint32_t capacity, std::size_t words) {
  if (!is_large(words)) {
    free_[size_class(capacity)].push_back(block);
    return;
  }
  const auto found = alone_.find(block);
  bytes_ -= found->second->bytes();
  alone_.erase(found);
}

Arenas RowBlocks::arenas() const {
  Arenas all = chunks_;
  for (const auto& [block, arena] : alone_) all.push_back(arena);
  return all;
}

}  // namespace motiflux::dynamic
