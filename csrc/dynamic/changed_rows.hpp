// What a run changes in rows of a device, for the kernels that write these rows
// (motiflux/changing/write_rows.cuh): planned from the ends of the run, slice by slice, on several threads.
//
//   ends, by vertex    | slice 0 | slice 1 | ...      all ends of a vertex are in one slice
//   measure()          sums of each slice             for allocating memory, and for the place of each slice
//   write()            changes, their moments, touched rows, pieces of both kernels, net updates: one block
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynamic/graph_reader.hpp"
#include "dynamic/run_matcher.hpp"

namespace motiflux::dynamic {

// The entries that rows hold.
struct RowKind {
  Way way;
  bool directed;                          // the graph
  std::span<const std::uint8_t> accepts;  // by class; empty: all
  bool mixes;                             // ends of a vertex come class by class, or way by way
  bool packed = false;                    // a packed memory array, which needs net updates
};

// The entries that a row on a device gets room for.
inline std::uint64_t room_of(std::uint64_t size) {
  return size + size / 4 + 4;
}

// Where rows are, by vertex: addresses, entries held, and entries that there is room for.
struct PlacesOfRows {
  std::span<std::uint64_t> address;
  std::span<std::int64_t> size, capacity;
  OwnRows
      own{};  // unless `rows` is null, the rows are these: the monitor writes them, and they have their room
};

class ChangedRows {
 public:
  struct Sums {
    std::uint64_t changes = 0, rows = 0;
    std::uint64_t entries = 0;              // of touched rows, with all entries of the run
    std::uint64_t growth = 0;               // entries after the run less those before it, modulo 2^64
    std::uint64_t room = 0;                 // that rows which outgrow their places get
    std::uint64_t merged = 0, settled = 0;  // pieces
    std::uint64_t updates = 0;  // insertions and deletions that the run leaves; packed arrays only
    std::uint64_t inserts = 0;

    Sums& operator+=(const Sums& other);
  };
  // Offsets in the block that write() fills.
  struct Layout {
    std::uint64_t moments = 0, touched = 0, merged = 0, settled = 0, updates = 0, size = 0;
  };
  struct Destination {
    std::byte* block;       // here; Layout::size bytes
    std::uint64_t address;  // on the device
    std::uint64_t memory;   // on the device, of the run: memory_size() bytes
    std::uint64_t room;     // on the device, for rows that outgrow their places
  };

  // Measures; `piece`: entries that a warp moves at a time. Throws Stopped if `watch` says so.
  ChangedRows(std::shared_ptr<const Run> run, const RowKind& kind, const PlacesOfRows& places,
              std::uint32_t piece, Watch& watch);

  const Sums& sums() const { return sums_; }
  const Layout& layout() const { return layout_; }
  std::uint64_t longest() const { return longest_; }  // with all entries of the run
  std::uint64_t memory_size() const;
  // Fills the block, once, and notes in `places` where the rows are after the run.
  void write(const Destination& to, const PlacesOfRows& places, Watch& watch);

 private:
  struct Row;
  struct Slice {
    std::span<const RunEnd> ends;
    std::vector<RunEnd> own;  // the ends, if they are not those of the run as they are
    Sums sums;                // of the slice; then of all slices before
    std::uint64_t longest = 0;
  };

  void cut_ends();
  void select(Slice& slice, const RowKind& kind) const;
  template <class Visit>
  void for_each_net_change(const Row& row, Visit&& visit) const;
  std::uint32_t words_of_moments() const { return brings_ ? 3 : 2; }
  std::uint64_t brought(const Row& row) const;
  void measure(Slice& slice, const PlacesOfRows& places) const;
  void write(const Slice& slice, const Destination& to, const PlacesOfRows& places) const;
  template <class Visit>
  static void for_each_row(std::span<const RunEnd> ends, Visit&& visit);

  std::shared_ptr<const Run> run_;
  std::uint32_t piece_;
  bool packed_;
  bool brings_;  // the rows have all entries of the run already
  std::vector<Slice> slices_;
  Sums sums_;
  Layout layout_;
  std::uint64_t longest_ = 0;
};

}  // namespace motiflux::dynamic
