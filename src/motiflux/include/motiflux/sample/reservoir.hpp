// Reservoirs: one of the refined candidates is kept.
//
// Candidates come in blocks of 32, by their index in the row, and a reservoir of one is kept (gSWORD,
// Algorithm 3): a block with c refined candidates, after T - c in earlier blocks, replaces the kept candidate
// with probability c / T by one of its own, uniformly. One draw per nonempty block, keyed by the block's
// number; so a warp that tests a block at once and a lane that walks it choose the same.
//
// A key is any type that `draw(key, purpose, level, part)` takes: sample::Key, or a key with precomputed
// numbers.
#pragma once

#include "motiflux/sample/inherit.hpp"
#include "motiflux/sample/policy.hpp"
#include "motiflux/sample/random.hpp"

namespace motiflux::sample {

inline constexpr std::uint32_t kBlock = 32;

struct Choice {
  std::uint32_t value;
  double factor;  // factor of the weight: 1 / probability; 0: no candidate
};

// A reservoir of one for candidates of equal weight.
struct UniformReservoir {
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

// The weighted candidates of one block: A-Res (Efraimidis, Spirakis) takes the candidate with the greatest
// log(r) / weight, hence the greatest r^(1 / weight).
struct WeightedBlock {
  double sum = 0;
  double key = 0;
  double weight = 0;  // of the best so far; 0: none
  std::uint64_t best = 0;

  MOTIFLUX_HOST_DEVICE void enter(std::uint64_t index, double weight_of_it, double key_of_it) {
    if (weight == 0 || key_of_it > key) {
      key = key_of_it;
      weight = weight_of_it;
      best = index;
    }
    sum += weight_of_it;
  }
};

// A reservoir of one for weighted candidates: within a block by A-Res, across blocks as above.
struct WeightedReservoir {
  double total = 0;
  double weight = 0;  // of the kept candidate
  std::uint64_t kept = 0;

  template <class Key>
  MOTIFLUX_HOST_DEVICE void add(const Key& key, std::uint32_t level, std::uint32_t block,
                                const WeightedBlock& candidates) {
    if (!(candidates.sum > 0)) return;
    total += candidates.sum;
    const random::Words words = draw(key, Purpose::kChoice, level, block);
    if (random::unit(random::joined(words.word[0], words.word[1])) * total >= candidates.sum) return;
    kept = candidates.best;
    weight = candidates.weight;
  }
};

// The key of a candidate with a weight above 0.
template <class Key>
MOTIFLUX_HOST_DEVICE inline double reservoir_key(const Key& key, std::uint32_t level, std::uint32_t index,
                                                 double weight) {
  const random::Words words = draw(key, Purpose::kKey, level, index);
  // 1 - u is in (0, 1]: its logarithm is finite.
  return log(1 - random::unit(random::joined(words.word[0], words.word[1]))) / weight;
}

// Refines the candidates of a row block by block, and keeps one. A lane tests them alone, or the lanes of a
// warp together; each block goes to the reservoir of the lane whose sample it belongs to.
template <class Policy, Pick pick = Policy::kPick>
class CandidateReservoir {
 public:
  template <class State, class Key>
  MOTIFLUX_HOST_DEVICE void refine_block(const CandidateGraph& graph, const State& state, std::uint32_t level,
                                         const Row& row, std::uint64_t begin, std::uint32_t count,
                                         const Key&) {
    for (std::uint32_t i = 0; i < count; ++i)
      if (Policy::refine(graph, state, level, row, row[begin + i])) refined_ |= 1u << i;
  }

  // Notes which candidates of the block passed: bits, from the candidate at `place` on.
  MOTIFLUX_HOST_DEVICE void note(std::uint32_t passed, std::uint32_t place) { refined_ |= passed << place; }

  template <class Key>
  MOTIFLUX_HOST_DEVICE void end_block(const Key& key, std::uint32_t level, std::uint32_t block) {
    reservoir_.add(key, level, block, refined_);
    refined_ = 0;
  }

  MOTIFLUX_HOST_DEVICE Choice choice(const Row& row) const {
    if (reservoir_.total == 0) return {0, 0};
    return {row[reservoir_.kept], static_cast<double>(reservoir_.total)};
  }

 private:
  UniformReservoir reservoir_;
  std::uint32_t refined_ = 0;
};

template <class Policy>
class CandidateReservoir<Policy, Pick::kWeighted> {
 public:
  // The weight of a candidate, 0 if it is rejected, and its key.
  template <class State, class Key>
  MOTIFLUX_HOST_DEVICE static double weigh(const CandidateGraph& graph, const State& state,
                                           std::uint32_t level, const Row& row, std::uint64_t index,
                                           const Key& key, double& key_of_it) {
    if (!Policy::refine(graph, state, level, row, row[index])) return 0;
    const double weight = Policy::sample(graph, state, level, row, row[index]);
    if (!(weight > 0)) return 0;
    key_of_it = reservoir_key(key, level, static_cast<std::uint32_t>(index), weight);
    return weight;
  }

  template <class State, class Key>
  MOTIFLUX_HOST_DEVICE void refine_block(const CandidateGraph& graph, const State& state, std::uint32_t level,
                                         const Row& row, std::uint64_t begin, std::uint32_t count,
                                         const Key& key) {
    for (std::uint64_t index = begin; index < begin + count; ++index) {
      double own = 0;
      const double weight = weigh(graph, state, level, row, index, key, own);
      if (weight > 0) block_.enter(index, weight, own);
    }
  }

  MOTIFLUX_HOST_DEVICE void note(std::uint64_t index, double weight, double key) {
    if (weight > 0) block_.enter(index, weight, key);
  }

  template <class Key>
  MOTIFLUX_HOST_DEVICE void end_block(const Key& key, std::uint32_t level, std::uint32_t block) {
    reservoir_.add(key, level, block, block_);
    block_ = {};
  }

  MOTIFLUX_HOST_DEVICE Choice choice(const Row& row) const {
    if (reservoir_.weight == 0) return {0, 0};
    return {row[reservoir_.kept], reservoir_.total / reservoir_.weight};
  }

 private:
  WeightedReservoir reservoir_;
  WeightedBlock block_;
};

// The size of the block of a row that begins at `begin`; 0 behind the row's end.
MOTIFLUX_HOST_DEVICE inline std::uint32_t block_size(const Row& row, std::uint64_t begin) {
  if (begin >= row.size) return 0;
  return row.size - begin < kBlock ? static_cast<std::uint32_t>(row.size - begin) : kBlock;
}

}  // namespace motiflux::sample
