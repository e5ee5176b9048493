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
    const std::uint32_t candidate = vertex(static_cast<std::size_t>(level), value);
    const auto vertex_at = [&](std::uint32_t l) { return vertex(l, values[l]); };
    const view::StepArgs& bounds = native_plan_.plan.args.steps[level];
    if (!has_own_arcs(level)) [[likely]]
      return rules::accepts(step, bounds, native_plan_.out, native_plan_.in, candidate, vertex_at);
    if (!rules::is_distinct(step.distinct, candidate, vertex_at)) return false;
    if (step.bounds_out && native_plan_.out.degree(candidate) < bounds.min_out_degree) return false;
    if (step.bounds_in && native_plan_.in.degree(candidate) < bounds.min_in_degree) return false;
    for (const Apart& one : native_plan_.apart[static_cast<std::size_t>(level)])
      if (leads_to(one, candidate, values)) return false;
    return true;
  }

  // Whether arcs must be absent at `level` that are not all arcs of the graph.
  bool has_own_arcs(int level) const {
    return !native_plan_.apart.empty() && !native_plan_.apart[static_cast<std::size_t>(level)].empty();
  }

  // Whether one of these arcs leads to a data vertex.
  bool leads_to(const Apart& one, std::uint32_t candidate, const std::uint32_t* values) const {
    return sets::contains(row(one, values), candidate);
  }

  // The data vertices to which these arcs lead.
  sets::Span row(const Apart& one, const std::uint32_t* values) const {
    const std::uint32_t other = vertex(one.earlier, values[one.earlier]);
    return {one.rows.begin(other), one.rows.end(other)};
  }

  // Calls use(row) for each row of data vertices that the vertex of `level` must not be in.
  template <class Use>
  void rows_apart(int level, const std::uint32_t* values, Use&& use) const {
    if (has_own_arcs(level)) {
      for (const Apart& one : native_plan_.apart[static_cast<std::size_t>(level)]) use(row(one, values));
      return;
    }
    const view::StepShape& step = native_plan_.plan.shape.steps[level];
    for_each_bit(step.not_out, [&](std::uint32_t l) { use(row({l, native_plan_.out}, values)); });
    for_each_bit(step.not_in, [&](std::uint32_t l) { use(row({l, native_plan_.in}, values)); });
  }

 private:
  const NativePlan& native_plan_;
};

}  // namespace motiflux::search
