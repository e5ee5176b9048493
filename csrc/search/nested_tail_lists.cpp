// Counting components with lists (search/tail.hpp) of choices for branches that might coincide with other
// branches in several levels.
#include <algorithm>
#include <type_traits>

#include "search/nested_tail_candidates.hpp"

namespace motiflux::search {
namespace {

// The most entries that are paired at once: longer lists are cut into chunks.
constexpr std::size_t kMostEntries = 1 << 13;

// The most kept copies of each list of the tail, and their most entries.
constexpr std::size_t kKeptLists = 1 << 8;
constexpr std::size_t kMostKept = 1 << 12;

// Steps of about a nanosecond that count as one candidate met.
constexpr std::size_t kStepsPerWork = 8;

bool vertices_less(const Entry<std::uint64_t>& a, const Entry<std::uint64_t>& b) {
  return a.vertices < b.vertices;
}

std::uint32_t levels_of(const TailList& list) {
  std::uint32_t levels = 0;
  for (int level : list.levels) levels |= std::uint32_t{1} << level;
  return levels;
}

std::uint64_t narrow(const Total& number) {
  if (number >> 64 != 0) throw Overflow();
  return static_cast<std::uint64_t>(number);
}

}  // namespace

template <class Number>
Number NestedTailCounter::listed(const TailComponent& component) {
  std::unique_ptr<ListWorkspace>& workspace = workspaces_[component.lists[0].number];
  if (!workspace) workspace = std::make_unique<ListWorkspace>();
  prepare_workspace(component, *workspace);
  using Weight = std::conditional_t<std::is_same_v<Number, Wide>, Wide, std::uint64_t>;
  Number ways = pairs_of<Number, Weight>(component, *workspace);
  divide_by_orders(ways, component.chains);
  return ways;
}

// Marks the vertices that levels must avoid, and fills the sets beside the lists.
void NestedTailCounter::prepare_workspace(const TailComponent& component, ListWorkspace& workspace) {
  for (Vertex vertex : workspace.avoided) workspace.avoiding[vertex] = 0;
  workspace.avoided.clear();
  workspace.avoiding.resize(data_vertices_);
  const auto avoid = [&](int level, std::uint32_t within) {
    for_each_bit(tail_.matched[static_cast<std::size_t>(level)] & ~within, [&](std::uint32_t other) {
      const Vertex vertex = walker_.compare_.vertex(other, walker_.value_[other]);
      workspace.avoided.push_back(vertex);
      workspace.avoiding[vertex] |= std::uint32_t{1} << level;
    });
  };
  for (int level : component.levels) avoid(level, 0);
  for (const TailList& list : component.lists)
    for (int level : list.listed) avoid(level, levels_of(list));
  workspace.leaves.begin(data_vertices_);
  for (int level : component.levels) {
    const sets::Span candidates = walker_.clipped(level);
    if (!walker_.spend(candidates.size() / 4)) throw Stopped();
    workspace.leaves.begin_set();
    for (Vertex value : candidates) {
      const Vertex vertex = walker_.compare_.vertex(static_cast<std::size_t>(level), value);
      if ((workspace.avoiding[vertex] >> level & 1) == 0) workspace.leaves.add(vertex);
    }
  }
  workspace.leaves.close();
}

template <class Number, class Weight>
Number NestedTailCounter::pairs_of(const TailComponent& component, ListWorkspace& workspace) {
  constexpr bool kWide = std::is_same_v<Number, Wide>;
  auto& entries = [&]() -> auto& {
    if constexpr (kWide)
      return workspace.wide_entries;
    else
      return workspace.entries;
  }();
  using Entries = std::span<const Entry<Weight>>;
  const auto sum_of = [](Entries list) {
    double sum = 0;
    if constexpr (!kWide)
      for (const Entry<Weight>& entry : list) sum += static_cast<double>(entry.weight);
    return sum;
  };
  const auto work = [&](std::size_t steps) {
    if (!walker_.spend(steps / kStepsPerWork + 1)) throw Stopped();
  };
  Number total(0u);
  const auto pair_up = [&](Entries first, Entries second, std::size_t second_separators) {
    const auto count = [&]<class Sum>() {
      return workspace.pairs.count<Sum>(first, component.lists[0].separators, second, second_separators,
                                        workspace.leaves, data_vertices_, work);
    };
    if constexpr (kWide) {
      total += count.template operator()<Wide>();
    } else {
      const double largest = sum_of(first) * sum_of(second) * workspace.leaves.most() * 8;
      if (largest >= 0x1p126) throw Overflow();
      add(total, largest < 0x1p62 ? static_cast<Total>(count.template operator()<std::int64_t>())
                                  : static_cast<Total>(count.template operator()<SignedTotal>()));
    }
  };
  for_each_chunk<Weight>(component.lists[0], workspace, entries[0], [&](Entries first) {
    if (component.lists.size() == 1) {
      const std::array<Entry<Weight>, 1> nothing{Entry<Weight>{{}, Weight(1u)}};
      return pair_up(first, nothing, 0);
    }
    for_each_chunk<Weight>(component.lists[1], workspace, entries[1],
                           [&](Entries second) { pair_up(first, second, component.lists[1].separators); });
  });
  return total;
}

// Calls use() with chunks of the entries of `list`, without entries that have a vertex to be avoided.
template <class Weight, class Use>
void NestedTailCounter::for_each_chunk(const TailList& list, const ListWorkspace& workspace,
                                       std::vector<Entry<Weight>>& chunk, Use&& use) {
  chunk.clear();
  if (list.kept) {
    if (const KeptList& kept = kept_list(list); kept.serves) {
      if (!walker_.spend(kept.entries.size() / kStepsPerWork + 1)) throw Stopped();
      // Unused places of an entry hold vertex 0; their bits are 0.
      std::array<std::uint32_t, kMostListed> bits{};
      for (std::size_t at = 0; at < list.listed.size(); ++at) bits[at] = std::uint32_t{1} << list.listed[at];
      const std::uint32_t* avoiding = workspace.avoiding.data();
      chunk.resize(kept.entries.size());
      Entry<Weight>* free = chunk.data();
      for (const Entry<std::uint64_t>& entry : kept.entries) {
        std::uint32_t taken = 0;
        for (std::size_t at = 0; at < kMostListed; ++at) taken |= avoiding[entry.vertices[at]] & bits[at];
        *free = {entry.vertices, Weight(entry.weight)};
        free += taken == 0;
      }
      chunk.resize(static_cast<std::size_t>(free - chunk.data()));
      if (!chunk.empty()) use(chunk);
      return;
    }
  }
  using Number = std::conditional_t<std::is_same_v<Weight, Wide>, Wide, Total>;
  for_each_entry<Number>(list, 0, ~std::uint32_t{0}, [&](const auto& vertices, const Number& ways) {
    if constexpr (std::is_same_v<Weight, Wide>)
      chunk.push_back({vertices, ways});
    else
      chunk.push_back({vertices, narrow(ways)});
    if (chunk.size() < kMostEntries) return;
    use(chunk);
    chunk.clear();
  });
  if (!chunk.empty()) use(chunk);
}

// Matches the levels of `list` from `depth` on; of the levels they must avoid, only those in `avoided` count.
template <class Number, class Visit>
void NestedTailCounter::for_each_entry(const TailList& list, std::size_t depth, std::uint32_t avoided,
                                       Visit&& visit) {
  if (depth < list.levels.size()) {
    const int level = list.levels[depth];
    for_each_candidate(level, tail_.matched[static_cast<std::size_t>(level)] & avoided,
                       [&](Vertex) { for_each_entry<Number>(list, depth + 1, avoided, visit); });
    return;
  }
  const Number ways = list.block == kNoBlock ? Number(1u) : block<Number>(list.block);
  if (ways == Number(0u)) return;
  std::array<Vertex, kMostListed> vertices{};
  for (std::size_t at = 0; at < list.listed.size(); ++at) {
    const auto level = static_cast<std::size_t>(list.listed[at]);
    vertices[at] = walker_.compare_.vertex(level, walker_.value_[level]);
  }
  visit(vertices, ways);
}

const NestedTailCounter::KeptList& NestedTailCounter::kept_list(const TailList& list) {
  std::vector<KeptList>& lists = kept_lists_[list.number];
  if (lists.empty()) lists.resize(kKeptLists);
  std::size_t hash = 0;
  for (int level : list.exact) hash = (hash ^ walker_.value(level)) * 0x9E3779B97F4A7C15u;
  KeptList& kept = lists[hash >> 32 & (kKeptLists - 1)];
  const auto same = [&](int level, Vertex value) { return walker_.value(level) == value; };
  if (!kept.made || !std::equal(list.exact.begin(), list.exact.end(), kept.key.begin(), kept.key.end(), same))
    make_list(list, kept);
  return kept;
}

void NestedTailCounter::make_list(const TailList& list, KeptList& made) {
  made = {};
  std::uint32_t named = levels_of(list);
  for (int level : list.exact) {
    made.key.push_back(walker_.value(level));
    named |= std::uint32_t{1} << level;
  }
  struct TooLong {};
  try {
    for_each_entry<Total>(list, 0, named, [&](const auto& vertices, const Total& ways) {
      if (made.entries.size() == kMostKept) throw TooLong();
      made.entries.push_back({vertices, narrow(ways)});
    });
    made.serves = true;
  } catch (const TooLong&) {
  } catch (const Overflow&) {
  }
  made.made = true;
  if (!made.serves) {
    made.entries = {};
    return;
  }
  std::sort(made.entries.begin(), made.entries.end(), vertices_less);
  std::size_t kept = 0;
  for (const Entry<std::uint64_t>& entry : made.entries) {
    if (kept > 0 && made.entries[kept - 1].vertices == entry.vertices &&
        !__builtin_add_overflow(made.entries[kept - 1].weight, entry.weight, &made.entries[kept - 1].weight))
      continue;
    made.entries[kept++] = entry;
  }
  made.entries.resize(kept);
}

template Total NestedTailCounter::listed<Total>(const TailComponent& component);
template Wide NestedTailCounter::listed<Wide>(const TailComponent& component);

}  // namespace motiflux::search
