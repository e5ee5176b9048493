// The arguments of the kernel that counts by images (match/images.cuh), beside its plan and its task.
#pragma once

#include "motiflux/match/task.hpp"

namespace motiflux::match {

inline constexpr std::uint32_t kMostPlaces = 64;
inline constexpr std::uint32_t kNoLevel = ~std::uint32_t{0};

struct ImagePlace {
  std::uint32_t level;
  std::uint32_t target;  // the level of an arc's target; kNoLevel: the place is a vertex
  // The number of vertex 0; or that of the first arc, less the address of its neighbour in words of 4 bytes,
  // modulo 2^64: so a kernel keeps one number less while it looks for an arc.
  std::uint64_t first;
  view::Adjacency arcs;  // of a place with two levels: the rows in which arcs have their positions
};

struct ImageTask {
  ImagePlace places[kMostPlaces];
  std::uint32_t ends[view::kMaxLevels];  // by level: the places with no deeper level end here
  std::uint64_t* numbers;
};

template <class Plan>
struct ImageArgs {
  Plan plan;
  Task task;
  ImageTask images;
};

}  // namespace motiflux::match
