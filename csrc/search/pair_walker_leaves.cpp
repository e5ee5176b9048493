// Edges that a search from pair to pair counts without matching them.
//
// The last edge, where all copies in its window count: those windows that reach to the end of a row, at
// either side, have as many vertices as pairs end, or begin, in them. The last two edges, where nothing joins
// them but that their vertices differ: with one choice for the edges before them, embeddings are the product
// of the vertices that each edge leads to, less those vertices that both lead to. No vertex is looked at if
// both windows are counted so and the two edges never lead to the same vertex, as where labels differ. With
// several choices, a vertex has those that it goes with as bits, and two vertices make an embedding if they
// share one.
#include <algorithm>

#include "copies/places.hpp"
#include "search/pair_walker.hpp"

namespace motiflux::search {
namespace {

constexpr std::size_t kMostBits = 64;
constexpr std::size_t kWindowWork = 2;
constexpr std::size_t kEnteredAtOnce = 6;

}  // namespace

// Finds where pairs begin and end in the rows of a step.
void PairWalker::find_ends(const PairStep& step, PairEnds& ends) {
  const copies::CopyIndex& rows = *step.rows;
  const std::uint64_t* offsets = rows.offsets;
  const auto copies = static_cast<std::size_t>(rows.starts[offsets[native_plan_.vertices]]);
  ends.firsts.reserve(copies + 1);
  ends.lasts.assign(copies + 1, 0);
  Marks marks;
  std::uint32_t firsts = 0, lasts = 0;
  for (Vertex vertex = 0; vertex < native_plan_.vertices; ++vertex) {
    const copies::Range row = rows.row(vertex);
    marks.clear(static_cast<std::size_t>(offsets[vertex + 1] - offsets[vertex]));
    for (Place place = row.first; place < row.last; ++place) {
      const std::uint32_t pair = rows.row_pairs[place];
      ends.firsts.push_back(firsts);
      if (marks.knows(pair))
        --ends.lasts[row.first + marks.of(pair) + 1];
      else
        ++firsts;
      marks.set(pair, static_cast<std::uint32_t>(place - row.first));
      ++ends.lasts[place + 1];
    }
  }
  ends.firsts.push_back(firsts);
  for (std::uint32_t& one : ends.lasts) one = lasts += one;
}

// Marks the pairs of a row whose vertices are matched already with a number.
void PairWalker::mark_apart(const PairStep& step, const Admission& admission, Marks& marks,
                            std::uint32_t number) const {
  const std::uint64_t* offsets = step.rows->offsets + value_[static_cast<std::size_t>(step.center)];
  const std::uint32_t* begin = step.rows->neighbors + offsets[0];
  const std::uint32_t* end = step.rows->neighbors + offsets[1];
  for (std::size_t at = 0; at < admission.size; ++at) {
    const std::uint32_t* pair = std::lower_bound(begin, end, admission.apart[at]);
    if (pair != end && *pair == admission.apart[at])
      marks.set(static_cast<std::uint32_t>(pair - begin), number);
  }
}

// The vertices, or copies, of a window that has all copies within bounds on the main value; nothing if only a
// look at each copy says.
std::optional<std::uint64_t> PairWalker::count_window(const PairStep& step, const Admission& admission,
                                                      copies::Range row, copies::Range window,
                                                      PairEnds& ends) {
  if (!admission.plain || window.size() == 0) return std::nullopt;
  std::uint64_t number;
  if (every_choice_) {
    number = window.size();
  } else {
    if (window.first > row.first && window.last < row.last) return std::nullopt;
    if (ends.lasts.empty()) {
      // Finding them reads all rows: they are found once as many copies were read for lack of them.
      ends.read += window.size();
      if (ends.read < step.rows->starts[step.rows->offsets[native_plan_.vertices]]) return std::nullopt;
      find_ends(step, ends);
    }
    number = window.last == row.last ? ends.lasts[window.last] - ends.lasts[window.first]
                                     : ends.firsts[window.last] - ends.firsts[window.first];
  }
  const bool floats = step.floats[0] != 0;
  const std::int64_t* main = compared_.network.variables[static_cast<std::size_t>(step.variable)].columns[0];
  for (std::size_t at = 0; at < admission.size; ++at) {
    const copies::Range pair = step.rows->find(value_[static_cast<std::size_t>(step.center)],
                                               admission.apart[at], copies::Ranges::kNoGuess);
    const Place first = copies::bisect(pair.first, pair.last, [&](Place place) {
      return copies::less(floats, main[place], bounds_.main.low);
    });
    const Place last = copies::bisect(
        first, pair.last, [&](Place place) { return !copies::less(floats, bounds_.main.high, main[place]); });
    number -= every_choice_ ? last - first : first < last;
  }
  return number;
}

// The product of the vertices of two windows, or of their copies; nothing if only a look at each vertex says.
std::optional<Total> PairWalker::count_windows(std::size_t depth, std::size_t at) {
  const PairStep* const steps = &plan_.steps[depth];
  if (may_meet(steps[0], steps[1])) return std::nullopt;
  Total product = 1;
  for (std::size_t leaf = 0; leaf < 2; ++leaf) {
    const PairStep& step = steps[leaf];
    if (!bound(step, choice(depth, at))) return Total{0};
    if (is_judged(step) || !bounds_.filters.empty()) return std::nullopt;
    const copies::Range row = step.rows->row(value_[static_cast<std::size_t>(step.center)]);
    const copies::Range window = this->window(step, row, row);
    if (window.size() == 0) return Total{0};
    const auto number = count_window(step, admission(step), row, window, ends_[leaf]);
    if (!number) return std::nullopt;
    product *= *number;
  }
  return product;
}

bool PairWalker::count_leaves(std::size_t depth) {
  const PairStep& first = plan_.steps[depth];
  const PairStep& second = plan_.steps[depth + 1];
  const std::size_t size = choices_[depth].size;
  if (!every_choice_ && size > kMostBits) return extend(depth);
  const std::size_t together = every_choice_ ? 1 : size;
  for (std::size_t at = 0; at < size; at += together) {
    if (together == 1) {
      if (const auto product = count_windows(depth, at)) {
        if (*product > 0) visitor_.count(*product);
        if (!spend(2 * kWindowWork)) return false;
        continue;
      }
    }
    if (!gather_leaf(first, depth, at, at + together, leaves_[0])) return false;
    if (leaves_[0].vertices.empty()) continue;
    if (!gather_leaf(second, depth, at, at + together, leaves_[1])) return false;
    if (leaves_[1].vertices.empty()) continue;
    const Total product = together == 1 ? product_of_leaves(first, second) : pairs_of_leaves(first, second);
    if (product > 0) visitor_.count(product);
    if (!spend(std::min(leaves_[0].vertices.size(), leaves_[1].vertices.size()) / kEnteredAtOnce + 1))
      return false;
  }
  return true;
}

// Gathers the vertices that a step leads to with some choices; false when stopped.
bool PairWalker::gather_leaf(const PairStep& step, std::size_t depth, std::size_t first, std::size_t last,
                             Leaf& leaf) {
  leaf.marks.clear(pairs_of(step));
  leaf.vertices.clear();
  leaf.choices.clear();
  const Admission admission = this->admission(step);
  const copies::Range row = step.rows->row(value_[static_cast<std::size_t>(step.center)]);
  copies::Range near = row;
  for (std::size_t at = first; at < last; ++at) {
    const std::int64_t* before = choice(depth, at);
    if (!bound(step, before)) continue;
    near = window(step, row, near);
    const bool judged = is_judged(step);
    for_each_fitting(near, [&](Place place) {
      const Vertex other = step.rows->row_others[place];
      const std::uint32_t pair = step.rows->row_pairs[place];
      if (!leaf.marks.knows(pair)) {
        const bool admitted = admits(admission, step, other);
        leaf.marks.set(pair, admitted ? static_cast<std::uint32_t>(leaf.vertices.size()) : kNone);
        if (admitted) {
          leaf.vertices.push_back(other);
          leaf.choices.push_back(0);
        }
      }
      const std::uint32_t number = leaf.marks.of(pair);
      if (number == kNone) return;
      if (judged) {
        value_[static_cast<std::size_t>(step.other)] = other;
        if (!judge(step, before, place)) return;
      }
      if (every_choice_)
        ++leaf.choices[number];
      else
        leaf.choices[number] |= std::uint64_t{1} << (at - first);
    });
    if (!spend(kWindowWork + near.size() / kEnteredAtOnce)) return false;
  }
  return true;
}

// With one choice of the edges before: the numbers of copies, or 0 and 1, multiplied.
Total PairWalker::product_of_leaves(const PairStep& first, const PairStep& second) {
  const auto sum = [](const Leaf& leaf) {
    Total found = 0;
    for (const std::uint64_t number : leaf.choices) found += number;
    return found;
  };
  const Total shared =
      sum_of_shared(first, second, [](std::uint64_t a, std::uint64_t b) { return Total{a} * b; });
  return sum(leaves_[0]) * sum(leaves_[1]) - shared;
}

// With several choices: the pairs of vertices that go with a common one.
Total PairWalker::pairs_of_leaves(const PairStep& first, const PairStep& second) {
  for (std::size_t at = 0; at < 2; ++at) {
    bits_[at].clear();
    sorted_ = leaves_[at].choices;
    std::sort(sorted_.begin(), sorted_.end());
    for (const std::uint64_t bits : sorted_) {
      if (bits == 0) continue;
      if (bits_[at].empty() || bits_[at].back().bits != bits) bits_[at].push_back({bits, 0});
      ++bits_[at].back().vertices;
    }
  }
  Total found = 0;
  for (const Bits& a : bits_[0])
    for (const Bits& b : bits_[1])
      if ((a.bits & b.bits) != 0) found += Total{a.vertices} * b.vertices;
  return found -
         sum_of_shared(first, second, [](std::uint64_t a, std::uint64_t b) { return Total{(a & b) != 0}; });
}

// What `each` gives for the choices of vertices that both edges lead to, summed; 0 if these may be the same.
template <class Each>
Total PairWalker::sum_of_shared(const PairStep& first, const PairStep& second, Each&& each) {
  if (!may_meet(first, second)) return 0;
  const bool swapped = leaves_[1].vertices.size() < leaves_[0].vertices.size();
  const Leaf& fewer = leaves_[swapped ? 1 : 0];
  const Leaf& more = leaves_[swapped ? 0 : 1];
  const PairStep& step = swapped ? first : second;
  const std::uint64_t* offsets = step.rows->offsets + value_[static_cast<std::size_t>(step.center)];
  const std::uint32_t* begin = step.rows->neighbors + offsets[0];
  const std::uint32_t* end = step.rows->neighbors + offsets[1];
  Total found = 0;
  for (std::size_t at = 0; at < fewer.vertices.size(); ++at) {
    const std::uint32_t* pair = std::lower_bound(begin, end, fewer.vertices[at]);
    if (pair == end || *pair != fewer.vertices[at]) continue;
    const auto place = static_cast<std::uint32_t>(pair - begin);
    if (!more.marks.knows(place) || more.marks.of(place) == kNone) continue;
    found += each(fewer.choices[at], more.choices[more.marks.of(place)]);
  }
  return found;
}

}  // namespace motiflux::search
