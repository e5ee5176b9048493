// Portions of a search (search/pool.hpp) from and for Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "bind_checks.hpp"
#include "search/native_plan.hpp"
#include "search/pool.hpp"

namespace motiflux {

// The fields of search::WorkItem; of the prefix, the values of the levels before.
using PyWorkItem = std::tuple<int, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                              std::vector<std::uint32_t>>;
// Items, seconds, work, rows.
using PyPortion = std::tuple<std::vector<PyWorkItem>, std::optional<double>, std::optional<std::uint64_t>,
                             std::optional<std::uint64_t>>;

inline search::WorkItem as_work_item(const search::NativePlan& plan, const PyWorkItem& given) {
  const auto& [level, from, to, arcs, first, last, prefix] = given;
  require(level >= 0 && level < static_cast<int>(plan.plan.shape.levels), "an item has a level of the plan");
  require(from <= to && (level > 0 || to <= plan.units()), "an item names units of work that are not there");
  require(first <= last && (level == 0 || plan.copy_walk || last <= plan.root_arcs()),
          "an item names root arcs that are not there");
  require(prefix.size() == static_cast<std::size_t>(level), "an item has a value for each level before");
  search::WorkItem item{.level = level, .from = from, .to = to, .arcs = arcs, .slice = {first, last}};
  for (std::size_t at = 0; at < prefix.size(); ++at) {
    require(prefix[at] < (plan.sizes.empty() ? plan.vertices : plan.sizes[at]),
            "an item has values in range");
    item.prefix[at] = prefix[at];
  }
  return item;
}

inline search::Portion as_portion(const search::NativePlan& plan, const PyPortion& given) {
  search::Portion portion{{}, std::get<1>(given), std::get<2>(given), std::get<3>(given)};
  for (const PyWorkItem& item : std::get<0>(given)) portion.items.push_back(as_work_item(plan, item));
  return portion;
}

inline nanobind::list to_python(const std::vector<search::WorkItem>& items) {
  nanobind::list list;
  for (const search::WorkItem& item : items)
    list.append(nanobind::make_tuple(
        item.level, item.from, item.to, item.arcs, item.slice.first, item.slice.last,
        std::vector<std::uint32_t>(item.prefix.begin(), item.prefix.begin() + item.level)));
  return list;
}

}  // namespace motiflux
