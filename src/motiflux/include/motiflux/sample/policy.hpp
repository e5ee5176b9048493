// Refine, Sample, Validate: an estimator is a type with these three functions, and what they leave to others.
//
//   struct Policy {
//     static constexpr Pick kPick;
//     // Whether refine may turn a candidate of the level down, or sample prefer one; if not, neither is
//     called. static bool refines(const Level&);
//     // Of the candidates of a row, those that may be chosen.
//     template <class State>
//     static bool refine(const CandidateGraph&, const State&, std::uint32_t level, const Row&,
//                        std::uint32_t candidate);
//     // How often a refined candidate is chosen, in proportion; at least 0. Called if kPick is kWeighted.
//     template <class State>
//     static double sample(const CandidateGraph&, const State&, std::uint32_t level, const Row&,
//                          std::uint32_t candidate);
//     // Whether the sample lives on with the chosen candidate.
//     template <class State>
//     static bool validate(const CandidateGraph&, const State&, std::uint32_t level, const Row&,
//                          std::uint32_t candidate);
//   };
//
// All are MOTIFLUX_HOST_DEVICE. The estimate is unbiased if refine, sample and validate together let through
// every candidate with which the sample so far can grow into an embedding, and validate nothing that cannot
// be one: `is_joined` and `is_apart` (rules.hpp), in whichever of refine and validate. Level 0 has no source:
// its candidates, the roots, are all taken alike, and `validate` is called with a row that no source has.
#pragma once

#include "motiflux/sample/graph.hpp"

namespace motiflux::sample {

// How a candidate is chosen.
enum class Pick : std::uint8_t {
  kAny,       // each of the row alike; refine and refines are not called
  kRefined,   // each of those that refine lets through alike
  kWeighted,  // of those, in proportion to what sample gives
  kSums,      // of the row that the tree follows, in proportion to the trees below it (tree.hpp)
};

}  // namespace motiflux::sample
