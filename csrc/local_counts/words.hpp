// Tables of local counts: one number per root, of one or more 64-bit words, low words first. Sums and
// products take as many words as they need, so nothing overflows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "common/total.hpp"
#include "common/wide.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

struct Table {
  std::span<const std::uint64_t> words;
  std::size_t width;

  std::size_t size() const { return words.size() / width; }
  const std::uint64_t* operator[](std::size_t at) const { return words.data() + at * width; }
};

struct OwnedTable {
  std::vector<std::uint64_t> words;
  std::size_t width;
};

// The numbers in one word each if they fit, else in two.
OwnedTable table_of(std::span<const Total> numbers, const Workers& workers);

// a[i] * b[i].
OwnedTable product(const Table& a, const Table& b, const Workers& workers);

// a[i] - times * b[i]. Throws std::logic_error if a result is negative.
OwnedTable minus(const Table& a, std::uint64_t times, const Table& b, const Workers& workers);

// The sum of each row.
OwnedTable row_sums(std::span<const std::uint64_t> offsets, const Table& table, const Workers& workers);

// For each arc, the number of its target.
OwnedTable of_targets(const view::Adjacency& rows, std::uint32_t vertices, const Table& table,
                      const Workers& workers);

// For each arc, the number of its source.
OwnedTable of_sources(const view::Adjacency& rows, std::uint32_t vertices, const Table& table,
                      const Workers& workers);

// The sum of all.
Wide sum(const Table& table, const Workers& workers);

}  // namespace motiflux::local_counts
