// Functions shared by the files that count nested tails.
#pragma once

#include <array>

#include "motiflux/bits.hpp"
#include "search/nested_tail.hpp"
#include "search/walker.hpp"

namespace motiflux::search {

inline void add(Total& sum, const Total& more) {
  if (__builtin_add_overflow(sum, more, &sum)) throw Overflow();
}
inline void add(Wide& sum, const Wide& more) {
  sum += more;
}

// Matches `level` with each of its candidates in turn.
template <class Visit>
void NestedTailCounter::for_each_candidate(int level, std::uint32_t apart, Visit&& visit) {
  sets::Span open = walker_.clipped(level);
  if (!walker_.spend(open.size() + 1)) throw Stopped();
  for_each_open(level, apart, open, visit);
}

template <class Visit>
void NestedTailCounter::for_each_open(int level, std::uint32_t apart, sets::Span& open, Visit&& visit) {
  const NativePlan& native_plan = walker_.native_plan_;
  const view::StepShape& step = native_plan.plan.shape.steps[level];
  const view::StepArgs& bounds = native_plan.plan.args.steps[level];
  std::array<Vertex, view::kMaxLevels> excluded;
  std::size_t exclusions = 0;
  for_each_bit(apart, [&](std::uint32_t other) {
    const Place at = walker_.compare_.place(level, other, walker_.value_.data());
    if (at.there) excluded[exclusions++] = static_cast<Vertex>(at.first_not_less);
  });
  const Vertex* const start = open.first;
  const std::size_t size = open.size();
  walker_.begin_level(level);
  while (open.first != open.last) {
    const Vertex value = *open.first++;
    bool taken = false;
    for (std::size_t at = 0; at < exclusions; ++at) taken |= excluded[at] == value;
    if (taken) continue;
    if (step.bounds_out || step.bounds_in) {
      const Vertex vertex = walker_.compare_.vertex(static_cast<std::size_t>(level), value);
      if (step.bounds_out && native_plan.out.degree(vertex) < bounds.min_out_degree) continue;
      if (step.bounds_in && native_plan.in.degree(vertex) < bounds.min_in_degree) continue;
    }
    walker_.begin_candidate(level);
    walker_.assign(level, value);
    try {
      visit(value);
    } catch (const Stopped&) {
      walker_.stop_at(level, static_cast<std::size_t>(open.first - 1 - start), size);
      throw;
    }
  }
}

}  // namespace motiflux::search
