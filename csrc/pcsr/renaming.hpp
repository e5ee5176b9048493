// Algorithm 2 of GENEVA: new ids under which the vertices of each partition form few intervals.
//
//   partitions   0: a b c d e f      share sets   {0, 1, 2}: b f   {0, 1}: a   {0}: c d e   {1, 2}: g
//                1: a b f g
//                2: b f g            new ids      b f | a | c d e | g
//
// Vertices of one share set (the partitions that have them) are a sub-partition and get consecutive ids. The
// partition with the most vertices left is taken first; its sub-partitions follow each other so that
// neighbours in the order have many partitions in common. Vertices of no partition get the last ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::pcsr {

// Steps of comparisons that order sub-partitions as the paper says; those left beyond it are in the order of
// a reflected Gray code, which takes as long as sorting.
inline constexpr std::uint64_t kComparedSteps = std::uint64_t{1} << 27;

// New id of each vertex. Partitions of vertex v are partitions[offsets[v] .. offsets[v + 1]), ascending and
// below `count`. Takes time linear in their number, but for ordering the sub-partitions: sorting them, and at
// most `steps`.
std::vector<std::uint32_t> rename(std::span<const std::uint64_t> offsets,
                                  std::span<const std::uint32_t> partitions, std::uint32_t count,
                                  std::uint64_t steps, const Workers& workers);

}  // namespace motiflux::pcsr
