#include "pcsr/renaming.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "pcsr/membership.hpp"

namespace motiflux::pcsr {
namespace {

using Index = std::uint32_t;

constexpr Index kNone = 0xFFFFFFFF;

std::uint64_t hash_of(std::span<const std::uint32_t> set) {
  std::uint64_t hash = set.size();
  for (const std::uint32_t partition : set) {
    hash = (hash ^ partition) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

// Numbers in groups: those of group g are numbers[offsets[g] .. offsets[g + 1]), ascending.
struct Grouped {
  std::vector<std::uint64_t> offsets;
  std::vector<Index> numbers;

  std::span<const Index> of(std::size_t group) const {
    return std::span(numbers).subspan(offsets[group], offsets[group + 1] - offsets[group]);
  }
};

// visit(number, put) calls put(group) for the groups of each number below `count`.
template <class Visit>
Grouped grouped(std::size_t count, std::size_t groups, Visit&& visit) {
  Grouped result;
  result.offsets.assign(groups + 1, 0);
  for (std::size_t number = 0; number < count; ++number)
    visit(number, [&](std::size_t group) { ++result.offsets[group + 1]; });
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.numbers.resize(result.offsets.back());
  std::vector<std::uint64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  for (std::size_t number = 0; number < count; ++number)
    visit(number, [&](std::size_t group) { result.numbers[next[group]++] = static_cast<Index>(number); });
  return result;
}

// The different share sets, in the order of their first vertices, and the vertices of each.
class ShareSets {
 public:
  ShareSets(std::span<const std::uint64_t> offsets, std::span<const std::uint32_t> partitions,
            const Workers& workers)
      : offsets_(offsets), partitions_(partitions), slots_(1024, kNone) {
    const std::size_t vertices = offsets.size() - 1;
    std::vector<Index> set_of(vertices, kNone);
    for (std::size_t v = 0; v < vertices; ++v) {
      if (v % kVerticesPerCheck == 0) workers.check();
      if (offsets[v] != offsets[v + 1]) set_of[v] = find(static_cast<Index>(v));
    }
    vertices_ = grouped(vertices, size(), [&](std::size_t v, auto&& put) {
      if (set_of[v] != kNone) put(set_of[v]);
    });
  }

  std::size_t size() const { return firsts_.size(); }
  std::span<const std::uint32_t> partitions(Index set) const { return of_vertex(firsts_[set]); }
  std::span<const Index> vertices(Index set) const { return vertices_.of(set); }

 private:
  std::span<const std::uint32_t> of_vertex(Index vertex) const {
    return partitions_.subspan(offsets_[vertex], offsets_[vertex + 1] - offsets_[vertex]);
  }

  Index find(Index vertex) {
    const auto set = of_vertex(vertex);
    const std::uint64_t hash = hash_of(set);
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != kNone; slot = (slot + 1) & (slots_.size() - 1)) {
      const Index known = slots_[slot];
      if (hashes_[known] == hash && std::ranges::equal(set, partitions(known))) return known;
    }
    slots_[slot] = static_cast<Index>(size());
    firsts_.push_back(vertex);
    hashes_.push_back(hash);
    if (2 * size() > slots_.size()) grow();
    return static_cast<Index>(size() - 1);
  }

  void grow() {
    slots_.assign(2 * slots_.size(), kNone);
    for (std::size_t set = 0; set < size(); ++set) {
      std::size_t slot = hashes_[set] & (slots_.size() - 1);
      while (slots_[slot] != kNone) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<Index>(set);
    }
  }

  std::span<const std::uint64_t> offsets_;
  std::span<const std::uint32_t> partitions_;
  std::vector<Index> firsts_, slots_;  // first vertex of each set; sets by hash
  std::vector<std::uint64_t> hashes_;
  Grouped vertices_;
};

// The order of the sub-partitions of one partition. Sets are named by their positions in `sets`, and
// partitions by their ranks: those of most vertices first.
class Chain {
 public:
  Chain(const ShareSets& all, std::span<const Index> sets, std::uint32_t partition,
        std::vector<Index>& rank_of)
      : all_(all), sets_(sets), used_(sets.size(), 0) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>>
        sizes;  // of partitions but `partition`, which all share
    for (const Index set : sets)
      for (const std::uint32_t one : all.partitions(set)) {
        if (one == partition) continue;
        if (rank_of[one] == kNone) {
          rank_of[one] = static_cast<Index>(sizes.size());
          sizes.emplace_back(0, one);
        }
        sizes[rank_of[one]].first += all.vertices(set).size();
      }
    std::ranges::sort(
        sizes, [](auto& a, auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
      rank_of[sizes[rank].second] = static_cast<Index>(rank);
    ranks_ = grouped(0, sets.size(), [](std::size_t, auto&&) {});
    for (std::size_t position = 0; position < sets.size(); ++position) {
      for (const std::uint32_t one : all.partitions(sets[position]))
        if (one != partition) ranks_.numbers.push_back(rank_of[one]);
      ranks_.offsets[position + 1] = ranks_.numbers.size();
      std::sort(ranks_.numbers.begin() + static_cast<std::ptrdiff_t>(ranks_.offsets[position]),
                ranks_.numbers.end());
    }
    for (const auto& [vertices, one] : sizes) rank_of[one] = kNone;
    with_ = grouped(sets.size(), sizes.size(), [&](std::size_t position, auto&& put) {
      for (const Index rank : ranks_.of(position)) put(rank);
    });
  }

  // Calls place(set) for each set in turn. Uses up `steps`.
  template <class Place>
  void walk(std::uint64_t& steps, const Workers& workers, Place&& place) {
    order_by_size();
    std::size_t left = sets_.size();
    Index position = start();
    for (; left > 0; --left, position = next(position)) {
      used_[position] = 1;
      place(sets_[position]);
      std::uint64_t needed = 1;
      for (const Index rank : ranks_.of(position)) needed += with_.offsets[rank + 1] - with_.offsets[rank];
      if (steps < needed) break;
      steps -= needed;
      if (left % 256 == 0) workers.check();
      if (left == 1) return;
    }
    for (const Index one : gray_order())
      if (!used_[one]) place(sets_[one]);
  }

 private:
  std::size_t partitions(Index position) const {
    return ranks_.offsets[position + 1] - ranks_.offsets[position];
  }

  // Of the sets with the most partitions, that of the most vertices.
  Index start() const {
    Index best = 0;
    for (Index one = 1; one < sets_.size(); ++one) {
      const auto rating = [&](Index position) {
        return std::pair(partitions(position), all_.vertices(sets_[position]).size());
      };
      if (rating(one) > rating(best)) best = one;
    }
    return best;
  }

  void order_by_size() {
    by_size_.resize(sets_.size());
    std::iota(by_size_.begin(), by_size_.end(), Index{0});
    std::ranges::stable_sort(by_size_, {}, [&](Index position) { return partitions(position); });
    common_.assign(sets_.size(), 0);
  }

  // The set with the most partitions in common; of these the one with the fewest partitions, then the first.
  Index next(Index before) {
    touched_.clear();
    for (const Index rank : ranks_.of(before))
      for (const Index position : with_.of(rank))
        if (!used_[position] && common_[position]++ == 0) touched_.push_back(position);
    Index best = kNone;
    for (const Index one : touched_) {
      const auto rating = [&](Index position) {
        return std::tuple(-static_cast<std::int64_t>(common_[position]), partitions(position), position);
      };
      if (best == kNone || rating(one) < rating(best)) best = one;
    }
    for (const Index one : touched_) common_[one] = 0;
    if (best != kNone) return best;
    while (first_left_ < by_size_.size() && used_[by_size_[first_left_]]) ++first_left_;
    return first_left_ < by_size_.size() ? by_size_[first_left_] : kNone;
  }

  // Bits of sets that follow each other differ in few places: a partition of rank r is in at most 2^(r-1)
  // runs.
  std::vector<Index> gray_order() const {
    std::vector<Index> order(sets_.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::sort(order, [&](Index a, Index b) {
      const auto left = ranks_.of(a), right = ranks_.of(b);
      const auto [in_left, in_right] = std::ranges::mismatch(left, right);
      const bool flipped = (in_left - left.begin()) % 2 != 0;
      if (in_left == left.end() && in_right == right.end()) return false;
      const bool left_has = in_right == right.end() || (in_left != left.end() && *in_left < *in_right);
      return left_has != flipped;
    });
    return order;
  }

  const ShareSets& all_;
  std::span<const Index> sets_;
  std::vector<std::uint8_t> used_;
  Grouped ranks_;  // ranks of each set's partitions
  Grouped with_;   // sets of each rank
  std::vector<Index> by_size_, common_, touched_;
  std::size_t first_left_ = 0;
};

}  // namespace

std::vector<std::uint32_t> rename(std::span<const std::uint64_t> offsets,
                                  std::span<const std::uint32_t> partitions, std::uint32_t count,
                                  std::uint64_t steps, const Workers& workers) {
  const std::size_t vertices = offsets.size() - 1;
  const ShareSets sets(offsets, partitions, workers);
  const Grouped sets_of = grouped(sets.size(), count, [&](std::size_t set, auto&& put) {
    for (const std::uint32_t one : sets.partitions(static_cast<Index>(set))) put(one);
  });
  std::vector<std::uint64_t> left(count, 0);  // vertices without a new id
  std::priority_queue<std::pair<std::uint64_t, std::int64_t>> largest;
  for (std::uint32_t one = 0; one < count; ++one) {
    for (const Index set : sets_of.of(one)) left[one] += sets.vertices(set).size();
    if (left[one] > 0) largest.emplace(left[one], -std::int64_t{one});
  }
  std::vector<std::uint32_t> renamed(vertices, kNone);
  std::vector<std::uint8_t> placed(sets.size(), 0);
  std::vector<Index> rank_of(count, kNone), subs;
  std::uint32_t id = 0;
  while (!largest.empty()) {
    const auto [size, negative] = largest.top();
    largest.pop();
    const auto partition = static_cast<std::uint32_t>(-negative);
    if (size != left[partition]) {
      if (left[partition] > 0) largest.emplace(left[partition], negative);
      continue;
    }
    workers.check();
    subs.clear();
    for (const Index set : sets_of.of(partition))
      if (!placed[set]) subs.push_back(set);
    Chain(sets, subs, partition, rank_of).walk(steps, workers, [&](Index set) {
      placed[set] = 1;
      for (const Index vertex : sets.vertices(set)) renamed[vertex] = id++;
      for (const std::uint32_t one : sets.partitions(set)) left[one] -= sets.vertices(set).size();
    });
  }
  for (std::uint32_t& one : renamed)
    if (one == kNone) one = id++;
  return renamed;
}

}  // namespace motiflux::pcsr
