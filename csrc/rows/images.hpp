// The images of rows under automorphisms of the pattern: its rows with their columns in other orders.
#pragma once

#include <cstdint>
#include <span>

#include "common/parallel.hpp"
#include "rows/gather.hpp"

namespace motiflux::rows {

// The images of each row, one after another: `sources` has the source column of each of their cells. out[row
// * sources.size() + i] = cells[row * columns + sources[i]].
void write_images(const Block& block, std::span<const std::uint32_t> sources, std::uint32_t* out,
                  const Workers& workers);

// The requested images: [first, last) of all images of all rows in order.
struct SomeImages {
  std::span<const std::uint32_t> sources;
  std::size_t first;
  std::size_t last;
};

inline constexpr std::size_t kMostColumns = 64;

// Some images as ids; ids are looked up once per row. Throws as gather_rows does.
void gather_images(const Block& block, const SomeImages& images, std::span<const std::int64_t> ids,
                   std::int64_t* out, const Workers& workers);

}  // namespace motiflux::rows
