#include "dynamic/naming.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "motiflux/bits.hpp"

namespace motiflux::dynamic {
namespace {

using Name = std::vector<std::uint32_t>;

// After the end of a list in a name.
constexpr std::uint32_t kEnd = ~std::uint32_t{0};

void add(Name& name, std::uint64_t word) {
  name.push_back(static_cast<std::uint32_t>(word >> 32));
  name.push_back(static_cast<std::uint32_t>(word));
}

void add(Name& name, const Source& source, std::uint32_t level) {
  name.insert(name.end(), {level, static_cast<std::uint32_t>(source.way), source.target, source.relation,
                           source.before_change ? 1u : 0u});
}

// The levels before `level` that the number of ways to match it and all later ones depends on, as bits.
std::uint32_t used_before(const Plan& plan, int level) {
  std::uint32_t used = 0;
  for (int later = level; later < plan.levels(); ++later) {
    const Step& step = plan.steps[static_cast<std::size_t>(later)];
    used |= step.after | step.before | step.distinct;
    for (int at = later; at != kNone; at = plan.steps[static_cast<std::size_t>(at)].reuse)
      for (const Source& source : plan.steps[static_cast<std::size_t>(at)].sources)
        used |= std::uint32_t{1} << source.level;
  }
  return used & bits_below(static_cast<std::uint32_t>(level));
}

// What the number of ways to match a level and all later ones depends on. Earlier levels have numbers by
// their order among `used`, so that levels of different plans may have one name.
Name rest_of(const Plan& plan, int level, std::uint32_t used) {
  const auto renamed = [&](std::uint32_t other) {
    if (other < 2) return other;
    if (other < static_cast<std::uint32_t>(level))
      return 2 + count_bits(used & bits_below(other) & ~std::uint32_t{3});
    return static_cast<std::uint32_t>(view::kMaxLevels) + other - static_cast<std::uint32_t>(level);
  };
  Name name{static_cast<std::uint32_t>(plan.tail.start - std::min(level, plan.tail.start))};
  for (int later = level; later < plan.levels(); ++later) {
    const Step& step = plan.steps[static_cast<std::size_t>(later)];
    for (int at = later; at != kNone; at = plan.steps[static_cast<std::size_t>(at)].reuse) {
      const Step& one = plan.steps[static_cast<std::size_t>(at)];
      for (const Source& source : one.sources)
        add(name, source, renamed(static_cast<std::uint32_t>(source.level)));
      name.insert(name.end(), {kEnd, static_cast<std::uint32_t>(one.allowed)});
    }
    name.push_back(kEnd);
    for (std::uint32_t levels : {step.after, step.before, step.distinct}) {
      for_each_bit(levels, [&](std::uint32_t other) { name.push_back(renamed(other)); });
      name.push_back(kEnd);
    }
  }
  for (const search::TailBlock& block : plan.tail.blocks)
    for (const search::TailComponent& component : block.components) {
      if (component.levels.front() < level) continue;  // blocks are counted from their start on only
      for (const std::vector<int>* numbers : {&component.levels, &component.set_of, &component.chains}) {
        for (int number : *numbers)
          name.push_back(static_cast<std::uint32_t>(numbers == &component.levels ? number - level : number));
        name.push_back(kEnd);
      }
    }
  return name;
}

}  // namespace

std::uint32_t Naming::number_of(Numbers& numbers, Name name) {
  return numbers.try_emplace(std::move(name), static_cast<std::uint32_t>(numbers.size())).first->second;
}

void Naming::name(std::span<Plan> plans) {
  for (Numbers* numbers :
       {&set_numbers_, &row_numbers_, &sum_numbers_, &mark_numbers_, &closing_numbers_, &rest_numbers_})
    numbers->clear();
  rests_.clear();
  for (Plan& plan : plans) {
    find_needs(plan);
    name_sets(plan);
    plan.remembered.clear();
    for (int level = 0; level < plan.levels(); ++level) plan.remembered.push_back(name_rest(plan, level));
  }
  for (Plan& plan : plans)
    for (Remembered& one : plan.remembered)
      one.kept = one.kept || (one.rest != kNoNumber && rests_[one.rest] > 1);
  name_loops(plans);
}

// The classes of required neighbours, where these are of one class, and columns of the candidate table.
void Naming::find_needs(Plan& plan) const {
  plan.needs.assign(plan.steps.size(), {});
  for (std::size_t level = 0; level < plan.columns.size(); ++level)
    if (const std::uint32_t column = plan.columns[level]; column != kNoNumber) {
      plan.needs[level].columns = std::uint64_t{1} << column % CandidateTable::kWordBits;
      plan.needs[level].word = column / CandidateTable::kWordBits;
    }
  for (Step& step : plan.steps)
    for (Source& source : step.sources) {
      const auto& classes = graph_.relations().target(source.target).classes;
      source.of = kNoNumber;
      if (classes.size() != 1 || (graph_.directed() && source.way == Way::kEither)) continue;
      source.of = classes[0];
      if (!requires_classes_) continue;
      Needs& needs = plan.needs[static_cast<std::size_t>(source.level)];
      (graph_.directed() && source.way == Way::kIn ? needs.in : needs.out) |= Rows::bit(classes[0]);
    }
}

void Naming::name_sets(Plan& plan) {
  plan.sets.clear();
  for (int level = 0; level < plan.levels(); ++level) plan.sets.push_back(name_set(plan, level));
}

LevelSet Naming::name_set(const Plan& plan, int level) {
  if (level < 2) return {};
  const LevelSet whole = whole_set(plan, level);
  if (is_reused(plan, level)) return whole;
  const auto at = static_cast<std::size_t>(level);
  return filtered(plan.steps[at], whole, plan.needs[at]);
}

// The set of a level with all its vertices.
LevelSet Naming::whole_set(const Plan& plan, int level) {
  const Step& step = plan.steps[static_cast<std::size_t>(level)];
  LevelSet found;
  Name name{static_cast<std::uint32_t>(step.anchor), static_cast<std::uint32_t>(step.allowed),
            step.reuse == kNone ? kEnd : plan.sets[static_cast<std::size_t>(step.reuse)].number};
  for (const Source& source : step.sources) add(name, source, static_cast<std::uint32_t>(source.level));
  found.number = number_of(set_numbers_, std::move(name));
  sets_ = set_numbers_.size();
  found.plain = is_row(step) && (step.after | step.before) == 0;
  if (step.sources.size() == 2) {
    const Source& stable = step.sources[step.sources[0].level < step.sources[1].level ? 0 : 1];
    name = {};
    add(name, stable, static_cast<std::uint32_t>(stable.level));
    found.marks = number_of(mark_numbers_, std::move(name));
  }
  return found;
}

bool Naming::is_reused(const Plan& plan, int level) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [&](const Step& other) { return other.reuse == level; });
}

// How levels are matched for several plans at once: as for one, but in the levels that a group shares.
void Naming::name_loops(std::span<Plan> plans) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> groups;
  for (std::size_t number = 0; number < plans.size(); ++number) {
    Plan& plan = plans[number];
    plan.loops.clear();
    for (std::size_t level = 0; level < plan.steps.size(); ++level) {
      const Step& step = plan.steps[level];
      plan.loops.push_back({plan.sets[level], step.after, step.before, step.distinct});
    }
    if (plan.group != kNoNumber) groups[{plan.pattern, plan.group}].push_back(number);
  }
  for (const auto& [group, members] : groups)
    for (std::size_t at = 0; at < plans[members[0]].shared.size(); ++at) {
      const LevelSet set = common_set(plans, members, static_cast<int>(at) + 2);
      for (std::size_t number : members) {
        plans[number].loops[at + 2] = plans[number].shared[at];
        plans[number].loops[at + 2].set = set;
      }
    }
}

// The set of a level that a group shares, without vertices that serve none of its plans for a reason that all
// of them have.
LevelSet Naming::common_set(std::span<const Plan> plans, std::span<const std::size_t> members, int level) {
  const auto at = static_cast<std::size_t>(level);
  const Needs& first_needs = plans[members[0]].needs[at];
  Needs needs{~std::uint64_t{0}, ~std::uint64_t{0}, first_needs.columns, first_needs.word};
  bool reused = false;
  for (std::size_t number : members) {
    needs.out &= plans[number].needs[at].out;
    needs.in &= plans[number].needs[at].in;
    if (plans[number].needs[at].word == needs.word)
      needs.columns &= plans[number].needs[at].columns;
    else
      needs.columns = 0;
    reused = reused || is_reused(plans[number], level);
  }
  const Plan& first = plans[members[0]];
  const LevelSet whole = whole_set(first, level);
  return reused ? whole : filtered(first.steps[at], whole, needs);
}

// The set of a step without vertices that do not serve `needs`, if leaving them out pays.
LevelSet Naming::filtered(const Step& step, const LevelSet& whole, const Needs& needs) {
  if (!is_row(step) || !needs.any()) return whole;
  LevelSet found = whole;
  Name name = row_of(step.sources[0]);
  add(name, needs.out);
  add(name, needs.in);
  add(name, needs.columns);
  name.push_back(needs.word);
  found.needs = needs;
  found.row = number_of(row_numbers_, std::move(name));
  found.number = number_of(set_numbers_, {whole.number, found.row});
  sets_ = set_numbers_.size();
  return found;
}

// What a level may remember.
Remembered Naming::name_rest(const Plan& plan, int level) {
  Remembered found;
  if (level < 2 || plan.negates) return found;
  name_sum(plan, level, found);
  found.closing = name_closing(plan, level);
  found.closes_soon = closes_soon(plan, level);
  const std::uint32_t used = used_before(plan, level), keys = used & ~std::uint32_t{3};
  const std::uint32_t size = count_bits(keys);
  if (size > found.keys.size() || level > plan.tail.start) return found;
  found.keys.fill(static_cast<std::uint8_t>(size == 0 ? 0 : lowest_bit(keys)));
  if (size == 2) found.keys[1] = static_cast<std::uint8_t>(lowest_bit(keys & (keys - 1)));
  found.rest = number_of(rest_numbers_, rest_of(plan, level, used));
  // If levels were matched that it does not depend on, a key comes twice in the search of one plan.
  const bool last = level + 1 == plan.levels();
  found.kept = static_cast<std::uint32_t>(level) - 2 > size &&
               !(last && plan.sets[static_cast<std::size_t>(level)].plain);
  if (rests_.size() <= found.rest) rests_.resize(found.rest + std::size_t{1});
  if (is_long(plan, level, found)) ++rests_[found.rest];
  return found;
}

// Whether counting the ways to match a level and all later ones takes longer than looking a number up: about
// the time of a cache miss.
bool Naming::is_long(const Plan& plan, int level, const Remembered& found) const {
  if (level == plan.tail.start)
    return std::ranges::any_of(plan.tail.blocks[0].components,
                               [](const auto& one) { return one.sets() > 1; });
  if (level + 1 < plan.levels()) return found.leaves.empty();
  return !plan.sets[static_cast<std::size_t>(level)].plain && found.closing.number == kNoNumber;
}

// How a level is counted for all vertices of one earlier level at once, if it can be.
Remembered::Closing Naming::name_closing(const Plan& plan, int level) {
  const Step& step = plan.steps[static_cast<std::size_t>(level)];
  Remembered::Closing found;
  if ((step.after | step.before) != 0) return {};
  int inner = 0;
  for (int at = level; at != kNone; at = plan.steps[static_cast<std::size_t>(at)].reuse) {
    if (plan.steps[static_cast<std::size_t>(at)].allowed != kNone) return {};
    for (const Source& source : plan.steps[static_cast<std::size_t>(at)].sources) {
      if (!is_one_class(source) || (source.level >= 2 && inner != 0)) return {};
      if (source.level < 2) {
        found.stable.push_back(source);
      } else {
        inner = source.level;
        found.inner = source;
      }
    }
  }
  if (inner == 0 || found.stable.empty()) return {};
  const Relations& relations = graph_.relations();
  const LabelSet& vertices = labels_of(plan, inner);
  const Label edge = relations.classes()[relations.target(found.inner.target).classes[0]].edge;
  std::size_t classes = 0;
  for (Class of = 0; of < relations.classes().size(); ++of)
    if (relations.classes()[of].edge == edge && vertices.has(relations.classes()[of].vertex)) {
      found.of = of;
      ++classes;
    }
  if (classes != 1) return {};
  const Way way = graph_.directed() ? found.inner.way : Way::kOut;
  found.back = way == Way::kOut && graph_.directed() ? Way::kIn : Way::kOut;
  std::ranges::sort(found.stable, {},
                    [](const Source& one) { return std::tuple(one.level, one.way, one.target); });
  // Of the pair, only the other end can be in a row of one end.
  if (found.stable.size() == 1)
    if (const auto other = static_cast<std::uint32_t>(1 - found.stable[0].level);
        (step.distinct >> other & 1) != 0)
      found.apart = other;
  Name name{found.of, static_cast<std::uint32_t>(found.back), found.apart};
  for (const Source& source : found.stable) add(name, source, static_cast<std::uint32_t>(source.level));
  found.number = number_of(closing_numbers_, std::move(name));
  return found;
}

bool Naming::closes_soon(const Plan& plan, int level) {
  if (level + 3 != plan.levels() || plan.tail.start < plan.levels()) return false;
  const Step& next = plan.steps[static_cast<std::size_t>(level) + 1];
  const Step& last = plan.steps[static_cast<std::size_t>(level) + 2];
  const Remembered::Closing closing = name_closing(plan, level + 2);
  if (closing.number == kNoNumber || closing.inner.level != level + 1) return false;
  if (!is_row(next) || (next.after | next.before) != 0 || next.sources[0].level != level) return false;
  const Way way = graph_.directed() ? next.sources[0].way : Way::kOut;
  if (way != closing.back || next.sources[0].of != closing.of) return false;
  // If the ways from the next level on are kept, edges are searched instead of paths.
  const std::uint32_t keys = used_before(plan, level + 1) & ~std::uint32_t{3};
  if (static_cast<std::uint32_t>(level) - 1 > count_bits(keys)) return false;
  return (last.distinct & ~(std::uint32_t{0b11} << level) & ~std::uint32_t{0b11}) == 0;
}

// Finds the leaves of a level, and the name of their sums.
void Naming::name_sum(const Plan& plan, int level, Remembered& found) {
  const Step& step = plan.steps[static_cast<std::size_t>(level)];
  if (!find_leaves(plan, level, found) || !is_row(step) || (step.after | step.before) != 0) return;
  Name name = row_of(step.sources[0]);
  for (const Remembered::Leaves& leaves : found.leaves) {
    name.insert(name.end(),
                {leaves.of, static_cast<std::uint32_t>(leaves.way), static_cast<std::uint32_t>(leaves.levels),
                 static_cast<std::uint32_t>(leaves.less)});
    for (int chain : leaves.chains) name.push_back(static_cast<std::uint32_t>(chain));
    name.push_back(kEnd);
  }
  found.sum = number_of(sum_numbers_, std::move(name));
}

// Whether the vertex of an earlier level, the only one of `levels`, is always in the row of the vertex of
// `level` from which the level `later` is taken: the first of the two is taken from its row.
bool Naming::is_in_row(const Plan& plan, std::uint32_t levels, int level, int later) const {
  if ((levels & (levels - 1)) != 0) return false;
  const Source& from = plan.steps[static_cast<std::size_t>(later)].sources[0];
  const auto& classes = graph_.relations().classes();
  // If a vertex of another label may be there, it may not be in the row.
  const LabelSet& labels = labels_of(plan, static_cast<int>(lowest_bit(levels)));
  if (std::ranges::any_of(classes, [&](const Relations::Ends& one) {
        return labels.has(one.vertex) && one.vertex != classes[from.of].vertex;
      }))
    return false;
  const auto& sources = plan.steps[static_cast<std::size_t>(level)].sources;
  return std::ranges::any_of(sources, [&](const Source& source) {
    return source.level == static_cast<int>(lowest_bit(levels)) && is_one_class(source) &&
           classes[source.of].edge == classes[from.of].edge &&
           (!graph_.directed() || (source.way == Way::kOut) == (from.way == Way::kIn));
  });
}

// The labels of the vertices of a level.
const LabelSet& Naming::labels_of(const Plan& plan, int level) const {
  if (level < 2) return level == 0 ? plan.first : plan.second;
  const Step* step = &plan.steps[static_cast<std::size_t>(level)];
  while (step->sources.empty()) step = &plan.steps[static_cast<std::size_t>(step->reuse)];
  return graph_.relations().target(step->sources[0].target).vertices;
}

// Whether the later levels are leaves of a level and components that do not depend on it.
bool Naming::find_leaves(const Plan& plan, int level, Remembered& found) const {
  const std::uint32_t self = std::uint32_t{1} << level;
  const auto earlier = [&](int later) {
    return plan.steps[static_cast<std::size_t>(later)].distinct &
           bits_below(static_cast<std::uint32_t>(level));
  };
  const auto hangs = [&](int later) {
    const Step& step = plan.steps[static_cast<std::size_t>(later)];
    return is_row(step) && step.sources[0].level == level && (step.after | step.before) == 0 &&
           (earlier(later) == 0 || is_in_row(plan, earlier(later), level, later));
  };
  const auto is_free = [&](int later) {
    const Step& step = plan.steps[static_cast<std::size_t>(later)];
    return ((step.after | step.before | step.distinct) & self) == 0 && step.reuse != level &&
           std::none_of(step.sources.begin(), step.sources.end(),
                        [&](const Source& source) { return source.level == level; });
  };
  const auto add_leaves = [&](std::span<const int> levels, std::span<const int> chains) {
    const Source& first = plan.steps[static_cast<std::size_t>(levels[0])].sources[0];
    found.leaves.push_back({first.way,
                            first.target,
                            first.of,
                            levels.size(),
                            {chains.begin(), chains.end()},
                            earlier(levels[0]) == 0 ? 0u : 1u});
  };
  if (level + 2 == plan.levels() && plan.tail.start > level + 1) {
    if (!hangs(level + 1)) return false;
    add_leaves(std::array{level + 1}, {});
    return true;
  }
  if (level + 1 != plan.tail.start) return false;
  const auto& components = plan.tail.blocks[0].components;
  for (std::size_t number = 0; number < components.size(); ++number) {
    const search::TailComponent& one = components[number];
    if (one.sets() == 1 && std::all_of(one.levels.begin(), one.levels.end(), hangs) &&
        std::ranges::all_of(one.levels,
                            [&](int other) { return earlier(other) == earlier(one.levels[0]); })) {
      add_leaves(one.levels, one.chains);
    } else if (std::all_of(one.levels.begin(), one.levels.end(), is_free)) {
      found.components.push_back(number);
    } else {
      found.leaves.clear();
      found.components.clear();
      return false;
    }
  }
  if (found.leaves.empty()) found.components.clear();
  return !found.leaves.empty();
}

// Whether the set of a step is a row of one class.
bool Naming::is_row(const Step& step) const {
  if (step.sources.size() != 1 || step.reuse != kNone || step.allowed != kNone) return false;
  return is_one_class(step.sources[0]);
}

bool Naming::is_one_class(const Source& source) const {
  return source.of != kNoNumber && !source.before_change;
}

// The class of a row, and whether it is one of incoming edges.
Naming::Name Naming::row_of(const Source& source) const {
  const bool incoming = graph_.directed() && source.way == Way::kIn;
  return {graph_.relations().target(source.target).classes[0], incoming};
}

}  // namespace motiflux::dynamic
