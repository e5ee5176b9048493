// Tells which rows of matches a path leads on from: its vertices are none of the row, and differ.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "rows/gather.hpp"

namespace motiflux::rows {

// Ascending neighbours of each vertex.
struct Neighbors {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> targets;

  std::span<const std::uint32_t> of(std::uint32_t vertex) const {
    return targets.subspan(offsets[vertex], offsets[vertex + 1] - offsets[vertex]);
  }
};

// A vertex whose neighbours a vertex of the path must not be among.
struct Apart {
  bool of_path;    // of the path, else of the row
  std::size_t at;  // its place in the path, which begins with 0, or its column
  Neighbors rows;
};

// One edge of the path.
struct PathStep {
  Neighbors rows;                       // by which it leads to its next vertex
  std::span<const std::uint8_t> reach;  // a byte per vertex, 1 where the rest of a path begins; empty: any
  std::vector<Apart> apart;             // of the next vertex
};

struct PathEnds {
  std::size_t start;                // the column that it begins at
  std::optional<std::size_t> end;   // the column that it ends at; none: at a new vertex
  std::vector<std::size_t> before;  // the columns that its new vertices must differ from
  bool distinct;                    // whether they must, and must differ among themselves
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Sets out[row] to 1 where there is such a path; rows of 1 are left as they are. Returns whether all rows
// were looked at before the deadline. Throws std::out_of_range for a cell that is no vertex.
[[nodiscard]] bool mark_extended(const Block& block, const PathEnds& ends, std::span<const PathStep> steps,
                                 std::uint8_t* out, const Workers& workers, Deadline deadline = {});

// The same for paths that are listed: those from vertex v are paths[offsets[v]] to paths[offsets[v + 1] - 1],
// each of `length` vertices without v, the vertex at the end among them.
void mark_extended(const Block& block, const PathEnds& ends, std::span<const std::uint64_t> offsets,
                   std::span<const std::uint32_t> paths, std::size_t length, std::uint8_t* out,
                   const Workers& workers);

}  // namespace motiflux::rows
