// Intersections of ascending lists of distinct vertices.
//
// Two methods: a branch-free merge, and galloping for lists of very different length. `Method` chooses;
// kAuto gallops when one list is kGallopRatio times the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace motiflux::sets {

struct Span {
  const std::uint32_t* first = nullptr;
  const std::uint32_t* last = nullptr;

  std::size_t size() const { return static_cast<std::size_t>(last - first); }
  const std::uint32_t* begin() const { return first; }
  const std::uint32_t* end() const { return last; }
};

enum class Method : int { kAuto = 0, kMerge = 1, kGallop = 2 };

inline constexpr std::size_t kGallopRatio = 32;

// The part of `span` with first_allowed <= vertex < end_allowed.
inline Span clip(Span span, std::uint64_t first_allowed, std::uint64_t end_allowed) {
  if (first_allowed > 0) span.first = std::lower_bound(span.first, span.last, first_allowed);
  if (end_allowed <= UINT32_MAX) span.last = std::lower_bound(span.first, span.last, end_allowed);
  return span;
}

inline bool contains(Span span, std::uint32_t vertex) {
  return std::binary_search(span.first, span.last, vertex);
}

// First element of [first, last) not less than `vertex`, looked for near `first`.
inline const std::uint32_t* gallop(const std::uint32_t* first, const std::uint32_t* last,
                                   std::uint32_t vertex) {
  std::size_t step = 1;
  const std::uint32_t* probe = first;
  while (static_cast<std::size_t>(last - probe) > step && probe[step] < vertex) {
    probe += step;
    step *= 2;
  }
  const std::uint32_t* bound = static_cast<std::size_t>(last - probe) > step ? probe + step + 1 : last;
  return std::lower_bound(probe, bound, vertex);
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

inline bool gallops(Span small, Span large, Method method) {
  return method == Method::kGallop || (method == Method::kAuto && large.size() / kGallopRatio > small.size());
}

// Size of the intersection.
inline std::size_t count_common(Span a, Span b, Method method) {
  if (a.size() > b.size()) std::swap(a, b);
  std::size_t common = 0;
  if (gallops(a, b, method)) {
    intersect_gallop(a, b, [&](std::uint32_t) { ++common; });
    return common;
  }
  const std::uint32_t *i = a.first, *j = b.first;
  while (i != a.last && j != b.last) {
    const std::uint32_t x = *i, y = *j;
    common += x == y;
    i += x <= y;
    j += y <= x;
  }
  return common;
}

// Writes the intersection to `out`, which has room for the shorter list and may be the start of either
// list; returns its size.
inline std::size_t intersect(Span a, Span b, std::uint32_t* out, Method method) {
  if (a.size() > b.size()) std::swap(a, b);
  std::uint32_t* write = out;
  if (gallops(a, b, method)) {
    intersect_gallop(a, b, [&](std::uint32_t vertex) { *write++ = vertex; });
    return static_cast<std::size_t>(write - out);
  }
  const std::uint32_t *i = a.first, *j = b.first;
  while (i != a.last && j != b.last) {
    const std::uint32_t x = *i, y = *j;
    if (x == y) *write++ = x;
    i += x <= y;
    j += y <= x;
  }
  return static_cast<std::size_t>(write - out);
}

}  // namespace motiflux::sets
