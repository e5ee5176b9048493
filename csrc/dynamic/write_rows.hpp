// Writes matches as rows: the vertex of each query vertex.
//
//   image [0 3 1 2], last level 3      row   value[0]  last[0]  value[1]  value[2]
//                                            value[0]  last[1]  value[1]  value[2]
//                                            ...
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "dynamic/graph.hpp"
#include "dynamic/plan.hpp"
#include "sets/intersect.hpp"

namespace motiflux::dynamic {

using Image = std::vector<std::uint8_t>;  // the level of each query vertex

// The width is a constant, so that a row is copied by one or two moves from registers and takes about 1 ns.
template <std::size_t kWidth>
void write_rows(const Vertex* value, std::uint8_t last_level, std::span<const Image> images, sets::Span last,
                Vertex* out) {
  for (const Image& image : images) {
    std::array<Vertex, kWidth> row;
    std::size_t varied = 0;
    for (std::size_t query = 0; query < kWidth; ++query) {
      row[query] = value[image[query]];
      if (image[query] == last_level) varied = query;
    }
    for (Vertex vertex : last) {
      std::memcpy(out, row.data(), sizeof row);
      out[varied] = vertex;
      out += kWidth;
    }
  }
}

inline void write_wide_rows(const Vertex* value, std::size_t width, std::uint8_t last_level,
                            std::span<const Image> images, sets::Span last, Vertex* out) {
  for (const Image& image : images)
    for (Vertex vertex : last) {
      for (std::size_t query = 0; query < width; ++query)
        out[query] = image[query] == last_level ? vertex : value[image[query]];
      out += width;
    }
}

// Writes images.size() * last.size() rows: for each image, the levels before the last with the vertices
// `value`, and `last_level` with each of `last`. A row has `width` vertices.
inline void write_rows(const Vertex* value, std::size_t width, std::uint8_t last_level,
                       std::span<const Image> images, sets::Span last, Vertex* out) {
  switch (width) {
    case 2:
      return write_rows<2>(value, last_level, images, last, out);
    case 3:
      return write_rows<3>(value, last_level, images, last, out);
    case 4:
      return write_rows<4>(value, last_level, images, last, out);
    case 5:
      return write_rows<5>(value, last_level, images, last, out);
    case 6:
      return write_rows<6>(value, last_level, images, last, out);
    case 7:
      return write_rows<7>(value, last_level, images, last, out);
    case 8:
      return write_rows<8>(value, last_level, images, last, out);
    default:
      return write_wide_rows(value, width, last_level, images, last, out);
  }
}

// Replaces a match by its least image along the orbits.
inline void make_canonical(std::span<const Orbit> orbits, std::span<Vertex> row,
                           std::vector<Vertex>& scratch) {
  for (const Orbit& orbit : orbits) {
    const auto least = std::min_element(
        orbit.images.begin(), orbit.images.end(),
        [&](const Orbit::Image& a, const Orbit::Image& b) { return row[a.vertex] < row[b.vertex]; });
    if (least->vertex == orbit.point) continue;
    scratch.resize(row.size());
    for (std::size_t query = 0; query < row.size(); ++query) scratch[query] = row[least->moves[query]];
    std::copy(scratch.begin(), scratch.end(), row.begin());
  }
}

}  // namespace motiflux::dynamic
