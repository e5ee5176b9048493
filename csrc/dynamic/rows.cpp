#include "dynamic/rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

namespace motiflux::dynamic {
namespace {

constexpr std::uint32_t kLeastCapacity = 2;

// Rows are filled with room for one more neighbour in kSlack: without it, each first insertion moves its row.
constexpr std::size_t kSlack = 16;

constexpr std::size_t kRowsCopied = 1 << 12;

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

}  // namespace

void Rows::add_vertices(std::uint32_t count) {
  rows_.resize(rows_.size() + count);
  if (classed()) present_.resize(rows_.size(), 0);
  for (RowReader* reader : readers_) reader->cover(vertices());
}

void Rows::keep_vertices(std::uint32_t count) {
  for (std::size_t vertex = count; vertex < rows_.size(); ++vertex) {
    const Row& row = rows_[vertex];
    if (row.capacity > 0 && !is_lent(row)) blocks_.give_back(row.data, row.capacity, words(row.capacity));
  }
  rows_.resize(count);
  if (classed()) present_.resize(count);
  for (RowReader* reader : readers_) reader->cover(count);
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

// The same with room for some more.
std::uint32_t Rows::roomy_capacity(std::size_t size) {
  return capacity_for(
      static_cast<std::uint32_t>(std::min<std::size_t>(size + size / kSlack + 1, UINT32_MAX)));
}

void Rows::fill(Vertex vertex, std::span<const Vertex> neighbors, std::span<const Class> classes) {
  if (neighbors.empty()) return;
  Class most = 0;
  for (Class of : classes) most = std::max(most, of);
  admit(most);
  resize(vertex, roomy_capacity(neighbors.size()));
  Row& row = rows_[vertex];
  std::copy(neighbors.begin(), neighbors.end(), row.data);
  row.size = static_cast<std::uint32_t>(neighbors.size());
  if (classed()) set_classes(vertex, classes);
}

void Rows::set_classes(Vertex vertex, std::span<const Class> classes) {
  present_[vertex] = write_classes(rows_[vertex], classes);
}

std::uint64_t Rows::write_classes(const Row& row, std::span<const Class> classes) const {
  if (wide()) std::ranges::copy(classes, this->classes(row));
  return write_runs(row, classes);
}

void Rows::make(std::span<const std::uint64_t> offsets, Class most) {
  most_ = room_for(most);
  const std::size_t vertices = offsets.size() - 1;
  rows_.resize(vertices);
  if (classed()) present_.resize(vertices);
  std::size_t small = 0;
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    const std::size_t size = offsets[vertex + 1] - offsets[vertex];
    if (size == 0) continue;
    Row& row = rows_[vertex];
    row.capacity = roomy_capacity(size);
    row.size = static_cast<std::uint32_t>(size);
    const std::size_t block = words(row.capacity);
    if (RowBlocks::is_large(block))
      row.data = blocks_.take(row.capacity, block);
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

std::size_t Rows::lent_words(std::span<const std::uint64_t> offsets, Class most) {
  std::size_t sum = 0;
  for (std::size_t vertex = 0; vertex + 1 < offsets.size(); ++vertex)
    sum += words(static_cast<std::uint32_t>(offsets[vertex + 1] - offsets[vertex]), most);
  return sum;
}

void Rows::make_lent(std::span<const std::uint64_t> offsets, Class most,
                     std::span<const std::uint32_t> blocks, std::shared_ptr<const Arena> lent) {
  most_ = room_for(most);
  rows_.resize(offsets.size() - 1);
  if (classed()) present_.resize(rows_.size());
  auto* next = const_cast<std::uint32_t*>(blocks.data());  // no change writes to a lent row
  for (std::size_t vertex = 0; vertex < rows_.size(); ++vertex) {
    const auto size = static_cast<std::uint32_t>(offsets[vertex + 1] - offsets[vertex]);
    if (size > 0) rows_[vertex] = {next, size, size};
    next += words(size);
  }
  lent_ = std::move(lent);
  lent_first_ = blocks.data();
  lent_last_ = blocks.data() + blocks.size();
  blocks_.expect(blocks.size_bytes());
}

bool Rows::lends(Vertex vertex, std::vector<std::uint32_t>& scratch, std::span<const Class> classes) {
  const Row& row = rows_[vertex];
  const std::size_t size = words(row.capacity);
  if (scratch.size() < size) scratch.resize(size);
  std::fill(scratch.begin() + row.size, scratch.begin() + static_cast<std::ptrdiff_t>(size), 0);
  if (classed()) present_[vertex] = write_classes({scratch.data(), row.size, row.capacity}, classes);
  return std::equal(row.data, row.data + size, scratch.begin());
}

void Rows::end_lending() {
  lent_.reset();
  lent_first_ = lent_last_ = nullptr;
}

void Rows::take_over_lent(const Workers& workers) {
  if (lent_ == nullptr) return;
  std::vector<Row> moved(rows_);
  std::size_t small = 0;
  const auto is_large = [&](const Row& row) { return RowBlocks::is_large(words(row.capacity)); };
  const auto for_each_lent = [&](auto&& visit) {
    for (std::size_t vertex = 0; vertex < rows_.size(); ++vertex)
      if (is_lent(rows_[vertex])) visit(rows_[vertex], moved[vertex]);
  };
  for_each_lent([&](const Row& row, Row& to) {
    to.data = nullptr;
    to.capacity = roomy_capacity(row.size);
    if (!is_large(to)) small += words(to.capacity);
  });
  try {
    for_each_lent([&](const Row&, Row& to) {
      if (is_large(to)) to.data = blocks_.take(to.capacity, words(to.capacity));
    });
    std::uint32_t* next = small == 0 ? nullptr : blocks_.take_many(small);
    for_each_lent([&](const Row&, Row& to) {
      if (to.data != nullptr) return;
      to.data = next;
      next += words(to.capacity);
    });
  } catch (...) {
    for_each_lent([&](const Row&, Row& to) {
      if (to.data != nullptr) blocks_.give_back(to.data, to.capacity, words(to.capacity));
    });
    throw;
  }
  parallel_for(workers, rows_.size(), kRowsCopied, [&](std::size_t begin, std::size_t end) {
    for (std::size_t vertex = begin; vertex < end; ++vertex)
      if (is_lent(rows_[vertex])) copy_block(rows_[vertex], moved[vertex], static_cast<Vertex>(vertex));
  });
  rows_.swap(moved);
  end_lending();
  for (RowReader* reader : readers_) reader->note_all();
}

// Calls work(starts of the row).
template <class Work>
void Rows::with_starts(const Row& row, Work&& work) {
  if (row.has_short_starts())
    work(row.short_starts());
  else
    work(row.starts());
}

std::uint64_t Rows::write_runs(const Row& row, std::span<const Class> classes) {
  std::uint64_t present = 0;
  with_starts(row, [&](auto* starts) {
    using Start = std::remove_reference_t<decltype(*starts)>;
    // Without a branch: where the next run begins is hard to predict.
    std::array<Start, kRuns + 1> found;
    std::size_t runs = 0;
    for (std::size_t at = 0; at < classes.size(); ++at) {
      found[runs] = static_cast<Start>(at);
      runs += (present & bit(classes[at])) == 0;
      present |= bit(classes[at]);
    }
    std::copy_n(found.begin(), runs, starts);
  });
  return present;
}

// Adds to the size of the run of a class, and so to the size of the row. A run exists if it is not empty.
void Rows::grow_run(Vertex vertex, Class of, std::int64_t more) {
  Row& row = rows_[vertex];
  const Run before = run_of(vertex, of);
  const bool comes = before.first == before.last;
  const bool goes = static_cast<std::int64_t>(before.first - before.last) == more;
  std::uint64_t& present = present_[vertex];
  const auto number = ones(present & (bit(of) - 1)), runs = ones(present);
  with_starts(row, [&](auto* starts) {
    using Start = std::remove_reference_t<decltype(*starts)>;
    Start* const next = starts + number + (comes ? 0 : 1);
    for (Start* start = next; start < starts + runs; ++start) *start += static_cast<Start>(more);
    if (comes) std::copy_backward(next, starts + runs, starts + runs + 1);
    if (comes) starts[number] = static_cast<Start>(before.first);
    if (goes) std::copy(next, starts + runs, next - 1);
  });
  if (comes || goes) present ^= bit(of);
  row.size = static_cast<std::uint32_t>(row.size + more);
}

// Of the changes that insert, or of those that delete.
void Rows::grow_runs(Vertex vertex, std::span<const Change> changes, bool comes) {
  for (std::size_t at = 0; at < changes.size();) {
    const Class of = changes[at].of;
    std::int64_t more = 0;
    for (; at < changes.size() && bit(changes[at].of) == bit(of); ++at) more += changes[at].comes == comes;
    if (more > 0) grow_run(vertex, of, comes ? more : -more);
  }
}

Rows::Run Rows::within(const Row& row, Run run, Class of) const {
  const Class* classes = this->classes(row);
  const sets::Span all{classes + run.first, classes + run.last};
  const Class* first = sets::lower_bound(all, of);
  return {static_cast<std::size_t>(first - classes),
          static_cast<std::size_t>(std::upper_bound(first, all.last, of) - classes)};
}

std::size_t Rows::place(Vertex vertex, std::size_t from, Class of, Vertex neighbor) const {
  const Row& row = rows_[vertex];
  Run run = part_of(vertex, of);
  run.first = std::clamp(from, run.first, run.last);
  return static_cast<std::size_t>(sets::lower_bound({row.data + run.first, row.data + run.last}, neighbor) -
                                  row.data);
}

void Rows::find_places(std::span<const Lookup> lookups, std::size_t* places) const {
  struct Search {
    const Vertex* first;
    std::size_t left;
  };
  std::array<Search, kLookups> searches;
  std::size_t longest = 0;
  for (std::size_t number = 0; number < lookups.size(); ++number) {
    const Run run = part_of(lookups[number].vertex, lookups[number].of);
    searches[number] = {rows_[lookups[number].vertex].data + run.first, run.last - run.first};
    longest = std::max(longest, run.last - run.first);
  }
  for (; longest > 0; longest /= 2)
    for (std::size_t number = 0; number < lookups.size(); ++number) {
      auto& [first, left] = searches[number];
      if (left == 0) continue;
      const std::size_t half = (left + 1) / 2;
      const std::size_t below = first[half - 1] < lookups[number].neighbor;
      first += half & (std::size_t{0} - below);  // compilers make a branch of a conditional
      left -= half;
      __builtin_prefetch(first + left / 2);
    }
  for (std::size_t number = 0; number < lookups.size(); ++number)
    places[number] = static_cast<std::size_t>(searches[number].first - rows_[lookups[number].vertex].data);
}

Rows::Run Rows::part_of(Vertex vertex, Class of) const {
  const Row& row = rows_[vertex];
  if (!classed()) return {0, row.size};
  const Run run = run_of(vertex, of);
  if (of > most_) return {run.last, run.last};  // in no row
  return wide() ? within(row, run, of) : run;
}

bool Rows::is_at(Vertex vertex, std::size_t at, Class of, Vertex neighbor) const {
  const Row& row = rows_[vertex];
  if (of > most_ || at >= row.size || row.data[at] != neighbor) return false;
  if (wide()) return classes(row)[at] == of;
  return !classed() || at < run_of(vertex, of).last;
}

bool Rows::contains(Vertex vertex, Class of, Vertex neighbor) const {
  return is_at(vertex, place(vertex, of, neighbor), of, neighbor);
}

void Rows::insert(Vertex vertex, std::size_t at, Class of, Vertex neighbor) {
  before_change(vertex);
  Row& row = rows_[vertex];
  if (row.size == row.capacity) {  // of a lent row, too
    if (row.size == UINT32_MAX) throw std::bad_alloc();
    resize(vertex, capacity_for(row.size + 1));
  }
  const auto insert_into = [&](std::uint32_t* column, std::uint32_t value) {
    move_words(column + at + 1, column + at, row.size - at);
    column[at] = value;
  };
  insert_into(row.data, neighbor);
  if (wide()) insert_into(classes(row), of);
  if (classed())
    grow_run(vertex, of, 1);
  else
    ++row.size;
}

bool Rows::erase(Vertex vertex, Class of, Vertex neighbor) {
  const std::size_t at = place(vertex, of, neighbor);
  if (!is_at(vertex, at, of, neighbor)) return false;
  erase_at(vertex, at, of);
  return true;
}

void Rows::erase_at(Vertex vertex, std::size_t at, Class of) {
  before_change(vertex);
  own(vertex);
  Row& row = rows_[vertex];
  const auto erase_from = [&](std::uint32_t* column) {
    move_words(column + at, column + at + 1, row.size - at - 1);
  };
  erase_from(row.data);
  if (wide()) erase_from(classes(row));
  if (classed())
    grow_run(vertex, of, -1);
  else
    --row.size;
  shrink(vertex);
}

// At a quarter full or less, half the block is freed; the rest has room for as many insertions again.
void Rows::shrink(Vertex vertex) {
  const Row& row = rows_[vertex];
  if (row.size > row.capacity / 4 || row.capacity <= 4 * kLeastCapacity) return;
  try {
    resize(vertex, capacity_for(2 * std::max(row.size, kLeastCapacity)));
  } catch (const std::bad_alloc&) {
    // Keep the larger block.
  }
}

void Rows::change(Vertex vertex, std::span<const Change> changes) {
  before_change(vertex);
  Row& row = rows_[vertex];
  std::size_t comes = 0;
  for (const Change& one : changes) comes += one.comes;
  const std::size_t goes = changes.size() - comes, size = row.size + comes - goes;
  if (size > UINT32_MAX) throw std::bad_alloc();
  const bool lent = is_lent(row);
  const std::size_t most = lent ? std::max<std::size_t>(size, row.size) : size;
  if (lent || most > row.capacity) resize(vertex, capacity_for(static_cast<std::uint32_t>(most)));
  const auto rewrite = [&](std::uint32_t* column, auto&& value_of) {
    if (goes > 0) take_out(column, row.size, changes);
    if (comes > 0) put_in(column, row.size - goes, comes, goes, changes, value_of);
  };
  rewrite(row.data, [](const Change& one) { return one.neighbor; });
  if (wide()) rewrite(classes(row), [](const Change& one) { return one.of; });
  if (classed()) {
    // Deletions first: the row has room for no more runs than it has before or afterwards.
    if (goes > 0) grow_runs(vertex, changes, false);
    if (comes > 0) grow_runs(vertex, changes, true);
  } else {
    row.size = static_cast<std::uint32_t>(size);
  }
  if (goes > 0) shrink(vertex);
}

void Rows::remove_reader(RowReader& reader) {
  std::erase(readers_, &reader);
  reuse_retired();
}

void Rows::keep_for_readers(Vertex vertex) {
  const Row& row = rows_[vertex];
  const auto keeps = [&](const RowReader* reader) { return reader->keeps(vertex); };
  // What is lent stays as it is: the change moves the row.
  if (row.capacity > 0 && !is_lent(row) && std::ranges::any_of(readers_, keeps))
    resize(vertex, row.capacity, true);
  for (RowReader* reader : readers_) reader->note(vertex);
}

void Rows::reuse_retired() {
  if (std::ranges::any_of(readers_, &RowReader::reads)) return;
  const std::lock_guard lock(taking_);
  for (; !retired_.empty(); retired_.pop_back()) {
    const auto& [block, capacity] = retired_.back();
    blocks_.give_back(block, capacity, words(capacity));
  }
}

void Rows::resize(Vertex vertex, std::uint32_t capacity, bool retires) {
  const auto locked = [&](auto&& work) {
    const std::lock_guard lock(taking_);
    return work();
  };
  Row& row = rows_[vertex];
  Row moved{locked([&] { return blocks_.take(capacity, words(capacity)); }), row.size, capacity};
  if (row.data != nullptr) {
    copy_block(row, moved, vertex);
    if (!is_lent(row))
      locked([&] {
        if (retires)
          retired_.push_back({row.data, row.capacity});
        else
          blocks_.give_back(row.data, row.capacity, words(row.capacity));
      });
  }
  row = moved;
}

void Rows::copy_block(const Row& from, const Row& to, Vertex vertex) const {
  std::copy(from.begin(), from.end(), to.data);
  if (wide()) std::copy_n(classes(from), from.size, classes(to));
  if (!classed()) return;
  with_starts(from, [&](const auto* starts) {
    with_starts(to, [&](auto* copies) { std::copy_n(starts, ones(present_[vertex]), copies); });
  });
}

// Makes room for a class that rows have no room for yet.
void Rows::widen(Class of) {
  Rows wider;
  wider.most_ = of < kRuns ? kRuns - 1 : UINT32_MAX;
  wider.rows_.reserve(rows_.capacity());
  wider.add_vertices(vertices());
  std::vector<Class> classes;
  for (Vertex vertex = 0; vertex < vertices(); ++vertex) {
    classes.clear();
    for_each_class(vertex,
                   [&](Class number, sets::Span run) { classes.insert(classes.end(), run.size(), number); });
    wider.fill(vertex, {rows_[vertex].begin(), rows_[vertex].end()}, classes);
  }
  rows_.swap(wider.rows_);
  present_.swap(wider.present_);
  std::swap(blocks_, wider.blocks_);  // a device that reads holds the arenas before
  end_lending();
  std::swap(most_, wider.most_);
  retired_.clear();
  for (RowReader* reader : readers_) reader->note_all();
}

Arenas Rows::arenas() const {
  Arenas all = blocks_.arenas();
  if (lent_ != nullptr) all.push_back(lent_);
  return all;
}

std::size_t Rows::bytes() const {
  return rows_.capacity() * sizeof(Row) + present_.capacity() * sizeof(std::uint64_t) + blocks_.bytes();
}

}  // namespace motiflux::dynamic
