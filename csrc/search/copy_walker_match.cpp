// Vertices and copies that a search from copy to copy matches, and the choices that it finds.
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "copies/places.hpp"
#include "search/copy_walker.hpp"

namespace motiflux::search {
namespace {

using copies::bisect;
using copies::less;

// What passing on or comparing an embedding takes.
constexpr std::size_t kFoundWork = 16;

}  // namespace

// Assigns a vertex, and the variables that are its attributes; false if it does not fit. What was assigned is
// undone by `unmatch` in either case.
bool CopyWalker::match_vertex(int level, Vertex vertex) {
  if (!accepts(level, vertex)) return false;
  value_[static_cast<std::size_t>(level)] = vertex;
  levels_matched_ |= std::uint32_t{1} << level;
  for (const int v : vertices_[static_cast<std::size_t>(level)]) {
    const auto at = static_cast<std::size_t>(v);
    const std::uint8_t* missing = compared_.ends[at].missing;
    if (missing && missing[vertex]) return false;
    const std::vector<const std::int64_t*>& columns = compared_.network.variables[at].columns;
    for (std::size_t column = 0; column < columns.size(); ++column)
      values(v)[column] = columns[column][vertex];
    if (!agrees(v)) return false;
    order_.push_back(v);
    matched_[at] = 1;
  }
  return true;
}

// The same for a copy of an edge between assigned vertices.
bool CopyWalker::match_edge(int variable, int side, Place place) {
  const auto at = static_cast<std::size_t>(variable);
  const copies::CopyIndex& rows = *walk_.edges[at].rows[side];
  for (std::size_t column = 0; column < rows.row_columns.size(); ++column)
    values(variable)[column] = rows.row_columns[column][place];
  if (!agrees(variable)) return false;
  const copies::Span& span = compared_.network.span;
  if (span.there) {
    std::int64_t low = values(variable)[0], high = low;
    for (const int v : order_) {
      if (compared_.network.variables[static_cast<std::size_t>(v)].is_vertex) continue;
      const std::int64_t value = values(v)[0];
      if (span.less(value, low)) low = value;
      if (span.less(high, value)) high = value;
    }
    if (!span.reaches(low, high)) return false;
  }
  place_[at] = place;
  side_[at] = side;
  order_.push_back(variable);
  matched_[at] = 1;
  ++edges_matched_;
  return true;
}

void CopyWalker::unmatch(std::size_t variables, std::uint32_t levels) {
  for (; order_.size() > variables; order_.pop_back()) {
    const auto at = static_cast<std::size_t>(order_.back());
    matched_[at] = 0;
    if (!compared_.network.variables[at].is_vertex) --edges_matched_;
  }
  levels_matched_ = levels;
}

bool CopyWalker::accepts(int level, Vertex vertex) const {
  const auto at = static_cast<std::size_t>(level);
  if (walk_.masks[at] && !walk_.masks[at][vertex]) return false;
  const auto none = [&](std::uint32_t levels, auto&& fits) {
    for (std::uint32_t rest = levels & levels_matched_; rest != 0; rest &= rest - 1)
      if (!fits(value_[static_cast<std::size_t>(std::countr_zero(rest))])) return false;
    return true;
  };
  if (!none(distinct_[at], [&](Vertex other) { return other != vertex; }) ||
      !none(smaller_[at], [&](Vertex other) { return other < vertex; }) ||
      !none(greater_[at], [&](Vertex other) { return other > vertex; }))
    return false;
  return true;  // degrees are not looked at: windows say more
}

// Whether the values of a variable satisfy the comparisons with those matched before, and with itself.
bool CopyWalker::agrees(int variable) const {
  for (const Check& check : checks_[static_cast<std::size_t>(variable)]) {
    if (check.other != variable && !matched_[static_cast<std::size_t>(check.other)]) continue;
    const copies::Comparison& one = compared_.network.comparisons[static_cast<std::size_t>(check.comparison)];
    if (!copies::holds(one, values(one.left)[one.left_column], values(one.right)[one.right_column]))
      return false;
  }
  return true;
}

// Counts or passes on a choice of all copies; false when stopped.
bool CopyWalker::found() {
  budget_ -= kFoundWork;
  if (counting_ && compared_.count_choices) {
    visitor_.count(1);
    return spend(1);
  }
  try {
    if (is_first()) {
      const Vertex* last = value_.data() + levels_ - 1;
      if (counting_)
        visitor_.count(1);
      else
        visitor_.rows(value_.data(), {last, last + 1});
    }
  } catch (const copies::Stopped&) {
    return false;
  }
  return spend(1);
}

// Whether the choice is the first one of its embedding.
bool CopyWalker::is_first() {
  for (int level = 0; level < levels_; ++level)
    if (!ranges_.enter(level, value_.data())) throw std::logic_error("ranges exclude a choice");
  const std::span<const copies::Range> left = ranges_.left(levels_ - 1);
  const auto is = [&](auto&& place_of) {
    return std::all_of(edges_.begin(), edges_.end(),
                       [&](int v) { return place_of(static_cast<std::size_t>(v)) == place_of_pair(v); });
  };
  if (std::all_of(left.begin(), left.end(), [](const copies::Range& range) { return range.size() == 1; }))
    return true;
  if (ranges_.is_exact(levels_ - 1)) return is([&](std::size_t v) { return left[v].first; });
  copies::ChoiceList list = ranges_.list(levels_ - 1);
  return list.next() && is([&](std::size_t v) { return list.chosen()[v]; });
}

// The place of the chosen copy among those between its vertices (copies/index.hpp): copies of one main value
// have one order in both.
copies::Place CopyWalker::place_of_pair(int variable) const {
  const auto at = static_cast<std::size_t>(variable);
  const copies::Compared::Ends& ends = compared_.ends[at];
  const copies::Range pair =
      ends.index.find(value_[static_cast<std::size_t>(ends.from)], value_[static_cast<std::size_t>(ends.to)],
                      copies::Ranges::kNoGuess);
  const bool floats = reach_.floats(variable, 0);
  const std::int64_t value = values(variable)[0];
  const std::int64_t* main = compared_.network.variables[at].columns[0];
  const Place first =
      bisect(pair.first, pair.last, [&](Place place) { return less(floats, main[place], value); });
  const copies::CopyIndex& rows = *walk_.edges[at].rows[side_[at]];
  const Vertex own = value_[static_cast<std::size_t>(walk_.edges[at].ends[side_[at]])];
  const Vertex other = rows.row_others[place_[at]];
  Place before = 0;
  for (Place place = place_[at]; place > rows.row(own).first; --place) {
    if (less(floats, rows.row_columns[0][place - 1], value)) break;
    before += rows.row_others[place - 1] == other;
  }
  return first + before;
}

}  // namespace motiflux::search
