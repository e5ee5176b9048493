// What a search reads again for each update, in shared memory: plans, names of rows, and the roots of each
// group. Acquiring an update empties the first cache, so each of them would take an access to the second one,
// after another: the root names a plan, which names rows.
//
//   | ChangingPlans | plans, each `plan_bytes` | names of rows | roots of the block's groups |
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/streaming/stream.hpp"

namespace motiflux::streaming {

struct SearchTables {
#if defined(MOTIFLUX_CHECKS_VERSIONS)
  static constexpr std::uint32_t kBytes = 6144;  // so that tests have plans without room, too
#else
  static constexpr std::uint32_t kBytes = 12288;
#endif

  match::ChangingPlans plan;
  alignas(16) unsigned char bytes[kBytes];

  // Copies the tables of a stream, by all threads of the block, of which `groups` search; the plans are as
  // the stream has them if there is no room.
  MOTIFLUX_DEVICE void copy(const Stream& stream, std::uint32_t groups) {
    const std::uint32_t plans = stream.most_roots * stream.plan_bytes;
    const auto names = static_cast<std::uint32_t>(stream.name_count * sizeof(match::PlanRows));
    const auto roots = static_cast<std::uint32_t>(groups * stream.roots_of_group * sizeof(match::UpdateRoot));
    const bool fits = std::uint64_t{plans} + names + roots <= kBytes;
    if (threadIdx.x == 0) {
      plan = stream.plan;
      if (fits) {
        plan.plans = reinterpret_cast<const match::ChangingPlan*>(bytes);
        plan.plan_bytes = stream.plan_bytes;
        plan.rows = reinterpret_cast<const match::PlanRows*>(bytes + plans);
        plan.roots = reinterpret_cast<const match::UpdateRoot*>(bytes + plans + names);
      }
    }
    if (fits) {
      for (std::uint32_t number = 0; number < stream.most_roots; ++number)
        copy_words(stream.plan.plans + number, bytes + number * stream.plan_bytes, stream.plan_bytes);
      copy_words(stream.plan.rows, bytes + plans, names);
    }
    __syncthreads();
  }

 private:
  static MOTIFLUX_DEVICE void copy_words(const void* from, unsigned char* to, std::uint32_t size) {
    for (std::uint32_t word = threadIdx.x; word < size / 4; word += blockDim.x)
      reinterpret_cast<std::uint32_t*>(to)[word] = static_cast<const std::uint32_t*>(from)[word];
  }
};

}  // namespace motiflux::streaming
