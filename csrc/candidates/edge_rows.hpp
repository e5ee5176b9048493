// The arcs between the candidates of two query vertices, as rows from both ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::candidates {

// Rows that somebody keeps; without offsets: not made.
struct RowsView {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> neighbors;
};

struct Rows {
  std::vector<std::uint64_t> offsets;    // empty: not made
  std::vector<std::uint32_t> neighbors;  // ascending in each row

  std::uint64_t degree(std::uint64_t start) const { return offsets[start + 1] - offsets[start]; }
  RowsView view() const { return {offsets, neighbors}; }
};

struct EdgeRows {
  std::uint32_t source;
  std::uint32_t target;
  std::uint64_t arcs = 0;
  Rows forward;  // from the source's candidates
  Rows backward;
};

// The same arcs from the other end, which has `starts` candidates.
Rows turned(const RowsView& rows, std::size_t starts, const Workers& workers);

}  // namespace motiflux::candidates
