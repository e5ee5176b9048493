// Elimination phases: embeddings stay if all query edges of the phase have arcs (GENEVA, algorithm 7).
//
// A lane tests one embedding, an item of its batch. Embeddings that stay are written behind one reservation
// of the warp.
#pragma once

#include "motiflux/pvm/candidates.hpp"
#include "motiflux/pvm/units.hpp"

namespace motiflux::pvm {

template <class Args>
MOTIFLUX_DEVICE bool stays(const Args& args, const Tables<typename Args::Rows>& tables,
                           std::uint64_t embedding) {
  const InputColumns read{args.in, embedding};
  for (std::uint32_t at = 0; at < args.test_count; ++at)
    if (!tables.passes(args.tests[at], read)) return false;
  return true;
}

template <bool Writes, Pass pass = Pass::kSingle, class Args>
MOTIFLUX_DEVICE void eliminate(const Args& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  const Tables<typename Args::Rows> tables(args, reinterpret_cast<std::uint32_t*>(memory));
  __syncthreads();
  Units<pass> units(args.work);
  const Warp& warp = units.warp();
  std::uint64_t counted = 0;
  for (Unit unit; units.next(unit);) {
    units.opened(unit);
    const std::uint64_t embedding = unit.batch * kBatch + warp.lane();
    const bool mine = unit.first <= warp.lane() && warp.lane() < unit.end && embedding < units.size();
    const bool live = mine && stays(args, tables, embedding);
    if constexpr (pass == Pass::kMeasure) {
      units.measured(unit, live ? 1 : 0);
    } else if constexpr (!Writes) {
      counted += live ? 1 : 0;
      if (args.work.limit != match::kNoLimit) {
        units.add(counted);
        counted = 0;
      }
    } else {
      const std::uint32_t staying = warp.ballot(live);
      std::uint64_t place = 0;
      if (staying == 0) continue;
      if constexpr (pass == Pass::kPlace) units.begin_placed(unit);
      if (!units.reserve(count_bits(staying), args.out.capacity, place)) {
        units.park(unit, unit.first, unit.end < kBatch ? unit.end : kBatch);
        break;
      }
      place += count_bits(staying & bits_below(warp.lane()));
      if (live)
        for (std::uint32_t column = 0; column < args.kept_count; ++column)
          args.out.words[column * args.out.capacity + place] = args.in.read(args.kept[column], embedding);
    }
  }
  units.finish(counted);
}

}  // namespace motiflux::pvm
