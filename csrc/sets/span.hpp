// Ascending lists of distinct vertices.
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

// The part of `span` with first_allowed <= vertex < end_allowed.
inline Span clip(Span span, std::uint64_t first_allowed, std::uint64_t end_allowed) {
  if (first_allowed > 0) span.first = std::lower_bound(span.first, span.last, first_allowed);
  if (end_allowed <= UINT32_MAX) span.last = std::lower_bound(span.first, span.last, end_allowed);
  return span;
}

inline bool contains(Span span, std::uint32_t vertex) {
  return std::binary_search(span.first, span.last, vertex);
}

}  // namespace motiflux::sets
