// Ends of rows: of each row, its last entries only. Neighbours ascend in a row, so the neighbours that are
// greater than the row's vertex are its end.
#pragma once

#include <cstdint>
#include <span>

#include "common/large_pages.hpp"
#include "common/parallel.hpp"

namespace motiflux::graph {

struct NeighborSpans {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> neighbors;
};

// Expected work of counts on rows of lesser and greater neighbours.
struct RowWork {
  double triangles = 0;  // the sum over all rows of lesser times greater neighbours
  double wedges = 0;     // the number of pairs of neighbours, without pairs of two lesser ones
};

// The most entries of a row.
std::uint64_t longest_row(std::span<const std::uint64_t> offsets, const Workers& workers);

// The sum of the squares of the numbers of entries.
double squares_of_rows(std::span<const std::uint64_t> offsets, const Workers& workers);

// Offsets of the rows without neighbours less than the row's vertex. Reads few entries of each row.
Unwritten<std::uint64_t> offsets_above(const NeighborSpans& rows, const Workers& workers);

// `above` are the offsets of the rows' greater neighbours. The same on any number of threads.
RowWork row_work(std::span<const std::uint64_t> offsets, std::span<const std::uint64_t> above,
                 const Workers& workers);

// The sum, over all arcs to a lesser neighbour, of that neighbour's lesser neighbours.
double lesser_of_lesser(const NeighborSpans& rows, std::span<const std::uint64_t> above,
                        const Workers& workers);

// The sum of the lengths of the neighbours' rows, over all arcs; the rows may be others than those of the
// arcs.
double lengths_of_neighbors(std::span<const std::uint32_t> neighbors, std::span<const std::uint64_t> offsets,
                            const Workers& workers);

// Fills `packed` with the entries from `first` on of rows that lie one after another, where only the last
// entries of each row are left: as many as between its two offsets in `kept`.
void pack_row_ends(const NeighborSpans& rows, std::span<const std::uint64_t> kept, std::uint64_t first,
                   std::span<std::uint32_t> packed, const Workers& workers);

}  // namespace motiflux::graph
