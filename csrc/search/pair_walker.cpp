#include "search/pair_walker.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "copies/places.hpp"

namespace motiflux::search {
namespace {

// What is done in the time in which a Walker looks at a candidate: copies that are read, and copies that are
// entered in groups.
constexpr std::size_t kReadAtOnce = 16;
constexpr std::size_t kEnteredAtOnce = 3;

// What finding a window takes, and beginning with a pair.
constexpr std::size_t kWindowWork = 2;

}  // namespace

PairWalker::PairWalker(const NativePlan& native_plan, Visitor& visitor, bool counting)
    : RootWalk(native_plan, visitor),
      compared_(*native_plan.compared),
      walk_(*native_plan.copy_walk),
      counting_(counting),
      every_choice_(counting && native_plan.compared->count_choices),
      plan_(native_plan, *native_plan.copy_walk),
      choices_(plan_.steps.size() + 1),
      gathered_(plan_.steps.size()) {
  choices_[0].values.assign(plan_.width, 0);
  choices_[0].size = 1;
}

bool PairWalker::search(const WorkItem& item) {
  begin_item(item);
  const std::uint64_t* offsets = walk_.root_rows().offsets;
  auto vertex = static_cast<Vertex>(std::upper_bound(offsets, offsets + native_plan_.vertices + 1, next_) -
                                    offsets - 1);
  for (; next_ < last_; ++vertex)
    if (offsets[vertex + 1] > next_ && !search_pairs(vertex, next_, offsets[vertex + 1])) return false;
  return true;
}

// Searches from pairs of one vertex, as far as they are in the item.
bool PairWalker::search_pairs(Vertex vertex, std::uint64_t first, std::uint64_t last) {
  const PairStep& step = plan_.steps[0];
  bool more = spend(1);
  levels_matched_ = 0;
  value_[static_cast<std::size_t>(step.center)] = vertex;
  const bool fits = std::none_of(plan_.missing_first.begin(), plan_.missing_first.end(),
                                 [&](const std::uint8_t* missing) { return missing[vertex] != 0; }) &&
                    accepts(step.center, vertex) &&
                    std::all_of(plan_.of_first.begin(), plan_.of_first.end(),
                                [&](const PairCheck& check) { return holds(check, step, nullptr, 0); });
  if (!fits) {
    next_ = std::min(last, last_);
    return more;
  }
  match(step.center, vertex);
  for (next_ = first; more && next_ < std::min(last, last_);) more = begin(next_++) && spend(1);
  return more;
}

// Searches from one pair: the choices are its copies.
bool PairWalker::begin(std::uint64_t pair) {
  const PairStep& step = plan_.steps[0];
  const copies::CopyIndex& rows = walk_.root_rows();
  const Vertex other = rows.neighbors[pair];
  if (step.closes ? other != value_[static_cast<std::size_t>(step.center)] : !accepts(step, other))
    return true;
  if (!step.closes) match(step.other, other);
  choices_[1].size = 0;
  if (bound(step, choice(0, 0))) {
    const bool judged = is_judged(step);
    for (Place place = rows.starts[pair]; place < rows.starts[pair + 1]; ++place)
      if ((step.tests.empty() ||
           (is_in(step.floats[0] != 0, bounds_.main, step.columns[0][place]) && fits(place))) &&
          (!judged || judge(step, choice(0, 0), place)) && !add_choice(1, choice(0, 0), place))
        return false;
  }
  const bool more = choices_[1].size == 0 || descend(1);
  if (!step.closes) unmatch(step.other);
  return more;
}

// Goes on from `depth` matched edges and their choices; false when stopped.
bool PairWalker::descend(std::size_t depth) {
  if (depth == plan_.steps.size()) return found(every_choice_ ? choices_[depth].size : 1);
  keep_best(depth);
  if (plan_.steps[depth].closes) return close(depth);
  if (depth + 1 == plan_.steps.size()) return finish(depth);
  if (plan_.two_leaves && counting_ && depth + 2 == plan_.steps.size()) return count_leaves(depth);
  return extend(depth);
}

// Gathers the copies in the windows of all choices by the vertices that they lead to, and goes on with each.
bool PairWalker::extend(std::size_t depth) {
  const PairStep& step = plan_.steps[depth];
  Gathered& gathered = gathered_[depth];
  gathered.marks.clear(pairs_of(step));
  gathered.groups.clear();
  gathered.entries.clear();
  const Admission admission = this->admission(step);
  const copies::Range row = step.rows->row(value_[static_cast<std::size_t>(step.center)]);
  copies::Range near = row;
  for (std::size_t at = 0; at < choices_[depth].size; ++at) {
    const std::int64_t* before = choice(depth, at);
    if (!bound(step, before)) continue;
    near = window(step, row, near);
    const std::size_t entered = gathered.entries.size();
    const bool judged = is_judged(step);
    for_each_fitting(near, [&](Place place) {
      const Vertex other = step.rows->row_others[place];
      const std::uint32_t pair = step.rows->row_pairs[place];
      if (!gathered.marks.knows(pair)) {
        gathered.marks.set(pair, static_cast<std::uint32_t>(gathered.groups.size()));
        gathered.groups.push_back({other, kNone, kNone, admits(admission, step, other)});
      }
      Group& group = gathered.groups[gathered.marks.of(pair)];
      if (!group.accepted) return;
      value_[static_cast<std::size_t>(step.other)] = other;
      if (judged && !judge(step, before, place)) return;
      const auto entry = static_cast<std::uint32_t>(gathered.entries.size());
      gathered.entries.push_back({place, static_cast<std::uint32_t>(at), kNone});
      (group.first == kNone ? group.first : gathered.entries[group.last].next) = entry;
      group.last = entry;
    });
    if (!spend(kWindowWork + near.size() / kReadAtOnce +
               (gathered.entries.size() - entered) / kEnteredAtOnce))
      return false;
    if (gathered.entries.size() > kMostEntries) {
      if (!every_choice_) throw TooManyChoices();
      if (!extend_groups(depth)) return false;
      gathered.marks.clear(pairs_of(step));
      gathered.groups.clear();
      gathered.entries.clear();
    }
  }
  return extend_groups(depth);
}

// Goes on with each vertex of those gathered, and its choices.
bool PairWalker::extend_groups(std::size_t depth) {
  const PairStep& step = plan_.steps[depth];
  const Gathered& gathered = gathered_[depth];
  bool more = true;
  for (std::size_t at = 0; at < gathered.groups.size() && more; ++at) {
    const Group& group = gathered.groups[at];
    if (group.first == kNone) continue;
    match(step.other, group.vertex);
    choices_[depth + 1].size = 0;
    for (std::uint32_t at_entry = group.first; at_entry != kNone && more;) {
      const Entry& entry = gathered.entries[at_entry];
      more = add_choice(depth + 1, choice(depth, entry.choice), entry.place);
      at_entry = entry.next;
    }
    more = more && descend(depth + 1) && spend(1);
    unmatch(step.other);
  }
  return more;
}

// Finds the copies between two matched vertices.
bool PairWalker::close(std::size_t depth) {
  const PairStep& step = plan_.steps[depth];
  const copies::Compared::Ends& ends = compared_.ends[static_cast<std::size_t>(step.variable)];
  const copies::Range pair =
      ends.index.find(value_[static_cast<std::size_t>(ends.from)], value_[static_cast<std::size_t>(ends.to)],
                      copies::Ranges::kNoGuess);
  choices_[depth + 1].size = 0;
  const bool one_only = depth + 1 == plan_.steps.size() && !every_choice_;
  for (std::size_t at = 0; at < choices_[depth].size && pair.size() > 0; ++at) {
    const std::int64_t* before = choice(depth, at);
    if (!bound(step, before)) continue;
    const bool judged = is_judged(step), floats = step.floats[0] != 0;
    const std::int64_t* main = step.columns[0];
    Place place = copies::bisect(
        pair.first, pair.last, [&](Place one) { return copies::less(floats, main[one], bounds_.main.low); });
    for (; place < pair.last && !copies::less(floats, bounds_.main.high, main[place]); ++place) {
      if (!fits(place) || (judged && !judge(step, before, place))) continue;
      if (one_only) return found(1);
      if (!add_choice(depth + 1, before, place)) return false;
    }
    if (!spend(kWindowWork)) return false;
  }
  if (!spend(kWindowWork)) return false;
  return choices_[depth + 1].size == 0 || descend(depth + 1);
}

// Counts or lists the vertices that the last edge leads to.
bool PairWalker::finish(std::size_t depth) {
  const PairStep& step = plan_.steps[depth];
  Marks& marks = gathered_[depth].marks;
  marks.clear(pairs_of(step));
  const Admission admission = this->admission(step);
  const auto level = static_cast<std::size_t>(step.other);
  const copies::Range row = step.rows->row(value_[static_cast<std::size_t>(step.center)]);
  copies::Range near = row;
  bool apart_marked = false;
  // A pair is open if no copy of it was right yet: bounds may be exact for one choice, and judge for another.
  constexpr std::uint32_t kOpen = 0, kFound = 1, kNever = 2;
  for (std::size_t at = 0; at < choices_[depth].size; ++at) {
    const std::int64_t* before = choice(depth, at);
    if (!bound(step, before)) continue;
    near = window(step, row, near);
    if (near.size() == 0) {
      if (!spend(kWindowWork)) return false;
      continue;
    }
    const bool judged = is_judged(step);
    if (counting_ && walk_.leaves > 0 && !judged && bounds_.filters.empty() &&
        (every_choice_ || choices_[depth].size == 1)) {
      if (const auto number = count_window(step, admission, row, near, ends_[1])) {
        if (*number > 0) visitor_.count(*number);
        if (!spend(kWindowWork)) return false;
        continue;
      }
    }
    std::uint64_t embeddings = 0;
    if (counting_ && !every_choice_ && !judged && admission.plain && near.size() >= kFewCopies) {
      if (!std::exchange(apart_marked, true)) mark_apart(step, admission, marks, kNever);
      for_each_fitting(near,
                       [&](Place place) { embeddings += marks.enter(step.rows->row_pairs[place], kFound); });
      if (embeddings > 0) visitor_.count(embeddings);
      if (!spend(kWindowWork + near.size() / kReadAtOnce)) return false;
      continue;
    }
    if (counting_ && !every_choice_ && !judged) {
      for_each_fitting(near, [&](Place place) {
        const std::uint32_t pair = step.rows->row_pairs[place];
        if (marks.knows(pair)) {
          embeddings += marks.of(pair) == kOpen;
          if (marks.of(pair) == kOpen) marks.set(pair, kFound);
        } else {
          const bool admitted = admits(admission, step, step.rows->row_others[place]);
          marks.set(pair, admitted ? kFound : kNever);
          embeddings += admitted;
        }
      });
      if (embeddings > 0) visitor_.count(embeddings);
      if (!spend(kWindowWork + near.size() / kEnteredAtOnce)) return false;
      continue;
    }
    for_each_fitting(near, [&](Place place) {
      const std::uint32_t pair = step.rows->row_pairs[place];
      if (marks.knows(pair)) {
        const std::uint32_t state = marks.of(pair);
        if (state == kNever || (state == kFound && !every_choice_)) return;
      } else if (!admits(admission, step, step.rows->row_others[place])) {
        marks.set(pair, kNever);
        return;
      }
      marks.set(pair, kFound);
      if (judged) {
        value_[level] = step.rows->row_others[place];
        if (!judge(step, before, place)) {
          if (!every_choice_) marks.set(pair, kOpen);
          return;
        }
      }
      ++embeddings;
      if (!counting_) {
        value_[level] = step.rows->row_others[place];
        const Vertex* last = value_.data() + native_plan_.plan.shape.levels - 1;
        visitor_.rows(value_.data(), {last, last + 1});
      }
    });
    if (counting_ && embeddings > 0) visitor_.count(embeddings);
    const std::size_t passed = counting_ ? 0 : static_cast<std::size_t>(embeddings);
    if (!spend(kWindowWork + passed + near.size() / kEnteredAtOnce)) return false;
  }
  return true;
}

bool PairWalker::found(Total embeddings) {
  if (counting_) {
    visitor_.count(embeddings);
  } else {
    const Vertex* last = value_.data() + native_plan_.plan.shape.levels - 1;
    visitor_.rows(value_.data(), {last, last + 1});
  }
  return spend(1);
}

}  // namespace motiflux::search
