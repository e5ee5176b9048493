// What patterns that compare attributes need of a graph that changes: copies with their values, by vertex and
// in the order of a value, at each moment of a call.
//
// All changes of a call are written before it is searched: a copy that came has the moment when it did, and
// one that went is kept with the moment when it went, until the next call begins. So any number of threads
// may search, each at another moment.
//
//   moments of a call   0: before    1: after its first change    2: ...
//   copies by row       came: 0 for those of before    gone: kNever for those that are there at the end
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dynamic/compared_pattern.hpp"
#include "dynamic/copies.hpp"
#include "dynamic/value_rows.hpp"

namespace motiflux::dynamic {

class ComparedCopies {
 public:
  using Row = Copies::Row;
  using Moment = std::uint32_t;
  static constexpr Moment kNever = std::numeric_limits<Moment>::max();

  // The copies that came by a moment, and had not gone before another.
  struct View {
    Moment came = 0;
    Moment gone = kNever;

    static View after(Moment moment) { return {moment, moment + 1}; }
  };
  struct Change {
    Row row;
    bool inserts;
  };

  // `copies` must outlive the object. Their call has begun; what it did is left out until apply().
  ComparedCopies(const Copies& copies, bool directed)
      : copies_(copies), directed_(directed), rows_before_(copies.rows_before()) {}

  // Adds a column of values by row of copies, or by vertex. `ranked`: values are numbers of strings, whose
  // ranks set_ranks() gives.
  std::size_t add_column(bool ranked);
  // Appends values.
  void extend(std::size_t column, std::span<const std::int64_t> values,
              std::span<const std::uint8_t> missing);
  void shorten(std::size_t column, std::size_t size);
  std::size_t size(std::size_t column) const { return columns_[column].values.size(); }
  void set_ranks(std::size_t column, std::vector<std::int64_t> ranks);
  // Adds rows by the values of a column, as doubles if `floats`; kNoColumn: in any order.
  static constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();
  std::size_t add_index(std::size_t column, bool floats);
  // Has all indexes have the copies of before the call; columns have the values of all rows.
  void load();

  // Begins a call: what went before is gone.
  void begin();
  // Writes the changes of the call; columns have the values of all rows.
  void apply(std::span<const Change> changes);
  // Takes back what was done since begin(). `Copies` still has the copies that came.
  void undo();
  std::span<const Change> changes() const { return changes_; }

  std::int64_t value(std::size_t column, std::uint64_t place) const {
    const Values& own = columns_[column];
    const std::int64_t value = own.values[place];
    return own.ranked ? own.ranks[static_cast<std::size_t>(value)] : value;
  }
  bool is_missing(std::size_t column, std::uint64_t place) const {
    const Values& own = columns_[column];
    return own.some_missing && own.missing[place] != 0;
  }
  bool lived(Row row, View view) const { return came(row) <= view.came && gone(row) >= view.gone; }
  Moment came(Row row) const { return row < rows_before_ ? 0 : came_[row - rows_before_]; }
  Moment gone(Row row) const { return row < gone_.size() ? gone_[row] : kNever; }
  const Copies& copies() const { return copies_; }
  bool directed() const { return directed_; }
  ValueRows::Row row(std::size_t index, Vertex vertex, bool by_target) const {
    return indexes_[index].rows.row(vertex, by_target);
  }
  // Fetches into caches what a search from a copy reads first: of one that is further ahead, and of a near
  // one.
  void prefetch(Row far, Row near) const {
    for (const Index& index : indexes_) {
      index.rows.prefetch(copies_.edge(far));
      index.rows.prefetch_ends(copies_.edge(near));
    }
  }
  // At least all keys of copies that came by this moment.
  std::int64_t highest(std::size_t index, Moment moment) const { return indexes_[index].highest[moment]; }
  // Integers in the order of doubles that are not NaN; -0 is 0.
  static std::int64_t in_order(std::int64_t bits);
  std::size_t bytes() const;

 private:
  struct Values {
    std::vector<std::int64_t> values;
    std::vector<std::uint8_t> missing;
    bool some_missing = false;
    bool ranked = false;
    std::vector<std::int64_t> ranks;
  };
  struct Index {
    std::size_t column;
    bool floats;
    ValueRows rows;
    std::vector<std::int64_t> highest;  // by moment
  };

  std::int64_t key(const Index& index, Row row) const;

  const Copies& copies_;
  bool directed_;
  std::vector<Values> columns_;
  std::vector<Index> indexes_;
  std::vector<Change> changes_;
  std::size_t rows_before_;
  std::vector<Moment> came_;  // by row, from rows_before_ on
  std::vector<Moment> gone_;  // by row, of copies that went in earlier calls 0; rows beyond have not gone
};

}  // namespace motiflux::dynamic
