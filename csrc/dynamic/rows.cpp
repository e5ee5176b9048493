#include "dynamic/rows.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/large_pages.hpp"

namespace motiflux::dynamic {
namespace {

constexpr std::size_t kChunkWords = std::size_t{1} << 16;
constexpr std::size_t kLargeWords = kChunkWords / 4;
constexpr std::uint32_t kLeastCapacity = 2;

// Rows are filled with room for one more neighbour in kSlack: without it, each first insertion moves its row.
constexpr std::size_t kSlack = 16;

void move_words(std::uint32_t* to, const std::uint32_t* from, std::size_t words) {
  std::memmove(to, from, words * sizeof(std::uint32_t));
}

// Removes the neighbours to be deleted, in one pass.
void take_out(std::uint32_t* column, std::size_t size, std::span<const Rows::Change> changes) {
  std::size_t kept = 0, next = 0;  // elements of the column written, and the next one to read
  bool any = false;
  for (const Rows::Change& one : changes) {
    if (one.comes) continue;
    if (any) move_words(column + kept, column + next, one.at - next);
    kept = any ? kept + (one.at - next) : one.at;
    next = one.at + 1;
    any = true;
  }
  move_words(column + kept, column + next, size - next);
}

// Inserts the new neighbours, from the end on; `size` is the column's size after `goes` deletions.
template <class ValueOf>
void put_in(std::uint32_t* column, std::size_t size, std::size_t comes, std::size_t goes,
            std::span<const Rows::Change> changes, ValueOf&& value_of) {
  for (auto one = changes.rbegin(); comes > 0; ++one) {
    if (!one->comes) {
      --goes;
      continue;
    }
    const std::size_t at = one->at - goes;
    move_words(column + at + comes, column + at, size - at);
    column[at + --comes] = value_of(*one);
    size = at;
  }
}

// Sizes of blocks: powers of two and 1.5 times these.
std::size_t size_class(std::size_t words) {
  const auto power = static_cast<std::size_t>(std::bit_width(words) - 1);
  return 2 * power + (words == std::size_t{1} << power ? 0 : 1);
}

}  // namespace

void Rows::Blocks::Free::operator()(std::uint32_t* block) const {
  std::free(block);
}

bool Rows::Blocks::is_large(std::size_t words) {
  return words > kLargeWords;
}

// In large pages if it is large: fewer page faults, fewer TLB misses.
std::uint32_t* Rows::Blocks::take_many(std::size_t words) {
  chunks_.emplace_back(LargePages<std::uint32_t>().allocate(words));
  bytes_ += words * sizeof(std::uint32_t);
  return chunks_.back().get();
}

std::uint32_t* Rows::Blocks::take(std::size_t words) {
  auto& free = free_[size_class(words)];
  if (!free.empty()) {
    std::uint32_t* block = free.back();
    free.pop_back();
    return block;
  }
  const auto allocate = [&](std::size_t count) {
    auto* block = static_cast<std::uint32_t*>(std::malloc(count * sizeof(std::uint32_t)));
    if (block == nullptr) throw std::bad_alloc();
    return block;
  };
  if (is_large(words)) {
    std::uint32_t* block = allocate(words);
    bytes_ += words * sizeof(std::uint32_t);
    return block;
  }
  if (left_ < words) {
    chunks_.emplace_back(allocate(kChunkWords));
    bytes_ += kChunkWords * sizeof(std::uint32_t);
    next_ = chunks_.back().get();
    left_ = kChunkWords;
  }
  std::uint32_t* block = next_;
  next_ += words;
  left_ -= words;
  return block;
}

void Rows::Blocks::give_back(std::uint32_t* block, std::size_t words) {
  if (!is_large(words)) {
    free_[size_class(words)].push_back(block);
    return;
  }
  std::free(block);
  bytes_ -= words * sizeof(std::uint32_t);
}

void Rows::Blocks::drop_large(std::uint32_t* block, std::size_t words) {
  if (is_large(words)) std::free(block);
}

Rows::~Rows() {
  for (const Row& row : rows_)
    if (row.data != nullptr) blocks_.drop_large(row.data, words(row.capacity));
}

void Rows::add_vertices(std::uint32_t count) {
  rows_.resize(rows_.size() + count);
  if (classed_) present_.resize(rows_.size(), 0);
}

void Rows::keep_vertices(std::uint32_t count) {
  for (std::size_t vertex = count; vertex < rows_.size(); ++vertex)
    if (rows_[vertex].data != nullptr) blocks_.give_back(rows_[vertex].data, words(rows_[vertex].capacity));
  rows_.resize(count);
  if (classed_) present_.resize(count);
}

// The smallest block size that holds `size` neighbours.
std::uint32_t Rows::capacity_for(std::uint32_t size) {
  if (size <= kLeastCapacity) return kLeastCapacity;
  const std::uint32_t power = std::bit_floor(size);
  if (size == power) return power;
  const std::uint32_t middle = power + power / 2;
  if (size <= middle) return middle;
  if (power > UINT32_MAX / 2) throw std::bad_alloc();
  return 2 * power;
}

void Rows::make(std::span<const std::uint64_t> offsets, bool classed) {
  classed_ = classed;
  const std::size_t vertices = offsets.size() - 1;
  rows_.resize(vertices);
  if (classed) present_.resize(vertices);
  std::size_t small = 0;
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    const std::size_t size = offsets[vertex + 1] - offsets[vertex];
    if (size == 0) continue;
    const std::size_t roomy = std::min<std::size_t>(size + size / kSlack + 1, UINT32_MAX);
    Row& row = rows_[vertex];
    row.capacity = capacity_for(static_cast<std::uint32_t>(roomy));
    row.size = static_cast<std::uint32_t>(size);
    const std::size_t block = words(row.capacity);
    if (Blocks::is_large(block))
      row.data = blocks_.take(block);
    else
      small += block;
  }
  std::uint32_t* next = small == 0 ? nullptr : blocks_.take_many(small);
  for (Row& row : rows_) {
    if (row.size == 0 || row.data != nullptr) continue;
    row.data = next;
    next += words(row.capacity);
  }
}

sets::Span Rows::of_class(Vertex vertex, Class of) const {
  const Row& row = rows_[vertex];
  if (!classed_) return of == 0 ? all(vertex) : sets::Span{};
  const Class* classes = row.data + row.capacity;
  const sets::Span run{classes, classes + row.size};
  const auto first = static_cast<std::size_t>(sets::lower_bound(run, of) - classes);
  const auto last =
      static_cast<std::size_t>(std::upper_bound(classes + first, classes + row.size, of) - classes);
  return {row.data + first, row.data + last};
}

bool Rows::contains(Vertex vertex, Class of, Vertex neighbor) const {
  const Row& row = rows_[vertex];
  return is_at(row, place(row, of, neighbor), of, neighbor);
}

void Rows::insert(Vertex vertex, std::size_t at, Class of, Vertex neighbor) {
  Row& row = rows_[vertex];
  if (row.size == row.capacity) {
    if (row.size == UINT32_MAX) throw std::bad_alloc();
    resize(row, capacity_for(row.size + 1));
  }
  const std::size_t moved = (row.size - at) * sizeof(Vertex);
  std::memmove(row.data + at + 1, row.data + at, moved);
  row.data[at] = neighbor;
  if (classed_) {
    Class* classes = row.data + row.capacity;
    std::memmove(classes + at + 1, classes + at, moved);
    classes[at] = of;
    present_[vertex] |= bit(of);
  }
  ++row.size;
}

bool Rows::erase(Vertex vertex, Class of, Vertex neighbor) {
  Row& row = rows_[vertex];
  const std::size_t at = place(row, of, neighbor);
  if (!is_at(row, at, of, neighbor)) return false;
  const std::size_t moved = (row.size - at - 1) * sizeof(Vertex);
  std::memmove(row.data + at, row.data + at + 1, moved);
  --row.size;
  if (classed_) {
    Class* classes = row.data + row.capacity;
    std::memmove(classes + at, classes + at + 1, moved);
    const bool more = (at > 0 && classes[at - 1] == of) || (at < row.size && classes[at] == of);
    if (!more) forget_absent(vertex, of);
  }
  shrink(row);
  return true;
}

// Clears the bit of a class after the deletion of a neighbour, if it was the last neighbour with that bit.
void Rows::forget_absent(Vertex vertex, Class of) {
  if (of_class(vertex, of).size() > 0) return;
  const Class* classes = this->classes(vertex);
  if (std::none_of(classes, classes + rows_[vertex].size, [&](Class other) { return bit(other) == bit(of); }))
    present_[vertex] &= ~bit(of);
}

// At a quarter full or less, half the block is freed; the rest has room for as many insertions again.
void Rows::shrink(Row& row) {
  if (row.size > row.capacity / 4 || row.capacity <= 4 * kLeastCapacity) return;
  try {
    resize(row, capacity_for(2 * std::max(row.size, kLeastCapacity)));
  } catch (const std::bad_alloc&) {
    // Keep the larger block.
  }
}

void Rows::change(Vertex vertex, std::span<const Change> changes) {
  Row& row = rows_[vertex];
  std::size_t comes = 0;
  for (const Change& one : changes) comes += one.comes;
  const std::size_t goes = changes.size() - comes, size = row.size + comes - goes;
  if (size > UINT32_MAX) throw std::bad_alloc();
  if (size > row.capacity) resize(row, capacity_for(static_cast<std::uint32_t>(size)));
  const auto rewrite = [&](std::uint32_t* column, auto&& value_of) {
    if (goes > 0) take_out(column, row.size, changes);
    if (comes > 0) put_in(column, row.size - goes, comes, goes, changes, value_of);
  };
  rewrite(row.data, [](const Change& one) { return one.neighbor; });
  if (classed_) rewrite(row.data + row.capacity, [](const Change& one) { return one.of; });
  row.size = static_cast<std::uint32_t>(size);
  if (!classed_) {
    if (goes > 0) shrink(row);
    return;
  }
  for (const Change& one : changes)
    if (one.comes) present_[vertex] |= bit(one.of);
  const Change* before = nullptr;
  for (const Change& one : changes) {
    if (one.comes) continue;
    if (before == nullptr || before->of != one.of) forget_absent(vertex, one.of);
    before = &one;
  }
  if (goes > 0) shrink(row);
}

void Rows::resize(Row& row, std::uint32_t capacity) {
  const auto locked = [&](auto&& work) {
    const std::lock_guard lock(taking_);
    return work();
  };
  std::uint32_t* block = locked([&] { return blocks_.take(words(capacity)); });
  if (row.data != nullptr) {
    std::copy(row.data, row.data + row.size, block);
    if (classed_) std::copy_n(row.data + row.capacity, row.size, block + capacity);
    locked([&] { blocks_.give_back(row.data, words(row.capacity)); });
  }
  row.data = block;
  row.capacity = capacity;
}

// A second class appeared: sets the class of all neighbours so far to 0.
void Rows::become_classed() {
  Rows classed;
  classed.classed_ = true;
  classed.rows_.resize(rows_.size());
  for (std::size_t vertex = 0; vertex < rows_.size(); ++vertex) {
    const Row& row = rows_[vertex];
    if (row.size == 0) continue;
    Row& copy = classed.rows_[vertex];
    classed.resize(copy, capacity_for(row.size));
    std::copy(row.begin(), row.end(), copy.data);
    std::fill_n(copy.data + copy.capacity, row.size, Class{0});
    copy.size = row.size;
  }
  present_.resize(rows_.size());
  for (std::size_t vertex = 0; vertex < rows_.size(); ++vertex)
    present_[vertex] = rows_[vertex].size > 0 ? bit(0) : 0;
  rows_.swap(classed.rows_);
  std::swap(blocks_, classed.blocks_);
  std::swap(classed_, classed.classed_);
}

std::size_t Rows::bytes() const {
  return rows_.capacity() * sizeof(Row) + present_.capacity() * sizeof(std::uint64_t) + blocks_.bytes();
}

}  // namespace motiflux::dynamic
