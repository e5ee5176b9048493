// Counts the ways to take one entry of each of two lists and a vertex of each of up to three sets, all
// vertices different.
//
//   entry   separator | separator | separator | ... | weight      number of ways for these separators
//
// The number of ways for the sets depends only on the *kind* of an entry: the number of its separators in
// each set and in each intersection of sets. So products of sums by kind count all pairs of entries; pairs
// that share a vertex are subtracted. The row of a vertex holds the weights, by kind, of the entries of the
// second list that contain the vertex; an entry of the first list adds up the rows of its separators. Pairs
// that share two vertices are then subtracted twice: they are found by their two vertices and added back, and
// pairs that share three are subtracted again. The time is about linear in the lists.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "common/wide.hpp"
#include "search/partitions.hpp"
#include "search/tail.hpp"

namespace motiflux::search {

template <class Weight>
struct Entry {
  std::array<std::uint32_t, kMostListed> vertices{};
  Weight weight{};
};

// The number of an entry's separators in each intersection of sets: two bits for each.
using Kind = std::uint32_t;

inline constexpr std::uint32_t kMasks = std::uint32_t{1} << kMostLevelsBesideLists;

// The kind of a vertex, by the mask of the sets that contain it.
inline constexpr std::array<Kind, kMasks> kKindOf = [] {
  std::array<Kind, kMasks> kinds{};
  for (std::uint32_t having = 1; having < kMasks; ++having)
    for (std::uint32_t mask = 1; mask <= having; ++mask)
      if ((mask & having) == mask) kinds[having] |= Kind{1} << (2 * (mask - 1));
  return kinds;
}();

// The sets, and the number of ways to take a vertex of each.
class LeafSets {
 public:
  static constexpr std::size_t kKinds = std::size_t{1} << (2 * (kMasks - 1));

  // Vertices are below `vertices`.
  void begin(std::size_t vertices) {
    having_.resize(vertices);
    for (std::uint32_t vertex : members_) having_[vertex] = 0;
    members_.clear();
    sets_ = 0;
  }
  void begin_set() { ++sets_; }
  // Adds to the set begun last.
  void add(std::uint32_t vertex) {
    if (having_[vertex] == 0) members_.push_back(vertex);
    having_[vertex] |= static_cast<std::uint8_t>(1u << (sets_ - 1));
  }
  // Called after the last add().
  void close() {
    sizes_.fill(0);
    for (std::uint32_t vertex : members_)
      for (std::uint32_t having = having_[vertex], mask = having; mask != 0; mask = (mask - 1) & having)
        ++sizes_[mask];
  }

  Kind kind(std::uint32_t vertex) const { return kKindOf[having_[vertex]]; }

  // An upper bound of the number of ways beside any two entries, and of every intermediate number.
  double most() const {
    double most = kTerms;
    for (std::size_t set = 0; set < sets_; ++set)
      most *= static_cast<double>(sizes_[std::size_t{1} << set] + 2 * kMostSeparators);
    return most;
  }

  template <class Sum>
  Sum ways(Kind a, Kind b) const {
    const auto left = [&](std::uint32_t mask) {
      const std::uint32_t shift = 2 * (mask - 1);
      return static_cast<Sum>(static_cast<std::int64_t>(sizes_[mask]) - (a >> shift & 3) - (b >> shift & 3));
    };
    switch (sets_) {
      case 0:
        return 1;
      case 1:
        return left(1);
      case 2:
        return left(1) * left(2) - left(3);
      default:
        return left(1) * left(2) * left(4) - left(3) * left(4) - left(5) * left(2) - left(6) * left(1) +
               2 * left(7);
    }
  }

 private:
  static constexpr double kTerms = 8;

  std::vector<std::uint8_t> having_;  // by vertex, the sets that contain it
  std::vector<std::uint32_t> members_;
  std::array<std::uint64_t, kMasks> sizes_{};  // of intersections
  std::size_t sets_ = 0;
};

// Numbers the kinds that occur.
class Kinds {
 public:
  void clear() {
    for (Kind kind : kinds_) numbers_[kind] = 0;
    kinds_.clear();
  }
  std::uint32_t number(Kind kind) {
    if (numbers_.empty()) numbers_.resize(LeafSets::kKinds);
    std::uint16_t& number = numbers_[kind];
    if (number == 0) {
      kinds_.push_back(kind);
      number = static_cast<std::uint16_t>(kinds_.size());
    }
    return number - 1u;
  }
  std::span<const Kind> all() const { return kinds_; }

 private:
  std::vector<std::uint16_t> numbers_;  // the number of a kind plus 1; 0: none
  std::vector<Kind> kinds_;
};

class DisjointPairs {
 public:
  // Arithmetic in `Sum` must be modular or exact up to eight times the product of all weights and
  // leaves.most(). work(steps) is called now and then with the number of steps since the last call, about a
  // nanosecond each; it may throw.
  template <class Sum, class Weight, class Work>
  Sum count(std::span<const Entry<Weight>> first, std::size_t first_separators,
            std::span<const Entry<Weight>> second, std::size_t second_separators, const LeafSets& leaves,
            std::size_t vertices, Work&& work);

 private:
  template <class Sum>
  struct Sums {
    std::vector<Sum> first, second;  // weights by kind
    std::vector<Sum> touching;       // by the kinds of both entries: weights of pairs that share a vertex
    std::vector<Sum> rows;           // by vertex and kind, of the second list
  };
  // Two separators of an entry of the second list, chained by their hash.
  struct Couple {
    std::uint32_t low, high, entry, next;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kChains = 1 << 12;
  static constexpr std::size_t kCheckEvery = 1 << 10;

  template <class Sum>
  static Sum to(const auto& weight) {
    return static_cast<Sum>(weight);
  }

  template <class Sum, class Weight>
  void index(std::span<const Entry<Weight>> second, std::size_t separators, const LeafSets& leaves,
             std::size_t vertices);
  void add_couple(std::uint32_t a, std::uint32_t b, std::uint32_t entry);
  template <class Sum, class Weight>
  void restore_shared(const Entry<Weight>& entry, std::size_t separators,
                      std::span<const Entry<Weight>> second, std::size_t second_separators,
                      Sum* touching) const;

  static std::size_t chain_of(std::uint32_t low, std::uint32_t high) {
    return (std::size_t{low} * 0x9E3779B1u + std::size_t{high} * 0x85EBCA77u) >> 7 & (kChains - 1);
  }

  Kinds first_kinds_, second_kinds_;
  std::vector<std::uint32_t> second_kind_;  // by entry, the number of its kind
  std::vector<std::uint32_t> row_of_;       // by vertex; kNone: in no entry of the second list
  std::vector<std::uint32_t> with_row_;     // vertices that have a row
  std::vector<std::uint32_t> chains_;       // by hash, the first of couples_
  std::vector<Couple> couples_;
  std::tuple<Sums<std::int64_t>, Sums<SignedTotal>, Sums<Wide>> sums_;
};

template <class Weight>
Kind kind_of(const Entry<Weight>& entry, std::size_t separators, const LeafSets& leaves) {
  Kind kind = 0;
  for (std::size_t separator = 0; separator < separators; ++separator)
    kind += leaves.kind(entry.vertices[separator]);
  return kind;
}

template <class Sum, class Weight>
void DisjointPairs::index(std::span<const Entry<Weight>> second, std::size_t separators,
                          const LeafSets& leaves, std::size_t vertices) {
  Sums<Sum>& sums = std::get<Sums<Sum>>(sums_);
  for (std::uint32_t vertex : with_row_) row_of_[vertex] = kNone;
  row_of_.resize(vertices, kNone);
  with_row_.clear();
  for (const Couple& couple : couples_) chains_[chain_of(couple.low, couple.high)] = kNone;
  chains_.resize(kChains, kNone);
  couples_.clear();
  second_kinds_.clear();
  second_kind_.clear();
  sums.second.clear();
  for (const Entry<Weight>& entry : second) {
    const std::uint32_t kind = second_kinds_.number(kind_of(entry, separators, leaves));
    if (kind == sums.second.size()) sums.second.emplace_back(0);
    sums.second[kind] += to<Sum>(entry.weight);
    second_kind_.push_back(kind);
  }
  const std::size_t width = sums.second.size();
  sums.rows.clear();
  for (std::uint32_t at = 0; at < second.size(); ++at)
    for (std::size_t separator = 0; separator < separators; ++separator) {
      const std::uint32_t vertex = second[at].vertices[separator];
      std::uint32_t& row = row_of_[vertex];
      if (row == kNone) {
        row = static_cast<std::uint32_t>(with_row_.size());
        with_row_.push_back(vertex);
        sums.rows.resize(sums.rows.size() + width, Sum(0));
      }
      sums.rows[row * width + second_kind_[at]] += to<Sum>(second[at].weight);
      for (std::size_t other = 0; other < separator; ++other)
        add_couple(vertex, second[at].vertices[other], at);
    }
}

inline void DisjointPairs::add_couple(std::uint32_t a, std::uint32_t b, std::uint32_t entry) {
  const std::uint32_t low = std::min(a, b), high = std::max(a, b);
  std::uint32_t& chain = chains_[chain_of(low, high)];
  couples_.push_back({low, high, entry, chain});
  chain = static_cast<std::uint32_t>(couples_.size() - 1);
}

// Entries of the second list that share two vertices with `entry` were added to `touching` twice: subtracts
// them once, and adds back entries that share three.
template <class Sum, class Weight>
void DisjointPairs::restore_shared(const Entry<Weight>& entry, std::size_t separators,
                                   std::span<const Entry<Weight>> second, std::size_t second_separators,
                                   Sum* touching) const {
  for (std::size_t separator = 1; separator < separators; ++separator)
    for (std::size_t other = 0; other < separator; ++other) {
      const std::uint32_t low = std::min(entry.vertices[separator], entry.vertices[other]);
      const std::uint32_t high = std::max(entry.vertices[separator], entry.vertices[other]);
      for (std::uint32_t at = chains_[chain_of(low, high)]; at != kNone; at = couples_[at].next) {
        const Couple& couple = couples_[at];
        if (couple.low != low || couple.high != high) continue;
        const Entry<Weight>& met = second[couple.entry];
        Sum weight = to<Sum>(entry.weight);
        weight *= to<Sum>(met.weight);
        touching[second_kind_[couple.entry]] -= weight;
        if (separator != 1 || separators < 3) continue;
        for (std::size_t own = 0; own < second_separators; ++own)
          if (met.vertices[own] == entry.vertices[2]) touching[second_kind_[couple.entry]] += weight;
      }
    }
}

template <class Sum, class Weight, class Work>
Sum DisjointPairs::count(std::span<const Entry<Weight>> first, std::size_t first_separators,
                         std::span<const Entry<Weight>> second, std::size_t second_separators,
                         const LeafSets& leaves, std::size_t vertices, Work&& work) {
  Sums<Sum>& sums = std::get<Sums<Sum>>(sums_);
  index<Sum>(second, second_separators, leaves, vertices);
  const std::size_t width = sums.second.size();
  work(second.size() * (4 + 4 * second_separators));
  first_kinds_.clear();
  sums.first.clear();
  sums.touching.clear();
  std::size_t steps = 0;
  const std::uint32_t* row_of = row_of_.data();
  const Sum* rows = sums.rows.data();
  for (std::size_t at = 0; at < first.size(); ++at) {
    const Entry<Weight>& entry = first[at];
    const std::uint32_t kind = first_kinds_.number(kind_of(entry, first_separators, leaves));
    if (kind == sums.first.size()) {
      sums.first.emplace_back(0);
      sums.touching.resize(sums.touching.size() + width, Sum(0));
    }
    const Sum weight = to<Sum>(entry.weight);
    sums.first[kind] += weight;
    Sum* touching = sums.touching.data() + kind * width;
    for (std::size_t separator = 0; separator < first_separators; ++separator) {
      const std::uint32_t row = row_of[entry.vertices[separator]];
      if (row == kNone) continue;
      const Sum* of_vertex = rows + row * width;
      for (std::size_t other = 0; other < width; ++other) {
        Sum more = of_vertex[other];
        more *= weight;
        touching[other] += more;
      }
    }
    restore_shared(entry, first_separators, second, second_separators, touching);
    steps += 4 + first_separators * width;
    if (at % kCheckEvery == kCheckEvery - 1) {
      work(steps);
      steps = 0;
    }
  }
  const std::span<const Kind> mine = first_kinds_.all(), others = second_kinds_.all();
  work(steps + 4 * mine.size() * width);
  Sum total(0);
  for (std::size_t a = 0; a < mine.size(); ++a)
    for (std::size_t b = 0; b < width; ++b) {
      Sum pairs = sums.first[a];
      pairs *= sums.second[b];
      pairs -= sums.touching[a * width + b];
      if constexpr (std::is_same_v<Sum, Wide>) {
        const SignedTotal ways = leaves.ways<SignedTotal>(mine[a], others[b]);
        pairs *= Wide(static_cast<Total>(ways < 0 ? -ways : ways));
        if (ways < 0)
          total -= pairs;
        else
          total += pairs;
      } else {
        total += pairs * leaves.ways<Sum>(mine[a], others[b]);
      }
    }
  return total;
}

}  // namespace motiflux::search
