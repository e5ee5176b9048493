#include "search/nested_tail.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "motiflux/bits.hpp"
#include "search/nested_tail_candidates.hpp"
#include "search/walker.hpp"

namespace motiflux::search {
namespace {

// The work of a lookup, and of a vertex of a component for each of its levels; unit: candidates met.
constexpr std::int64_t kLookUpWork = 4;

// The most numbers beyond 128 bits that are kept per block.
constexpr std::size_t kMostWide = 1 << 13;

// The most values of a level for which the last number of each is kept.
constexpr std::uint32_t kMostRecent = 1 << 14;

void multiply(Total& product, const Total& factor) {
  if (__builtin_mul_overflow(product, factor, &product)) throw Overflow();
}
void multiply(Wide& product, const Wide& factor) {
  product *= factor;
}

bool is_zero(const Total& number) {
  return number == 0;
}
bool is_zero(const Wide& number) {
  return number.length() == 0;
}

Wide falling(std::uint64_t size, std::size_t levels, std::span<const int> chains) {
  if (size < levels) return {};
  Wide result(1);
  for (std::size_t taken = 0; taken < levels; ++taken) result *= Wide(size - taken);
  divide_by_orders(result, chains);
  return result;
}

// Blocks with at most kMostExact exact levels get filters (Reach) of excluded vertices: a power of two of
// them, within kReachBytes. They are given up if more than three in four requests had to make a new one.
constexpr std::size_t kMostExact = 3;
constexpr std::size_t kMostReaches = 1 << 10, kFewestReaches = 1 << 4;
constexpr std::size_t kReachBytes = std::size_t{1} << 20;
constexpr std::uint64_t kReachTrial = 1 << 12, kMostMade = 3;

template <class Number>
constexpr bool kIsWide = std::is_same_v<Number, Wide>;

}  // namespace

NestedTailCounter::NestedTailCounter(Walker& walker) : walker_(walker), tail_(walker.native_plan_.tail) {
  kept_.resize(tail_.blocks.size());
  kept_lists_.resize(tail_.lists);
  workspaces_.resize(tail_.lists);
  const NativePlan& native_plan = walker.native_plan_;
  if (native_plan.members.empty()) data_vertices_ = native_plan.vertices;
  for (std::size_t level = 0; level < native_plan.members.size(); ++level)
    if (native_plan.sizes[level] > 0)
      data_vertices_ = std::max<std::size_t>(
          data_vertices_, native_plan.members[level][native_plan.sizes[level] - 1] + std::size_t{1});
  prepare(0, -1, tail_.start - 1);
  find_nested_sums();
}

// Prepares the tables of the block `index` and of its descendants. `parent` is its parent level, `before` the
// level matched before the parent.
void NestedTailCounter::prepare(int index, int parent, int before) {
  const TailBlock& block = tail_.blocks[static_cast<std::size_t>(index)];
  Kept& kept = kept_[static_cast<std::size_t>(index)];
  for (const TailComponent& component : block.components) {
    const int above = parent >= 0 ? parent : before;
    const auto add = [&](const std::vector<int>& levels) {
      kept.levels.insert(kept.levels.end(), levels.begin(), levels.end());
    };
    const auto add_child = [&](int child_block, int level, int level_before) {
      if (child_block == kNoBlock) return;
      prepare(child_block, level, level_before);
      add(kept_[static_cast<std::size_t>(child_block)].levels);
    };
    add(component.levels);
    for (std::size_t position = 0; position < component.blocks.size(); ++position)
      add_child(component.blocks[position], component.levels[position], above);
    for (const TailList& list : component.lists) {
      add(list.levels);
      const std::size_t matched = list.levels.size();
      add_child(list.block, list.levels.back(), matched > 1 ? list.levels[matched - 2] : above);
    }
  }
  std::sort(kept.levels.begin(), kept.levels.end());
  if (!block.kept) return;
  std::size_t words = block.exact.size();
  const auto depend = [&](int level) {
    if (level == parent)
      kept.by_level = level;
    else
      kept.under_level = std::max(kept.under_level, level);
  };
  for (int level : block.exact) depend(level);
  for (const Excluded& group : block.excluded) {
    for (int level : group.levels) depend(level);
    words += group.levels.size() + 1;
  }
  // The last number of a vertex is of use again if its stamp lasts longer than a loop over the parent's
  // vertices.
  const std::uint32_t values = kept.by_level < 0 ? 1 : walker_.native_plan_.vertices;
  kept.recent_serves = kept.under_level != before && values <= kMostRecent;
  if (kept.recent_serves) kept.recent.resize(values);
  kept.memo = Memo(words, memo_bytes_);
  kept.key.reserve(words);
  find_relevant(block, kept);
  if (!narrows(block, kept)) return;
  const std::size_t bytes = block.excluded.size() * (data_vertices_ / 8 + sizeof(std::uint64_t));
  const std::size_t reaches = std::bit_floor(std::min(kMostReaches, kReachBytes / bytes));
  if (reaches >= kFewestReaches) kept.reaches.resize(reaches);
}

bool NestedTailCounter::narrows(const TailBlock& block, const Kept& kept) const {
  const NativePlan& native_plan = walker_.native_plan_;
  const bool hangs = std::any_of(block.components.begin(), block.components.end(),
                                 [](const TailComponent& component) { return component.deep(); });
  return !native_plan.places.empty() && !block.excluded.empty() && block.exact.size() <= kMostExact &&
         hangs && std::all_of(kept.levels.begin(), kept.levels.end(), [&](int level) {
           return native_plan.plan.shape.steps[level].reuse == view::kNoReuse;
         });
}

const NestedTailCounter::Reach* NestedTailCounter::reach_of(const TailBlock& block, Kept& kept) {
  if (kept.reaches.empty()) return nullptr;
  if (++kept.reaches_asked >= kReachTrial) {
    const bool again = 4 * kept.reaches_made <= kMostMade * kept.reaches_asked;
    kept.reaches_asked = kept.reaches_made = 0;
    if (!again) {
      kept.reaches.clear();
      return nullptr;
    }
  }
  std::size_t hash = 0;
  for (int level : block.exact) hash = (hash ^ walker_.value(level)) * 0x9E3779B97F4A7C15u;
  Reach& reach = kept.reaches[hash >> 32 & (kept.reaches.size() - 1)];
  const auto same = [&](int level, Vertex value) { return walker_.value(level) == value; };
  const bool known = !reach.bits.empty() && std::equal(block.exact.begin(), block.exact.end(),
                                                       reach.key.begin(), reach.key.end(), same);
  if (!known) {
    ++kept.reaches_made;
    fill_reach(block, kept, reach);
  }
  return &reach;
}

void NestedTailCounter::fill_reach(const TailBlock& block, const Kept& kept, Reach& reach) {
  reach.key.clear();
  for (int level : block.exact) {
    reach.key.push_back(walker_.value(level));
    reached_[static_cast<std::size_t>(level)] = {walker_.value(level)};
  }
  for (int level : kept.levels) spread(level);
  reach.bits.assign(block.excluded.size(), {});
  for (std::size_t g = 0; g < block.excluded.size(); ++g) {
    std::vector<std::uint64_t>& bits = reach.bits[g];
    bits.resize(data_vertices_ / 64 + 1, 0);
    for (int member : block.excluded[g].members)
      for (Vertex value : reached_[static_cast<std::size_t>(member)]) {
        const Vertex vertex = walker_.compare_.vertex(static_cast<std::size_t>(member), value);
        bits[vertex / 64] |= std::uint64_t{1} << (vertex % 64);
      }
  }
}

// Computes the positions that `level` may take from the positions that its sources may take.
void NestedTailCounter::spread(int level) {
  const NativePlan& native_plan = walker_.native_plan_;
  const view::StepShape& step = native_plan.plan.shape.steps[level];
  std::vector<Vertex>& reached = reached_[static_cast<std::size_t>(level)];
  reached.clear();
  led_.assign(native_plan.sizes[static_cast<std::size_t>(level)], 0);
  led_last_.assign(led_.size(), 0);
  std::size_t read = 0;
  for (std::uint32_t s = 0; s < step.source_count; ++s) {
    const std::uint32_t source = step.first_source + s;
    const view::Adjacency& rows = native_plan.adjacencies[native_plan.plan.args.adjacency[source]];
    for (Vertex from : reached_[native_plan.plan.shape.sources[source].level])
      for (const Vertex* to = rows.begin(from); to != rows.end(from); ++to, ++read) {
        if (led_last_[*to] == s + 1) continue;
        led_last_[*to] = s + 1;
        if (++led_[*to] == step.source_count) reached.push_back(*to);
      }
  }
  walker_.budget_ -= static_cast<std::int64_t>(read / 8 + led_.size() / 8);
}

void NestedTailCounter::find_relevant(const TailBlock& block, Kept& kept) {
  const NativePlan& native_plan = walker_.native_plan_;
  for (const Excluded& group : block.excluded) {
    kept.relevant.emplace_back(group.levels.size());
    if (native_plan.places.empty()) continue;
    for (std::size_t at = 0; at < group.levels.size(); ++at) {
      const auto level = static_cast<std::size_t>(group.levels[at]);
      std::vector<bool>& relevant = kept.relevant.back()[at];
      relevant.resize(native_plan.sizes[level]);
      for (std::uint32_t value = 0; value < native_plan.sizes[level]; ++value)
        for (int member : group.members) {
          const std::size_t pair = static_cast<std::size_t>(member) * native_plan.plan.shape.levels + level;
          if (native_plan.places[pair][value] % 2 == 1) relevant[value] = true;
        }
    }
  }
}

// The values that the number of a block depends on; values of levels that are interchangeable are in an order
// independent of the levels.
std::span<const NestedTailCounter::Vertex> NestedTailCounter::key_of(const TailBlock& block, Kept& kept) {
  kept.key.clear();
  for (int level : block.exact) kept.key.push_back(walker_.value(level));
  const Reach* reach = reach_of(block, kept);
  for (std::size_t g = 0; g < block.excluded.size(); ++g) {
    const Excluded& group = block.excluded[g];
    kept.key.push_back(0);  // the group's size comes first, to tell groups apart
    const std::size_t first = kept.key.size();
    for (std::size_t at = 0; at < group.levels.size(); ++at) {
      const auto level = static_cast<std::size_t>(group.levels[at]);
      const Vertex value = walker_.value(group.levels[at]);
      const std::vector<bool>& relevant = kept.relevant[g][at];
      if (!relevant.empty() && !relevant[value]) continue;
      const Vertex vertex = walker_.compare_.vertex(level, value);
      if (reach == nullptr || (reach->bits[g][vertex / 64] >> (vertex % 64) & 1) != 0)
        kept.key.push_back(vertex);
    }
    kept.key[first - 1] = static_cast<Vertex>(kept.key.size() - first);
    std::sort(kept.key.begin() + static_cast<std::ptrdiff_t>(first), kept.key.end());
  }
  return kept.key;
}

template <class Number>
Number NestedTailCounter::block(int index) {
  const TailBlock& block = tail_.blocks[static_cast<std::size_t>(index)];
  Kept& kept = kept_[static_cast<std::size_t>(index)];
  if (!block.kept) return product<Number>(block);
  if constexpr (kIsWide<Number>) {
    const Recent* recent = recent_of(kept);
    if (recent != nullptr && recent->stamp == stamp_of(kept)) return Number(recent->number);
    walker_.budget_ -= kLookUpWork;
    return wide_block(block, kept);
  } else {
    if (const std::optional<Total> number = known(block, kept)) return *number;
    const std::uint64_t before = walker_.work();
    const Total number = product<Total>(block);
    keep(kept, number, walker_.work() - before);
    return number;
  }
}

NestedTailCounter::Recent* NestedTailCounter::recent_of(Kept& kept) {
  if (!kept.recent_serves) return nullptr;
  return &kept.recent[kept.by_level < 0 ? 0 : walker_.value(kept.by_level)];
}

// The remembered number of a block for the current values, if any.
std::optional<Total> NestedTailCounter::known(const TailBlock& block, Kept& kept) {
  Recent* recent = recent_of(kept);
  if (recent != nullptr && recent->stamp == stamp_of(kept)) return recent->number;
  walker_.budget_ -= kLookUpWork;
  if (!kept.memo.worthwhile()) return std::nullopt;
  const std::optional<Total> found = kept.memo.find(key_of(block, kept));
  if (found && recent != nullptr) *recent = {stamp_of(kept), *found};
  return found;
}

// Remembers a number that known() did not return; `work` is the work it took.
void NestedTailCounter::keep(Kept& kept, Total number, std::uint64_t work) {
  if (kept.memo.worthwhile()) kept.memo.keep(kept.key, number, work);
  if (Recent* recent = recent_of(kept)) *recent = {stamp_of(kept), number};
}

Wide NestedTailCounter::wide_block(const TailBlock& block, Kept& kept) {
  const std::span<const Vertex> words = key_of(block, kept);
  const std::vector<Vertex> key(words.begin(), words.end());
  const auto known = kept.wide.find(key);
  if (known != kept.wide.end()) return known->second;
  const Wide number = product<Wide>(block);
  if (kept.wide.size() >= kMostWide) kept.wide.clear();
  kept.wide.emplace(key, number);
  return number;
}

std::uint64_t NestedTailCounter::stamp_of(const Kept& kept) const {
  return kept.under_level < 0 ? 1 : walker_.stamp_[static_cast<std::size_t>(kept.under_level)];
}

template <class Number>
Number NestedTailCounter::product(const TailBlock& block) {
  Number product(1u);
  for (const TailComponent& factor : block.components) {
    const Number ways = component<Number>(factor);
    if (is_zero(ways)) return ways;
    multiply(product, ways);
  }
  return product;
}

template <class Number>
Number NestedTailCounter::component(const TailComponent& component) {
  if (!component.lists.empty()) return listed<Number>(component);
  const auto hangs = [](int block) { return block != kNoBlock; };
  const bool plain = std::none_of(component.blocks.begin(), component.blocks.end(), hangs);
  if (component.levels.size() == 1) {
    if (plain) return Number(Total{walker_.count_level(component.levels[0])});
    return sum_over<Number>(component.levels[0], component.blocks[0]);
  }
  if (!plain) return weighted<Number>(component);
  if (component.sets() == 1) {
    const std::uint64_t size = walker_.count_level(component.levels[0]);
    if constexpr (kIsWide<Number>) return falling(size, component.levels.size(), component.chains);
    const auto ways = falling_factorial(size, component.levels.size(), component.chains);
    if (!ways) throw Overflow();
    return Number(*ways);
  }
  walker_.fill_common(component);
  if constexpr (kIsWide<Number>) {
    Number ways = alternating_choices<Number>(component.levels.size(), [&](std::uint32_t block) {
      std::uint32_t sets = 0;
      for_each_bit(block, [&](std::uint32_t level) { sets |= 1u << component.set_of[level]; });
      return Total{walker_.common_[sets]};
    });
    divide_by_orders(ways, component.chains);
    return ways;
  } else {
    auto ways = distinct_choices(component, walker_.common_);
    if (!ways) throw Overflow();
    divide_by_orders(*ways, component.chains);
    return *ways;
  }
}

template <class Number>
Number NestedTailCounter::sum_over(int level, int child_block) {
  Number sum(0u);
  for_each_candidate(level, [&](Vertex) { add(sum, block<Number>(child_block)); });
  return sum;
}

template <class Number>
NestedTailCounter::Choices<Number>& NestedTailCounter::choices() {
  if constexpr (kIsWide<Number>)
    return wide_choices_;
  else
    return choices_;
}

template <class Number>
Number NestedTailCounter::weighted(const TailComponent& component) {
  const std::span<const int> levels = component.levels;
  std::array<Number, std::size_t{1} << kMostDistinctLevels> sums{};
  double largest = 1;
  for (std::size_t position = 0; position < levels.size(); ++position) {
    const int level = levels[position];
    auto& list = choices<Number>()[static_cast<std::size_t>(level)];
    list.clear();
    Number& sum = sums[std::size_t{1} << position];
    for_each_candidate(level, [&](Vertex value) {
      const Number ways =
          component.blocks[position] == kNoBlock ? Number(1u) : block<Number>(component.blocks[position]);
      if (is_zero(ways)) return;
      list.push_back({walker_.compare_.vertex(static_cast<std::size_t>(level), value), ways});
      add(sum, ways);
    });
    if (list.empty()) return Number(0u);
    if constexpr (!kIsWide<Number>) largest *= static_cast<double>(sum);
  }
  if constexpr (kIsWide<Number>) {
    add_common<Number>(levels, sums);
    Number ways =
        alternating_choices<Number>(levels.size(), [&](std::uint32_t block) { return sums[block]; });
    divide_by_orders(ways, component.chains);
    return ways;
  } else {
    if (largest >= 0x1p126) throw Overflow();
    add_common<Number>(levels, sums);
    auto ways = counted_choices(levels.size(), largest, [&](std::uint32_t block) { return sums[block]; });
    if (!ways) throw Overflow();
    divide_by_orders(*ways, component.chains);
    return *ways;
  }
}

// Adds to sums[mask], for each mask of two or more levels, the products of the ways of each vertex that all
// these levels may take.
template <class Number>
void NestedTailCounter::add_common(std::span<const int> levels, std::span<Number> sums) {
  std::array<const Choice<Number>*, kMostDistinctLevels> at, end;
  std::size_t vertices = std::size_t{1} << levels.size();
  for (std::size_t position = 0; position < levels.size(); ++position) {
    const auto& list = choices<Number>()[static_cast<std::size_t>(levels[position])];
    at[position] = list.data();
    end[position] = list.data() + list.size();
    vertices += list.size();
  }
  walker_.budget_ -= static_cast<std::int64_t>(vertices * levels.size() / 4);
  for (;;) {
    std::uint64_t lowest = UINT64_MAX;
    std::uint32_t having = 0;
    for (std::size_t position = 0; position < levels.size(); ++position) {
      if (at[position] == end[position]) continue;
      const Vertex vertex = at[position]->vertex;
      if (vertex < lowest) having = 0;
      lowest = std::min<std::uint64_t>(lowest, vertex);
      if (vertex == lowest) having |= std::uint32_t{1} << position;
    }
    if (having == 0) return;
    for (std::uint32_t mask = having; mask != 0; mask = (mask - 1) & having) {
      if ((mask & (mask - 1)) == 0) continue;
      Number product(1u);
      for_each_bit(mask, [&](std::uint32_t position) { product *= at[position]->ways; });
      sums[mask] += product;
    }
    for_each_bit(having, [&](std::uint32_t position) { ++at[position]; });
  }
}

template Total NestedTailCounter::block<Total>(int index);
template Wide NestedTailCounter::block<Wide>(int index);

}  // namespace motiflux::search
