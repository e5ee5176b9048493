// The last phase of a count, where the number of extensions follows from the numbers of candidates: no extension is
// made. A lane counts those of one embedding.
//
// All candidates are valid but for vertices of the embedding, which are looked up in the rows. So members of a set
// have C(candidates, members) combinations, each in all of its orders; members of two sets do not compare.
#pragma once

#include "motiflux/pvm/candidates.hpp"
#include "motiflux/pvm/combinations.hpp"
#include "motiflux/pvm/units.hpp"

namespace motiflux::pvm {

inline constexpr std::uint64_t kMostOfLane = std::uint64_t{1} << 57;  // the sum of 32 lanes has 64 bits

// Candidates of a set that are not in the embedding.
MOTIFLUX_DEVICE std::uint64_t valid_candidates(const ExtendArgs& args, const Tables& tables,
                                               const CandidateSet& set, sets::Span row,
                                               std::uint64_t embedding) {
  std::uint64_t size = row.size();
  for_each_bit(set.distinct, [&](std::uint32_t column) {
    const std::uint32_t vertex = args.in.read(column, embedding);
    const bool grouped = set.label == kAnyLabel && set.ascends == 0;
    if (size != 0 && tables.contains(row, vertex, grouped)) --size;
  });
  return size;
}

template <class Shape>
MOTIFLUX_DEVICE void count_by_size(const ExtendArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  const Tables tables(args, reinterpret_cast<std::uint32_t*>(memory));
  __syncthreads();
  const Candidates candidates(args, tables);
  Units units(args.work);
  std::uint64_t counted = 0;
  for (Unit unit; units.next(unit);) {
    const std::uint64_t embedding = unit.batch * kBatch + units.warp().lane();
    std::uint64_t number = embedding < units.size() && candidates.is_root(embedding) ? 1 : 0;
#pragma unroll
    for (std::uint32_t at = 0; at < Shape::kSets; ++at) {
      if (number == 0) break;
      const CandidateSet& set = args.sets[at];
      const std::uint64_t size =
          valid_candidates(args, tables, set, candidates.of(set, embedding), embedding);
      number = multiply(number, multiply(set.orders, at == 0 ? items_of<Shape, Shape::kFirst>(size)
                                                             : items_of<Shape, Shape::kSecond>(size)));
    }
    if (number >= kMostOfLane) units.overflow();
    counted += number;
    const bool adds = counted >= kMostOfLane || args.work.limit != match::kNoLimit;
    if (units.warp().ballot(adds) != 0) {
      units.add(counted);
      counted = 0;
    }
  }
  units.finish(counted);
}

}  // namespace motiflux::pvm
