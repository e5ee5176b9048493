// Maps a user's values (ids or labels) to dense numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::graph {

// Entry i is the Integer at data + i * stride (in bytes).
template <class Integer>
struct IntegerColumn {
  const std::byte* data;
  std::size_t size;
  std::ptrdiff_t stride;

  Integer operator[](std::size_t index) const {
    return *reinterpret_cast<const Integer*>(data + static_cast<std::ptrdiff_t>(index) * stride);
  }
};

// `codes` has, for each column, the position of each of its entries in `values`.
struct Numbered {
  std::vector<std::int64_t> values;  // distinct, ascending
  std::vector<std::vector<std::uint32_t>> codes;
};

// Numbers the entries of all columns together. Values close to each other are marked in a bitmap, whose ones
// are counted; other values go to a hash table that all threads fill. Integer is std::int64_t, std::int32_t
// or std::uint32_t. Throws std::invalid_argument beyond 2^32 - 2 distinct values.
template <class Integer>
Numbered number_integers(std::span<const IntegerColumn<Integer>> columns, const Workers& workers);

// Column c has sizes[c] rows of `width` bytes each, one after the other from data[c].
struct ByteRows {
  std::vector<const std::uint8_t*> data;
  std::vector<std::size_t> sizes;
  std::size_t width;
};

struct NumberedRows {
  std::vector<std::uint8_t> values;  // distinct rows, in no order
  std::vector<std::vector<std::uint32_t>> codes;
};

NumberedRows number_rows(const ByteRows& columns, const Workers& workers);

}  // namespace motiflux::graph
