// Choosing a candidate of a level, on one lane: Refine, Sample, Validate.
#pragma once

#include "motiflux/sample/reservoir.hpp"
#include "motiflux/sample/state.hpp"
#include "motiflux/sample/tree.hpp"

namespace motiflux::sample {

template <class Key>
MOTIFLUX_HOST_DEVICE inline Choice choose_any(const Row& row, const Key& key, std::uint32_t level) {
  if (row.size == 0) return {0, 0};
  const random::Words words = draw(key, Purpose::kChoice, level);
  return {row[below(row.size, words.word[0], words.word[1])], static_cast<double>(row.size)};
}

template <class Policy, class State, class Key>
MOTIFLUX_HOST_DEVICE inline Choice choose_refined(const CandidateGraph& graph, const State& state,
                                                  std::uint32_t level, const Row& row, const Key& key) {
  CandidateReservoir<Policy> reservoir;
  for (std::uint64_t begin = 0; begin < row.size; begin += kBlock) {
    reservoir.refine_block(graph, state, level, row, begin, block_size(row, begin), key);
    reservoir.end_block(key, level, static_cast<std::uint32_t>(begin / kBlock));
  }
  return reservoir.choice(row);
}

// For the tree estimator: a sample starts with the weight of all trees. Without sums, all candidates are
// equally likely.
template <class Key>
MOTIFLUX_HOST_DEVICE inline Choice choose_by_sums(const Row& row, const double* sums, const Key& key,
                                                  std::uint32_t level) {
  if (row.size == 0 || (sums && !(sums[row.size - 1] > 0))) return {0, 0};
  const random::Words words = draw(key, Purpose::kChoice, level);
  if (!sums) return {row[below(row.size, words.word[0], words.word[1])], 1};
  const double point = random::unit(random::joined(words.word[0], words.word[1])) * sums[row.size - 1];
  return {row[place_of(sums, row.size, point)], 1};
}

// The weight of a sample without vertices.
template <class Policy>
MOTIFLUX_HOST_DEVICE inline double first_weight(const CandidateGraph& graph) {
  return Policy::kPick == Pick::kSums ? graph.trees : kUnit;
}

// Whether candidates of a level are refined.
template <class Policy>
MOTIFLUX_HOST_DEVICE inline bool refines(const CandidateGraph& graph, std::uint32_t level) {
  if constexpr (Policy::kPick == Pick::kRefined || Policy::kPick == Pick::kWeighted)
    return level > 0 && Policy::refines(graph.level[level]);
  else
    return false;
}

// The row to choose from: GetMinCandidate, or the row of the tree's source.
template <class Policy, class State>
MOTIFLUX_HOST_DEVICE inline Row row_to_choose_from(const CandidateGraph& graph, const State& state,
                                                   std::uint32_t level) {
  if (level == 0) return roots_of(graph);
  if constexpr (Policy::kPick == Pick::kSums)
    return row_of(graph, state, level, graph.level[level].tree_source);
  else
    return shortest_row(graph, state, level);
}

// Sample, if candidates are not refined.
template <class Policy, class State, class Key>
MOTIFLUX_HOST_DEVICE inline Choice choose_unrefined(const CandidateGraph& graph, const State& state,
                                                    std::uint32_t level, const Row& row, const Key& key) {
  if constexpr (Policy::kPick == Pick::kSums)
    return choose_by_sums(row, level == 0 ? graph.root_sums : sums_of(graph, state, level), key, level);
  else
    return choose_any(row, key, level);
}

// Validate: the sample takes the chosen candidate, or its weight becomes 0.
template <class Policy, class State>
MOTIFLUX_HOST_DEVICE inline void settle(const CandidateGraph& graph, State& state, std::uint32_t level,
                                        const Row& row, const Choice& choice) {
  state.take(level, choice.value);
  state.weight *= choice.factor;
  if (state.weight > 0 && !Policy::validate(graph, state, level, row, choice.value)) state.weight = 0;
}

// The work of a level: rows read, and candidates that were refined.
MOTIFLUX_HOST_DEVICE inline std::uint64_t work_of(const CandidateGraph& graph, std::uint32_t level,
                                                  const Row& row, bool refined) {
  return 1 + graph.level[level].source_count + (refined ? row.size : 0);
}

// Extends a sample by one level, by a policy. Its weight is 0 if it dies. Returns the work.
template <class Policy, class State, class Key>
MOTIFLUX_HOST_DEVICE inline std::uint64_t extend(const CandidateGraph& graph, State& state,
                                                 std::uint32_t level, const Key& key) {
  const bool refined = refines<Policy>(graph, level);
  const Row row = row_to_choose_from<Policy>(graph, state, level);
  Choice choice{0, 0};
  if constexpr (Policy::kPick == Pick::kRefined || Policy::kPick == Pick::kWeighted)
    if (refined) choice = choose_refined<Policy>(graph, state, level, row, key);
  if (!refined) choice = choose_unrefined<Policy>(graph, state, level, row, key);
  settle<Policy>(graph, state, level, row, choice);
  return work_of(graph, level, row, refined);
}

}  // namespace motiflux::sample
