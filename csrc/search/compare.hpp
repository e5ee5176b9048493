// Comparing the values of different levels: data vertices, or positions in different candidate sets.
//
// `values` below are the values of the levels before `level`.
#pragma once

#include <algorithm>
#include <cstdint>

#include "motiflux/bits.hpp"
#include "motiflux/rules/candidate.hpp"
#include "motiflux/rules/order.hpp"
#include "search/native_plan.hpp"

namespace motiflux::search {

// The position of a vertex among the values of a level.
struct Place {
  std::uint64_t first_not_less;
  bool there;
};

class Compare {
 public:
  explicit Compare(const NativePlan& native_plan) : native_plan_(native_plan) {}

  // The data vertex of a value of `level`.
  std::uint32_t vertex(std::size_t level, std::uint32_t value) const {
    return native_plan_.members.empty() ? value : native_plan_.members[level][value];
  }

  // The position of the vertex of an earlier level among the values of `level`.
  Place place(int level, std::size_t earlier, const std::uint32_t* values) const {
    if (native_plan_.places.empty()) return {values[earlier], true};
    const std::size_t pair = static_cast<std::size_t>(level) * native_plan_.plan.shape.levels + earlier;
    const std::uint32_t packed = native_plan_.places[pair][values[earlier]];
    return {packed / 2, packed % 2 == 1};
  }

  // The values of `level` greater than the vertices of the levels `after` and less than the vertices of the
  // levels `before`.
  rules::Bounds bounds(int level, std::uint32_t after, std::uint32_t before,
                       const std::uint32_t* values) const {
    rules::Bounds result;
    for_each_bit(after, [&](std::uint32_t l) {
      const Place at = place(level, l, values);
      result.first = std::max(result.first, at.first_not_less + (at.there ? 1 : 0));
    });
    for_each_bit(before, [&](std::uint32_t l) {
      result.end = std::min(result.end, place(level, l, values).first_not_less);
    });
    return result;
  }

  // Whether no lower level of `levels` has the vertex of `level`.
  bool is_first(std::uint32_t levels, std::uint32_t level, const std::uint32_t* values) const {
    return rules::is_first(levels, level, [&](std::uint32_t l) { return vertex(l, values[l]); });
  }

  bool accepts(int level, std::uint32_t value, const std::uint32_t* values) const {
    const view::StepShape& step = native_plan_.plan.shape.steps[level];
    if (!rules::has_rules(step)) return true;
    return rules::accepts(step, native_plan_.plan.args.steps[level], native_plan_.out, native_plan_.in,
                          vertex(static_cast<std::size_t>(level), value),
                          [&](std::uint32_t l) { return vertex(l, values[l]); });
  }

 private:
  const NativePlan& native_plan_;
};

}  // namespace motiflux::search
