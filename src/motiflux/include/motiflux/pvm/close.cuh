// The last phase of a count, where the number of extensions follows from the numbers of candidates: no
// extension is made. A lane counts those of one embedding.
//
// All candidates are valid but for vertices of the embedding, which are looked up in the rows. So members of
// a set have C(candidates, members) combinations, each in all of its orders; members of two sets do not
// compare.
#pragma once

#include "motiflux/pvm/candidates.hpp"
#include "motiflux/pvm/units.hpp"

namespace motiflux::pvm {

template <class Args>
MOTIFLUX_DEVICE void count_by_size(const Args& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  const Tables<typename Args::Rows> tables(args, reinterpret_cast<std::uint32_t*>(memory));
  __syncthreads();
  Units<> units(args.work);
  std::uint64_t counted = 0;
  for (Unit unit; units.next(unit);) {
    units.opened(unit);
    const std::uint64_t embedding = unit.batch * kBatch + units.warp().lane();
    std::uint64_t number = 0;
    if (embedding < units.size() && is_root(args, embedding))
      number =
          extensions(tables, args.sets, args.set_count, args.tuples != 0, InputColumns{args.in, embedding});
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
