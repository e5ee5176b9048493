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

// Assigns a vertex, and the variables that are its attributes; false if it does not fit. Who calls this puts
// the head of the state back in either case.
bool CopyWalker::match_vertex(State state, int level, Vertex vertex) {
  if (!accepts(state, level, vertex)) return false;
  state.vertices()[level] = vertex;
  state.head().levels |= std::uint32_t{1} << level;
  for (const int v : vertices_[static_cast<std::size_t>(level)]) {
    const auto at = static_cast<std::size_t>(v);
    const std::uint8_t* missing = compared_.ends[at].missing;
    if (missing && missing[vertex]) return false;
    const std::vector<const std::int64_t*>& columns = compared_.network.variables[at].columns;
    for (std::size_t column = 0; column < columns.size(); ++column)
      state.values(at)[column] = columns[column][vertex];
    if (!agrees(state, v)) return false;
    state.head().variables |= std::uint64_t{1} << v;
  }
  return true;
}

// The same for a copy of an edge between assigned vertices.
bool CopyWalker::match_edge(State state, int variable, int side, Place place) {
  const auto at = static_cast<std::size_t>(variable);
  const copies::CopyIndex& of = rows(variable, side);
  for (std::size_t column = 0; column < of.row_columns.size(); ++column)
    state.values(at)[column] = of.row_columns[column][place];
  if (!agrees(state, variable)) return false;
  State::Head& head = state.head();
  state.place(at) = place;
  head.ends = (head.ends & ~(std::uint64_t{1} << at)) | static_cast<std::uint64_t>(side) << at;
  head.variables |= std::uint64_t{1} << at;
  ++head.edges;
  return head.edges < edges_.size() || is_within_span(state);
}

// Whether the matched copies are within the span of the pattern. Bounds leave out most that are not.
bool CopyWalker::is_within_span(State state) const {
  const copies::Span& span = compared_.network.span;
  if (!span.there) return true;
  std::int64_t low = state.values(static_cast<std::size_t>(edges_[0]))[0], high = low;
  for (const int v : edges_) {
    const std::int64_t value = state.values(static_cast<std::size_t>(v))[0];
    if (span.less(value, low)) low = value;
    if (span.less(high, value)) high = value;
  }
  return span.reaches(low, high);
}

bool CopyWalker::accepts(State state, int level, Vertex vertex) const {
  const auto at = static_cast<std::size_t>(level);
  if (walk_.masks[at] && !walk_.masks[at][vertex]) return false;
  const Vertex* matched = state.vertices();
  const auto all = [&](std::uint32_t levels, auto&& fits) {
    for (std::uint32_t rest = levels & state.head().levels; rest != 0; rest &= rest - 1)
      if (!fits(matched[std::countr_zero(rest)])) return false;
    return true;
  };
  return all(distinct_[at], [&](Vertex other) { return other != vertex; }) &&
         all(smaller_[at], [&](Vertex other) { return other < vertex; }) &&
         all(greater_[at], [&](Vertex other) { return other > vertex; });
  // Degrees are not looked at: windows say more.
}

// Whether the values of a variable satisfy the comparisons with those matched before, and with itself.
bool CopyWalker::agrees(State state, int variable) const {
  for (const Check& check : checks_[static_cast<std::size_t>(variable)]) {
    if (check.other != variable && !state.has_variable(check.other)) continue;
    const copies::Comparison& one = compared_.network.comparisons[static_cast<std::size_t>(check.comparison)];
    if (!copies::holds(one, state.values(static_cast<std::size_t>(one.left))[one.left_column],
                       state.values(static_cast<std::size_t>(one.right))[one.right_column]))
      return false;
  }
  return true;
}

// Counts or passes on a choice of all copies; false when stopped.
bool CopyWalker::found(State state) {
  budget_ -= kFoundWork;
  if (counting_ && compared_.count_choices) {
    visitor_.count(1);
    return spend(1);
  }
  try {
    if (is_first(state)) {
      const Vertex* vertices = state.vertices();
      const Vertex* last = vertices + levels_ - 1;
      if (counting_)
        visitor_.count(1);
      else
        visitor_.rows(vertices, {last, last + 1});
    }
  } catch (const copies::Stopped&) {
    return false;
  }
  return spend(1);
}

// Whether the choice is the first one of its embedding.
bool CopyWalker::is_first(State state) {
  for (int level = 0; level < levels_; ++level)
    if (!ranges_.enter(level, state.vertices())) throw std::logic_error("ranges exclude a choice");
  const std::span<const copies::Range> left = ranges_.left(levels_ - 1);
  const auto is = [&](auto&& place_of) {
    return std::all_of(edges_.begin(), edges_.end(), [&](int v) {
      return place_of(static_cast<std::size_t>(v)) == place_of_pair(state, v);
    });
  };
  if (std::all_of(left.begin(), left.end(), [](const copies::Range& range) { return range.size() == 1; }))
    return true;
  if (ranges_.is_exact(levels_ - 1)) return is([&](std::size_t v) { return left[v].first; });
  copies::ChoiceList list = ranges_.list(levels_ - 1);
  return list.next() && is([&](std::size_t v) { return list.chosen()[v]; });
}

// The place of the chosen copy among those between its vertices (copies/index.hpp): copies of one main value
// have one order in both.
copies::Place CopyWalker::place_of_pair(State state, int variable) const {
  const auto at = static_cast<std::size_t>(variable);
  const copies::Compared::Ends& ends = compared_.ends[at];
  const copies::Range pair =
      ends.index.find(state.vertices()[ends.from], state.vertices()[ends.to], copies::Ranges::kNoGuess);
  const bool floats = reach_.floats(variable, 0);
  const std::int64_t value = state.values(at)[0];
  const std::int64_t* main = compared_.network.variables[at].columns[0];
  const Place first =
      bisect(pair.first, pair.last, [&](Place place) { return less(floats, main[place], value); });
  const int side = static_cast<int>(state.end(at));
  const copies::CopyIndex& of = rows(variable, side);
  const copies::Range row = of.row(vertex_at(state, variable, side));
  const Vertex other = of.row_others[state.place(at)];
  Place before = 0;
  for (Place place = state.place(at); place > row.first; --place) {
    if (less(floats, of.row_columns[0][place - 1], value)) break;
    before += of.row_others[place - 1] == other;
  }
  return first + before;
}

}  // namespace motiflux::search
