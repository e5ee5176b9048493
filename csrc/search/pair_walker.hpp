// Depth-first search of one thread that goes from pair to pair of data vertices, with all choices of copies.
//
// For the vertices matched so far, the search keeps every choice of copies of the edges between them. The
// next edge of a fixed order has for each choice an interval of allowed values (copies/allowed.hpp), hence a
// window of the copies of a vertex by main value. The copies in these windows are gathered by the vertex at
// their other end: so each embedding is met once, with its choices, however many they are.
//
// Where embeddings are counted, a choice is dropped if another one allows later edges all that it allows:
// for x.time < y.time < z.time, one choice of x and y is left for each three vertices, the one with the
// earliest y. The last edge is counted by the vertices in its windows; the last two, if nothing joins them
// but that their vertices differ, by the product of two such numbers (pair_walker_leaves.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "copies/allowed.hpp"
#include "copies/places.hpp"
#include "search/pair_steps.hpp"
#include "search/root_walk.hpp"
#include "search/walker.hpp"

namespace motiflux::search {

// An embedding has more choices than are kept.
class TooManyChoices : public std::runtime_error {
 public:
  TooManyChoices() : std::runtime_error("more choices of copies than are kept") {}
};

class PairWalker : public RootWalk {
 public:
  // The plan has a copy walk with an order. With `counting`, visitor.rows is not called.
  PairWalker(const NativePlan& native_plan, Visitor& visitor, bool counting);

  // Searches the embeddings that begin with the pairs of `item`; false when stopped.
  bool search(const WorkItem& item);

 private:
  using Vertex = std::uint32_t;
  using Place = copies::Place;

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kFewCopies = 8, kSelected = 256;
  static constexpr std::size_t kMostChoices = std::size_t{1} << 18;
  static constexpr std::size_t kMostEntries = std::size_t{1} << 22;

  // Choices of the copies of all edges matched so far, each a row of values.
  struct Choices {
    std::vector<std::int64_t> values;
    std::size_t size = 0;
  };
  struct Entry {  // a copy that goes with a choice
    Place place;
    std::uint32_t choice;
    std::uint32_t next;  // of the same group
  };
  struct Group {
    Vertex vertex;
    std::uint32_t first = kNone;  // of its entries
    std::uint32_t last = kNone;
    bool accepted = false;
  };
  // Numbers of the pairs of one vertex, by their places among its neighbours; all are forgotten at once.
  class Marks {
   public:
    void clear(std::size_t pairs) {
      if (marks_.size() < pairs) marks_.resize(pairs, 0);
      round_ += kRound;
      if (round_ != 0) return;
      std::fill(marks_.begin(), marks_.end(), 0);
      round_ = kRound;
    }
    bool knows(std::uint32_t pair) const { return marks_[pair] >= round_; }
    std::uint32_t of(std::uint32_t pair) const { return static_cast<std::uint32_t>(marks_[pair]); }
    void set(std::uint32_t pair, std::uint32_t number) { marks_[pair] = round_ | number; }
    // The same; whether the pair was not known, or had a smaller number.
    bool enter(std::uint32_t pair, std::uint32_t number) {
      const std::uint64_t mark = round_ | number;
      const bool fresh = marks_[pair] < mark;
      marks_[pair] = mark;
      return fresh;
    }

   private:
    static constexpr std::uint64_t kRound = std::uint64_t{1} << 32;
    std::vector<std::uint64_t> marks_;  // the round, and the number
    std::uint64_t round_ = kRound;
  };
  struct Gathered {
    Marks marks;
    std::vector<Group> groups;
    std::vector<Entry> entries;
  };
  using Filter = PairFilter;
  struct Bounds {  // what one choice allows the copies of a step
    copies::Interval main{};
    std::vector<Filter> filters;           // of other columns
    std::vector<const PairCheck*> judged;  // checks of which intervals do not say all
    bool span_is_judged = false;
  };
  // The vertices at the end of an edge that is not matched, with their choices as bits, or their numbers.
  struct Leaf {
    Marks marks;
    std::vector<Vertex> vertices;
    std::vector<std::uint64_t> choices;
  };

  struct Bits {
    std::uint64_t bits;
    std::uint64_t vertices;  // that go with these choices
  };

  // What vertices a step may lead to, with those matched so far.
  struct Admission {
    std::array<Vertex, view::kMaxLevels> apart;
    std::size_t size = 0;
    bool plain = true;  // only those apart are left out
  };

  bool search_pairs(Vertex vertex, std::uint64_t first, std::uint64_t last);
  bool begin(std::uint64_t pair);
  bool descend(std::size_t depth);
  bool extend(std::size_t depth);
  bool extend_groups(std::size_t depth);
  bool close(std::size_t depth);
  bool finish(std::size_t depth);
  bool found(Total embeddings);

  // Of the rows of a step, by place: the first and the last copies of pairs at smaller places. Numbers are
  // those of all rows, modulo 2^32. They are found late.
  struct PairEnds {
    std::vector<std::uint32_t> firsts;
    std::vector<std::uint32_t> lasts;
    std::uint64_t read = 0;  // copies of windows that they would have counted
  };
  void find_ends(const PairStep& step, PairEnds& ends);
  void mark_apart(const PairStep& step, const Admission& admission, Marks& marks, std::uint32_t number) const;
  std::optional<std::uint64_t> count_window(const PairStep& step, const Admission& admission,
                                            copies::Range row, copies::Range window, PairEnds& ends);

  bool count_leaves(std::size_t depth);
  std::optional<Total> count_windows(std::size_t depth, std::size_t at);
  // Whether two steps may lead to the same vertex, where vertices have to differ.
  bool may_meet(const PairStep& first, const PairStep& second) const {
    return (plan_.distinct[static_cast<std::size_t>(second.other)] >> first.other & 1) != 0;
  }
  bool gather_leaf(const PairStep& step, std::size_t depth, std::size_t first, std::size_t last, Leaf& leaf);
  Total product_of_leaves(const PairStep& first, const PairStep& second);
  Total pairs_of_leaves(const PairStep& first, const PairStep& second);
  template <class Each>
  Total sum_of_shared(const PairStep& first, const PairStep& second, Each&& each);

  // Of the copies of a step with one choice: the window of their main values, and what else they satisfy.
  bool bound(const PairStep& step, const std::int64_t* choice);
  copies::Range window(const PairStep& step, copies::Range row, copies::Range near) const;
  template <class Value>
  copies::Range window_of(const PairStep& step, copies::Range row, copies::Range near) const;
  bool fits(Place place) const {
    for (const Filter& filter : bounds_.filters)
      if (!is_in(filter.floats, filter.interval, filter.values[place])) return false;
    return true;
  }
  // Calls `use` with each place of a window whose copy fits. Where there are many, those that fit are
  // selected first, without branches that depend on values.
  template <class Use>
  void for_each_fitting(copies::Range window, Use&& use) const {
    if (bounds_.filters.empty() || window.size() < kFewCopies) {
      for (Place place = window.first; place < window.last; ++place)
        if (fits(place)) use(place);
      return;
    }
    std::array<std::uint16_t, kSelected> selected;
    for (Place first = window.first; first < window.last; first += kSelected) {
      std::size_t size = static_cast<std::size_t>(std::min<Place>(kSelected, window.last - first));
      for (std::size_t at = 0; at < size; ++at) selected[at] = static_cast<std::uint16_t>(at);
      for (const Filter& filter : bounds_.filters)
        size = filter.floats ? select<true>(filter, first, selected.data(), size)
                             : select<false>(filter, first, selected.data(), size);
      for (std::size_t at = 0; at < size; ++at) use(first + selected[at]);
    }
  }
  template <bool floats>
  static std::size_t select(const Filter& filter, Place first, std::uint16_t* selected, std::size_t size) {
    using Value = std::conditional_t<floats, double, std::int64_t>;
    const auto low = std::bit_cast<Value>(filter.interval.low);
    const auto high = std::bit_cast<Value>(filter.interval.high);
    std::size_t kept = 0;
    for (std::size_t at = 0; at < size; ++at) {
      const std::uint16_t one = selected[at];
      const auto value = std::bit_cast<Value>(filter.values[first + one]);
      selected[kept] = one;
      kept += static_cast<std::size_t>(static_cast<int>(low <= value) & static_cast<int>(value <= high));
    }
    return kept;
  }
  static bool is_in(bool floats, const copies::Interval& interval, std::int64_t value) {
    return !copies::less(floats, value, interval.low) && !copies::less(floats, interval.high, value);
  }
  bool is_judged(const PairStep& step) const {
    return !step.joint.empty() || !bounds_.judged.empty() || bounds_.span_is_judged;
  }
  bool judge(const PairStep& step, const std::int64_t* choice, Place place) const;
  bool holds(const PairCheck& check, const PairStep& step, const std::int64_t* choice, Place place) const;
  std::int64_t value(const PairSide& side, const PairStep& step, const std::int64_t* choice,
                     Place place) const;

  Admission admission(const PairStep& step) const;
  bool admits(const Admission& admission, const PairStep& step, Vertex vertex) {
    for (std::size_t at = 0; at < admission.size; ++at)
      if (admission.apart[at] == vertex) return false;
    return admission.plain || accepts(step, vertex);
  }
  bool accepts(int level, Vertex vertex) const;
  bool accepts(const PairStep& step, Vertex vertex);
  std::size_t pairs_of(const PairStep& step) const {
    const std::uint64_t* offsets = step.rows->offsets + value_[static_cast<std::size_t>(step.center)];
    return static_cast<std::size_t>(offsets[1] - offsets[0]);
  }
  void match(int level, Vertex vertex) {
    value_[static_cast<std::size_t>(level)] = vertex;
    levels_matched_ |= std::uint32_t{1} << level;
  }
  void unmatch(int level) { levels_matched_ &= ~(std::uint32_t{1} << level); }

  // Adds a choice of `depth` edges: the one before, of an edge less, with the copy at a place of the last
  // step. If there are too many to keep, goes on with those so far where each choice is counted; false when
  // stopped.
  bool add_choice(std::size_t depth, const std::int64_t* before, Place place) {
    Choices& choices = choices_[depth];
    const PairStep& step = plan_.steps[depth - 1];
    if (choices.size >= kMostChoices && !make_room(depth)) return false;
    const std::size_t end = (choices.size + 1) * plan_.width;
    if (choices.values.size() < end) choices.values.resize(2 * end);
    std::int64_t* values = choices.values.data() + end - plan_.width;
    for (std::size_t at = 0; at < step.first; ++at) values[at] = before[at];
    const std::int64_t own = step.columns[0][place];
    values[step.first] = own;
    for (std::size_t column = 1; column < step.columns.size(); ++column)
      values[step.first + column] = step.columns[column][place];
    if (step.spanned) {
      const copies::Span& span = compared_.network.span;
      const bool first = step.first == 0;
      values[plan_.lowest] = first || span.less(own, before[plan_.lowest]) ? own : before[plan_.lowest];
      values[plan_.highest] = first || span.less(before[plan_.highest], own) ? own : before[plan_.highest];
    }
    ++choices.size;
    return true;
  }
  bool make_room(std::size_t depth);
  void keep_best(std::size_t depth);
  const std::int64_t* choice(std::size_t depth, std::size_t at) const {
    return choices_[depth].values.data() + at * plan_.width;
  }

  const copies::Compared& compared_;
  const CopyWalk& walk_;
  const bool counting_;
  const bool every_choice_;  // choices are counted
  const PairSteps plan_;

  std::array<Vertex, view::kMaxLevels> value_{};
  std::uint32_t levels_matched_ = 0;
  std::vector<Choices> choices_;    // by edges matched
  std::vector<Gathered> gathered_;  // by step
  std::array<PairEnds, 2> ends_;    // of the last two steps
  std::array<Leaf, 2> leaves_;
  std::vector<std::uint64_t> sorted_;  // choices of a leaf
  std::array<std::vector<Bits>, 2> bits_;
  std::vector<std::int64_t> keys_;  // of keep_best
  std::vector<std::uint32_t> positions_;

  Bounds bounds_;
};

}  // namespace motiflux::search
