// Rows of all partitions by new ids (interval-PCSR), ready to be copied to a device one partition at a time.
//
//   firsts       3  9              ids 3, 4, 9, 10 and 11 have rows
//   rows_before  0  2  5
//   offsets      0  2  3  6  7  9  relative to the partition's first arc
//   neighbors    graph ids: by label of the vertex if rows have groups, ascending within a label
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/large_pages.hpp"
#include "pcsr/membership.hpp"

namespace motiflux::pcsr {

// For partition p: rows first_row[p] .. first_row[p + 1], and so on. It has one number more than rows in
// offsets, and one more than intervals in rows_before: p numbers of the partitions before it.
struct IntervalRows {
  std::vector<std::uint64_t> first_row, first_arc, first_interval;  // [partitions + 1]
  std::vector<std::uint32_t> firsts, rows_before;
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint64_t> wide_offsets;  // instead of `offsets`, if 32 bits are not enough
  Unwritten<std::uint32_t> neighbors{0};
};

// `renamed` holds the new id of each vertex. Offsets are wide if a partition has more than `most_arcs`.
IntervalRows interval_rows(const Division& division, const Membership& membership,
                           std::span<const std::uint32_t> renamed, std::uint64_t most_arcs,
                           const Workers& workers);

}  // namespace motiflux::pcsr
