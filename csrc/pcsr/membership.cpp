#include "pcsr/membership.hpp"

#include <algorithm>

namespace motiflux::pcsr {
Membership collect(const Division& division, const Workers& workers) {
  Membership found;
  const std::size_t vertices = division.vertices();
  found.offsets.reserve(vertices + 1);
  found.offsets.push_back(0);
  std::vector<std::uint32_t> counts(division.partitions(), 0), touched;
  for (std::size_t v = 0; v < vertices; ++v) {
    if (v % kVerticesPerCheck == 0) workers.check();
    touched.clear();
    for (std::size_t direction = 0; direction < division.directions.size(); ++direction) {
      const auto offsets = division.directions[direction].offsets;
      for (std::uint64_t arc = offsets[v]; arc < offsets[v + 1]; ++arc) {
        const std::uint32_t partition = division.partition_of(direction, arc);
        if (counts[partition]++ == 0) touched.push_back(partition);
      }
    }
    std::sort(touched.begin(), touched.end());
    for (const std::uint32_t partition : touched) {
      found.partitions.push_back(partition);
      found.arcs.push_back(counts[partition]);
      counts[partition] = 0;
    }
    found.offsets.push_back(found.partitions.size());
  }
  return found;
}

}  // namespace motiflux::pcsr
