#include "dynamic/compared_copies.hpp"

#include <algorithm>
#include <bit>

namespace motiflux::dynamic {
namespace {

// Changes ahead of which rows are prefetched, and their ends.
constexpr std::size_t kFar = 8, kNear = 4;

}  // namespace

std::int64_t ComparedCopies::in_order(std::int64_t bits) {
  const auto plain = std::bit_cast<std::int64_t>(std::bit_cast<double>(bits) + 0.0);
  return plain < 0 ? plain ^ std::numeric_limits<std::int64_t>::max() : plain;
}

std::size_t ComparedCopies::add_column(bool ranked) {
  columns_.emplace_back();
  columns_.back().ranked = ranked;
  return columns_.size() - 1;
}

void ComparedCopies::extend(std::size_t column, std::span<const std::int64_t> values,
                            std::span<const std::uint8_t> missing) {
  Values& own = columns_[column];
  own.values.insert(own.values.end(), values.begin(), values.end());
  own.missing.insert(own.missing.end(), missing.begin(), missing.end());
  own.some_missing =
      own.some_missing || std::ranges::any_of(missing, [](std::uint8_t one) { return one != 0; });
}

void ComparedCopies::shorten(std::size_t column, std::size_t size) {
  Values& own = columns_[column];
  if (size >= own.values.size()) return;
  own.values.resize(size);
  own.missing.resize(size);
}

void ComparedCopies::set_ranks(std::size_t column, std::vector<std::int64_t> ranks) {
  columns_[column].ranks = std::move(ranks);
}

std::size_t ComparedCopies::add_index(std::size_t column, bool floats) {
  indexes_.push_back({column, floats, ValueRows(directed_), {}});
  return indexes_.size() - 1;
}

// Copies without a value come first: they serve query edges that are not compared.
std::int64_t ComparedCopies::key(const Index& index, Row row) const {
  if (index.column == kNoColumn) return 0;
  if (is_missing(index.column, row)) return std::numeric_limits<std::int64_t>::min();
  const std::int64_t value = columns_[index.column].values[row];
  return index.floats ? in_order(value) : value;
}

void ComparedCopies::load() {
  const std::vector<Row> rows = copies_.alive_before();
  for (Index& index : indexes_) {
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    for (const Row row : rows) {
      const std::int64_t at = key(index, row);
      index.rows.add(copies_.edge(row), at, row);
      highest = std::max(highest, at);
    }
    index.rows.finish();
    index.highest.assign(1, highest);
  }
}

void ComparedCopies::begin() {
  std::vector<Row> gone;
  for (const auto& [row, inserts] : changes_)
    if (!inserts) gone.push_back(row);
  if (!gone.empty())
    for (Index& index : indexes_) index.rows.remove(copies_, gone);
  for (const Row row : gone) gone_[row] = 0;
  for (Index& index : indexes_) index.highest = {index.highest.back()};
  changes_.clear();
  came_.clear();
  rows_before_ = copies_.rows();
}

void ComparedCopies::apply(std::span<const Change> changes) {
  changes_.assign(changes.begin(), changes.end());
  came_.assign(copies_.rows() - rows_before_, kNever);
  gone_.resize(copies_.rows(), kNever);
  Moment moment = 0;
  for (const auto& [row, inserts] : changes_) {
    ++moment;
    if (inserts)
      came_[row - rows_before_] = moment;
    else
      gone_[row] = moment;
  }
  for (Index& index : indexes_) {
    index.highest.reserve(changes_.size() + 1);
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      const auto& [row, inserts] = changes_[at];
      if (at + kFar < changes_.size()) {
        index.rows.prefetch(copies_.edge(changes_[at + kFar].row));
        index.rows.prefetch_ends(copies_.edge(changes_[at + kNear].row));
      }
      std::int64_t highest = index.highest.back();
      if (inserts) {
        const std::int64_t at = key(index, row);
        index.rows.add(copies_.edge(row), at, row);
        highest = std::max(highest, at);
      }
      index.highest.push_back(highest);
    }
    index.rows.finish();
  }
}

void ComparedCopies::undo() {
  std::vector<Row> came;
  for (const auto& [row, inserts] : changes_)
    if (inserts)
      came.push_back(row);
    else if (row < rows_before_)
      gone_[row] = kNever;
  if (!came.empty())
    for (Index& index : indexes_) index.rows.remove(copies_, came);
  for (Index& index : indexes_) index.highest.resize(1);
  changes_.clear();
  came_.clear();
  gone_.resize(std::min(gone_.size(), rows_before_));
}

std::size_t ComparedCopies::bytes() const {
  std::size_t all = gone_.capacity() * sizeof(Moment);
  for (const Values& column : columns_)
    all += column.values.capacity() * sizeof(std::int64_t) + column.missing.capacity();
  for (const Index& index : indexes_) all += index.rows.bytes();
  return all;
}

}  // namespace motiflux::dynamic
