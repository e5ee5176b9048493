// Choosing a candidate of a level, on one lane: Refine and Sample.
//
// Refined candidates are met in blocks of 32, by their index in the row, and a reservoir of one is kept
// (gSWORD, Algorithm 3): a block with c refined candidates after T - c before it puts one of its own, each
// alike, in place of the one kept with probability c / T. One draw per block that has any, keyed by the
// block's number; so a warp that tests a block at once and a lane that goes through it choose the same.
//
// A key is anything that `draw(key, purpose, level, part)` takes: sample::Key, or one that has numbers ready.
#pragma once

#include "motiflux/sample/inherit.hpp"
#include "motiflux/sample/policy.hpp"
#include "motiflux/sample/random.hpp"
#include "motiflux/sample/state.hpp"
#include "motiflux/sample/tree.hpp"

namespace motiflux::sample {

inline constexpr std::uint32_t kBlock = 32;

struct Choice {
  std::uint32_t value;
  double factor;  // what the weight is multiplied by: 1 / probability; 0: there was none to choose
};

// A reservoir of one for candidates that are taken alike.
struct Reservoir {
  std::uint64_t total = 0;
  std::uint64_t kept = 0;  // index in the row

  // Adds the candidates of a block whose bits are set in `refined`.
  template <class Key>
  MOTIFLUX_HOST_DEVICE void add(const Key& key, std::uint32_t level, std::uint32_t block,
                                std::uint32_t refined) {
    if (refined == 0) return;
    const std::uint32_t count = count_bits(refined);
    total += count;
    const random::Words words = draw(key, Purpose::kChoice, level, block);
    if (below(total, words.word[0], words.word[1]) >= count) return;
    const auto rank = static_cast<std::uint32_t>(below(count, words.word[2], words.word[3]));
    kept = std::uint64_t{block} * kBlock + bit_of_rank(refined, rank);
  }
};

// A reservoir of one for candidates with weights: within a block A-Res (Efraimidis, Spirakis) takes the
// candidate whose log(r) / weight is greatest, as r^(1 / weight) then is; across blocks as above.
struct WeightedReservoir {
  double total = 0;
  double weight = 0;  // of the one kept
  std::uint64_t kept = 0;

  // `best` is the candidate of the block with the greatest key, `sum` the weights of the block.
  template <class Key>
  MOTIFLUX_HOST_DEVICE void add(const Key& key, std::uint32_t level, std::uint32_t block, double sum,
                                std::uint64_t best, double weight_of_best) {
    if (!(sum > 0)) return;
    total += sum;
    const random::Words words = draw(key, Purpose::kChoice, level, block);
    if (random::unit(random::joined(words.word[0], words.word[1])) * total >= sum) return;
    kept = best;
    weight = weight_of_best;
  }
};

// The key of a candidate with a weight above 0.
template <class Key>
MOTIFLUX_HOST_DEVICE inline double race_key(const Key& key, std::uint32_t level, std::uint32_t index,
                                            double weight) {
  const random::Words words = draw(key, Purpose::kKey, level, index);
  // 1 - u is in (0, 1]: its logarithm is finite.
  return log(1 - random::unit(random::joined(words.word[0], words.word[1]))) / weight;
}

template <class Key>
MOTIFLUX_HOST_DEVICE inline Choice choose_any(const Row& row, const Key& key, std::uint32_t level) {
  if (row.size == 0) return {0, 0};
  const random::Words words = draw(key, Purpose::kChoice, level);
  return {row[below(row.size, words.word[0], words.word[1])], static_cast<double>(row.size)};
}

template <class Policy, class State, class Key>
MOTIFLUX_HOST_DEVICE inline Choice choose_refined(const CandidateGraph& graph, const State& state,
                                                  std::uint32_t level, const Row& row, const Key& key) {
  Reservoir reservoir;
  for (std::uint64_t begin = 0; begin < row.size; begin += kBlock) {
    const std::uint64_t left = row.size - begin, count = left < kBlock ? left : kBlock;
    std::uint32_t refined = 0;
    for (std::uint32_t i = 0; i < count; ++i)
      if (Policy::refine(graph, state, level, row, row[begin + i])) refined |= 1u << i;
    reservoir.add(key, level, static_cast<std::uint32_t>(begin / kBlock), refined);
  }
  if (reservoir.total == 0) return {0, 0};
  return {row[reservoir.kept], static_cast<double>(reservoir.total)};
}

template <class Policy, class State, class Key>
MOTIFLUX_HOST_DEVICE inline Choice choose_weighted(const CandidateGraph& graph, const State& state,
                                                   std::uint32_t level, const Row& row, const Key& key) {
  WeightedReservoir reservoir;
  for (std::uint64_t begin = 0; begin < row.size; begin += kBlock) {
    const std::uint64_t left = row.size - begin, count = left < kBlock ? left : kBlock;
    double sum = 0, best_key = 0, best_weight = 0;
    std::uint64_t best = begin;
    for (std::uint64_t i = begin; i < begin + count; ++i) {
      if (!Policy::refine(graph, state, level, row, row[i])) continue;
      const double weight = Policy::sample(graph, state, level, row, row[i]);
      if (!(weight > 0)) continue;
      const double own = race_key(key, level, static_cast<std::uint32_t>(i), weight);
      if (best_weight == 0 || own > best_key) {
        best_key = own;
        best_weight = weight;
        best = i;
      }
      sum += weight;
    }
    reservoir.add(key, level, static_cast<std::uint32_t>(begin / kBlock), sum, best, best_weight);
  }
  if (reservoir.weight == 0) return {0, 0};
  return {row[reservoir.kept], reservoir.total / reservoir.weight};
}

// The tree's: a sample has the weight of all trees from the start. Without sums, all candidates are alike.
template <class Key>
MOTIFLUX_HOST_DEVICE inline Choice choose_by_sums(const Row& row, const double* sums, const Key& key,
                                                  std::uint32_t level) {
  if (row.size == 0 || (sums && !(sums[row.size - 1] > 0))) return {0, 0};
  const random::Words words = draw(key, Purpose::kChoice, level);
  if (!sums) return {row[below(row.size, words.word[0], words.word[1])], 1};
  const double point = random::unit(random::joined(words.word[0], words.word[1])) * sums[row.size - 1];
  return {row[place_of(sums, row.size, point)], 1};
}

// The weight of a sample that has no vertex yet.
template <class Policy>
MOTIFLUX_HOST_DEVICE inline double first_weight(const CandidateGraph& graph) {
  return Policy::kPick == Pick::kSums ? graph.trees : kUnit;
}

// Takes a sample one level on, by a policy: GetMinCandidate, Refine, Sample, Validate. Its weight is 0 if it
// dies. Returns the work: rows read, and candidates that were refined.
template <class Policy, class Key>
MOTIFLUX_HOST_DEVICE inline std::uint64_t extend(const CandidateGraph& graph, State& state,
                                                 std::uint32_t level, const Key& key) {
  const Level& at = graph.level[level];
  const bool refines = Policy::kPick != Pick::kAny && level > 0 && Policy::refines(at);
  Row row = level == 0 ? roots_of(graph) : Row{};
  Choice choice{0, 0};
  if constexpr (Policy::kPick == Pick::kSums) {
    if (level > 0) row = row_of(graph, state, level, at.tree_source);
    const double* sums = level == 0 ? graph.root_sums : sums_of(graph, state, level);
    choice = choose_by_sums(row, sums, key, level);
  } else {
    if (level > 0) row = shortest_row(graph, state, level);
    if (!refines)
      choice = choose_any(row, key, level);
    else if constexpr (Policy::kPick == Pick::kRefined)
      choice = choose_refined<Policy>(graph, state, level, row, key);
    else if constexpr (Policy::kPick == Pick::kWeighted)
      choice = choose_weighted<Policy>(graph, state, level, row, key);
  }
  state.values[level] = choice.value;
  state.weight *= choice.factor;
  if (state.weight > 0 && !Policy::validate(graph, state, level, row, choice.value)) state.weight = 0;
  return 1 + at.source_count + (refines ? row.size : 0);
}

}  // namespace motiflux::sample
