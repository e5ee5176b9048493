// Refine, Sample, Validate: an estimator is a type with these three functions.
//
//   struct Policy {
//     static constexpr Pick kPick;
//     // Whether refine may reject a candidate of the level, or sample prefer one; if not, neither is called.
//     static bool refines(const Level&);
//     // Whether a candidate of a row may be chosen.
//     template <class State>
//     static bool refine(const CandidateGraph&, const State&, std::uint32_t level, const Row&,
//                        std::uint32_t candidate);
//     // The weight of a refined candidate for the choice; at least 0. Called if kPick is kWeighted.
//     template <class State>
//     static double sample(const CandidateGraph&, const State&, std::uint32_t level, const Row&,
//                          std::uint32_t candidate);
//     // Whether the sample lives on with the chosen candidate.
//     template <class State>
//     static bool validate(const CandidateGraph&, const State&, std::uint32_t level, const Row&,
//                          std::uint32_t candidate);
//   };
//
// All are MOTIFLUX_HOST_DEVICE. The estimate is unbiased if refine, sample and validate together accept every
// candidate with which the sample can grow into an embedding, and no final sample that is no embedding:
// `is_joined` and `is_apart` (rules.hpp), in refine or validate. Level 0 has no source: its candidates, the
// roots, are equally likely, and `validate` is called with a row without source.
#pragma once

#include "motiflux/sample/graph.hpp"

namespace motiflux::sample {

// How a candidate is chosen.
enum class Pick : std::uint8_t {
  kAny,       // uniformly from the row; refine and refines are not called
  kRefined,   // uniformly from the candidates that refine accepts
  kWeighted,  // from these, in proportion to the weights by sample
  kSums,      // from the tree's row, in proportion to the trees below (tree.hpp)
};

}  // namespace motiflux::sample
