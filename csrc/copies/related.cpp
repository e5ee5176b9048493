#include "copies/related.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace motiflux::copies {

RelatedRows::RelatedRows(const Comparison& comparison, bool left, ValuedRows held)
    : comparison_(comparison), left_(left), ascends_(!left && comparison.rises()), held_(held) {}

Total RelatedRows::count(const ValuedRows& others, std::span<const SameCell> same) {
  std::vector<std::size_t> columns;
  for (const SameCell& one : same) columns.push_back(one.held);
  const Sorted& rows = sorted(columns);
  std::vector<std::uint32_t> key(same.size());
  Total total = 0;
  for (std::size_t at = 0; at < others.size(); ++at) {
    for (std::size_t column = 0; column < same.size(); ++column)
      key[column] = others.row(at)[same[column].other];
    total += related(run(rows, key), others.values[at]);
  }
  return total;
}

const RelatedRows::Sorted& RelatedRows::sorted(const std::vector<std::size_t>& columns) {
  const auto [found, made] = sorted_.try_emplace(columns);
  if (!made) return found->second;
  std::vector<std::size_t> order(held_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto less = [&](std::int64_t a, std::int64_t b) {
    return comparison_.floats ? std::bit_cast<double>(a) < std::bit_cast<double>(b) : a < b;
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    for (const std::size_t column : columns)
      if (held_.row(a)[column] != held_.row(b)[column]) return held_.row(a)[column] < held_.row(b)[column];
    return less(held_.values[a], held_.values[b]);
  });
  Sorted& rows = found->second;
  rows.keys.reserve(order.size() * columns.size());
  rows.values.reserve(order.size());
  for (const std::size_t at : order) {
    for (const std::size_t column : columns) rows.keys.push_back(held_.row(at)[column]);
    rows.values.push_back(held_.values[at]);
  }
  return rows;
}

RelatedRows::Run RelatedRows::run(const Sorted& rows, std::span<const std::uint32_t> key) const {
  if (key.empty()) return rows.values;
  const auto compared_key = [&](std::size_t at) {  // below 0: before the run, above 0: behind it
    const std::uint32_t* const own = rows.keys.data() + at * key.size();
    for (std::size_t column = 0; column < key.size(); ++column)
      if (own[column] != key[column]) return own[column] < key[column] ? -1 : 1;
    return 0;
  };
  const auto end_of = [&](std::size_t first, const auto& is_before) {
    std::size_t last = rows.values.size();
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      is_before(compared_key(middle)) ? first = middle + 1 : last = middle;
    }
    return first;
  };
  const std::size_t first = end_of(0, [](int order) { return order < 0; });
  if (first == rows.values.size() || compared_key(first) != 0) return {};
  const std::size_t last = end_of(first, [](int order) { return order <= 0; });
  return Run(rows.values).subspan(first, last - first);
}

std::size_t RelatedRows::related(Run values, std::int64_t other) const {
  switch (comparison_.op) {
    case Operator::kEqual:
      return related(Operator::kAtMost, values, other) - related(Operator::kLess, values, other);
    case Operator::kUnequal:
      return values.size() - related(Operator::kAtMost, values, other) +
             related(Operator::kLess, values, other);
    default:
      return related(comparison_.op, values, other);
  }
}

std::size_t RelatedRows::related(Operator op, Run values, std::int64_t other) const {
  const auto fits = [&](std::int64_t value) {
    return left_ ? holds(comparison_, op, value, other) : holds(comparison_, op, other, value);
  };
  const bool at_end = ascends_ == (op == Operator::kLess || op == Operator::kAtMost);
  const auto change = std::partition_point(values.begin(), values.end(),
                                           [&](std::int64_t value) { return fits(value) != at_end; });
  const auto before = static_cast<std::size_t>(change - values.begin());
  return at_end ? values.size() - before : before;
}

}  // namespace motiflux::copies
