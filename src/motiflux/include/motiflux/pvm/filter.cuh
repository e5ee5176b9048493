// Candidates of a query vertex by signatures, as GSI filters them, to compare with: 64 bytes for each vertex.
//
//   word 0      label of the vertex
//   word 1      number of its arcs
//   words 2-15  groups of 2 bits: neighbours by a label of edges, a label of vertices and a direction,
//               00 none, 01 one, 11 more
//
// Words are in columns, word `word * vertices + vertex`. A vertex is a candidate if it has the label, at
// least as many arcs, and all bits of the query vertex.
#pragma once

#include "motiflux/lanes/group.hpp"

namespace motiflux::pvm {

inline constexpr std::uint32_t kSignatureWords = 16;
inline constexpr std::uint32_t kLabelWord = 0, kArcsWord = 1;
inline constexpr std::uint32_t kEveryLabel = ~std::uint32_t{0};
inline constexpr std::uint32_t kFilterThreads = 256;

struct FilterArgs {
  const std::uint32_t* signatures;
  const std::uint32_t* among;  // bits by vertex: candidates are among these; null: all
  std::uint32_t* candidates;   // bits by vertex
  std::uint32_t vertices;
  std::uint32_t wanted[kSignatureWords];
};

MOTIFLUX_DEVICE bool has_signature(const FilterArgs& args, std::uint32_t vertex) {
  const std::uint64_t column = args.vertices;
  if (args.wanted[kLabelWord] != kEveryLabel && args.signatures[vertex] != args.wanted[kLabelWord])
    return false;
  if (args.signatures[kArcsWord * column + vertex] < args.wanted[kArcsWord]) return false;
  for (std::uint32_t word = kArcsWord + 1; word < kSignatureWords; ++word) {
    const std::uint32_t wanted = args.wanted[word];
    if (wanted != 0 && (args.signatures[word * column + vertex] & wanted) != wanted) return false;
  }
  return true;
}

// Each warp makes words of 32 vertices.
MOTIFLUX_DEVICE void filter(const FilterArgs& args) {
  const lanes::Group<32> warp;
  const std::uint32_t words = (args.vertices + 31) / 32;
  for (std::uint32_t word = warp.in_grid(); word < words; word += gridDim.x * (blockDim.x / 32)) {
    const std::uint32_t vertex = word * 32 + warp.lane();
    const std::uint32_t found = warp.ballot(vertex < args.vertices && has_signature(args, vertex));
    if (warp.leads()) args.candidates[word] = args.among == nullptr ? found : found & args.among[word];
  }
}

}  // namespace motiflux::pvm
