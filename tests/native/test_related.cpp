// Numbers of pairs of rows that a comparison joins, against all pairs.
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "copies/related.hpp"
#include "draw_comparison.hpp"

namespace {

using namespace motiflux::copies;

struct Table {
  std::vector<std::uint32_t> cells;
  std::vector<std::int64_t> values;

  ValuedRows rows() const { return {cells, 2, values}; }
};

Table draw_table(std::mt19937_64& random, bool floats) {
  Table table;
  for (std::size_t row = random() % 12; row > 0; --row) {
    for (int column = 0; column < 2; ++column)
      table.cells.push_back(static_cast<std::uint32_t>(random() % 3));
    table.values.push_back(floats ? bits(draw_double(random)) : draw_integer(random));
  }
  return table;
}

std::uint64_t all_pairs(const Comparison& one, bool left, const ValuedRows& held, const ValuedRows& others,
                        const std::vector<SameCell>& same) {
  std::uint64_t found = 0;
  for (std::size_t row = 0; row < held.size(); ++row)
    for (std::size_t other = 0; other < others.size(); ++other) {
      bool fits = left ? holds(one, held.values[row], others.values[other])
                       : holds(one, others.values[other], held.values[row]);
      for (const SameCell& cell : same)
        fits = fits && held.row(row)[cell.held] == others.row(other)[cell.other];
      found += fits;
    }
  return found;
}

}  // namespace

int main() {
  std::mt19937_64 random(17);
  std::uint64_t found = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Comparison one = draw_comparison(random);
    const Table held = draw_table(random, one.floats), others = draw_table(random, one.floats);
    const bool left = random() % 2 == 0;
    RelatedRows related(one, left, held.rows());
    const std::vector<std::vector<SameCell>> sets{{}, {{0, 1}}, {{1, 1}}, {{0, 0}, {1, 1}}, {{1, 0}, {0, 1}}};
    for (const std::vector<SameCell>& same : sets) {
      const std::uint64_t expected = all_pairs(one, left, held.rows(), others.rows(), same);
      CHECK(related.count(others.rows(), same) == expected);
      found += expected;
    }
  }
  CHECK(found > 100'000);
  return 0;
}
