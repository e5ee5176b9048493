// Intersections of ascending lists of distinct vertices.
//
// Two methods: a merge, and galloping for lists of very different length. A policy selects the method and the
// instructions of merges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sets/routines.hpp"
#include "sets/span.hpp"

namespace motiflux::sets {

enum class Method : int { kAuto = 0, kMerge = 1, kGallop = 2 };

// For estimates of work, with any instructions: lists whose lengths differ by this factor are not read in
// full.
inline constexpr std::size_t kGallopRatio = 32;

// The method and the instructions of intersections.
struct Policy {
  Policy(Method intersect = Method::kAuto, Simd simd = best_here())
      : method(intersect), routines(&routines_of(simd)) {}

  bool gallops(std::size_t small, std::size_t large) const {
    if (method != Method::kAuto) return method == Method::kGallop;
    return large / (small < routines->few ? routines->gallop_ratio_of_few : routines->gallop_ratio) > small;
  }
  // Whether to look up `changing` elements in a marked set of `stable` elements rather than to intersect.
  bool marks(std::size_t stable, std::size_t changing) const {
    return method == Method::kAuto && !gallops(stable, changing) &&
           (changing < kLongList || stable > routines->merge_ratio * changing);
  }

  Method method;
  const Routines* routines;
};

// First element of [first, last) not less than `vertex`, searched from `first` on.
inline const std::uint32_t* gallop(const std::uint32_t* first, const std::uint32_t* last,
                                   std::uint32_t vertex) {
  std::size_t step = 1;
  const std::uint32_t* probe = first;
  while (static_cast<std::size_t>(last - probe) > step && probe[step] < vertex) {
    probe += step;
    step *= 2;
  }
  const std::uint32_t* bound = static_cast<std::size_t>(last - probe) > step ? probe + step + 1 : last;
  return lower_bound({probe, bound}, vertex);
}

// Calls found(vertex) for each common vertex, ascending. `small` is the shorter list.
template <class Found>
void intersect_gallop(Span small, Span large, Found&& found) {
  const std::uint32_t* at = large.first;
  for (std::uint32_t vertex : small) {
    at = gallop(at, large.last, vertex);
    if (at == large.last) return;
    if (*at == vertex) found(vertex);
  }
}

// Size of the intersection.
inline std::size_t count_common(Span a, Span b, const Policy& policy) {
  if (a.size() > b.size()) std::swap(a, b);
  if (!policy.gallops(a.size(), b.size())) return policy.routines->count(a, b);
  std::size_t common = 0;
  intersect_gallop(a, b, [&](std::uint32_t) { ++common; });
  return common;
}

// Writes the intersection to `out`, which has room for the shorter list and may be the start of either
// list; returns its size.
inline std::size_t intersect(Span a, Span b, std::uint32_t* out, const Policy& policy) {
  if (a.size() > b.size()) std::swap(a, b);
  if (!policy.gallops(a.size(), b.size())) return policy.routines->write(a, b, out);
  std::uint32_t* write = out;
  intersect_gallop(a, b, [&](std::uint32_t vertex) { *write++ = vertex; });
  return static_cast<std::size_t>(write - out);
}

// Writes the elements of `from` that are not in `less` to `out`, which has room for all of `from` and may be
// its start; returns their number.
inline std::size_t subtract(Span from, Span less, std::uint32_t* out) {
  std::uint32_t* write = out;
  if (less.size() / kGallopRatio > from.size()) {
    const std::uint32_t* at = less.first;
    for (std::uint32_t vertex : from) {
      at = gallop(at, less.last, vertex);
      if (at == less.last || *at != vertex) *write++ = vertex;
    }
    return static_cast<std::size_t>(write - out);
  }
  const std::uint32_t *read = from.first, *at = less.first;
  while (read != from.last && at != less.last) {
    const std::uint32_t vertex = *read, other = *at;
    *write = vertex;
    write += vertex < other;
    read += vertex <= other;
    at += other <= vertex;
  }
  write = std::copy(read, from.last, write);
  return static_cast<std::size_t>(write - out);
}

}  // namespace motiflux::sets
