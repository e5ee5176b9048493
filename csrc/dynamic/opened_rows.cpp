#include "dynamic/opened_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/parallel.hpp"

namespace motiflux::dynamic {
namespace {

// Rows that a thread sorts: some 200 us.
constexpr std::size_t kRowsOfPiece = 4096;

bool is_opened_more(const OpenedRowSum& a, const OpenedRowSum& b) {
  return a.times != b.times ? a.times > b.times : a.key < b.key;
}

}  // namespace

void sort_opened_rows(std::span<OpenedRowSum> rows, int threads) {
  const std::size_t pieces = (rows.size() + kRowsOfPiece - 1) / kRowsOfPiece;
  const Workers workers{threads};
  const auto begin_of = [&](std::size_t piece) { return std::min(piece * kRowsOfPiece, rows.size()); };
  parallel_for(workers, pieces, 1, [&](std::size_t piece, std::size_t) {
    std::sort(rows.data() + begin_of(piece), rows.data() + begin_of(piece + 1), is_opened_more);
  });
  std::vector<OpenedRowSum> merged(pieces > 1 ? rows.size() : 0);
  std::span<OpenedRowSum> from = rows, to = merged;
  for (std::size_t together = 1; together < pieces; together *= 2) {
    const std::size_t pairs = (pieces + 2 * together - 1) / (2 * together);
    parallel_for(workers, pairs, 1, [&](std::size_t pair, std::size_t) {
      const std::size_t first = begin_of(2 * pair * together), middle = begin_of((2 * pair + 1) * together),
                        last = begin_of((2 * pair + 2) * together);
      std::merge(from.data() + first, from.data() + middle, from.data() + middle, from.data() + last,
                 to.data() + first, is_opened_more);
    });
    std::swap(from, to);
  }
  if (from.data() != rows.data()) std::ranges::copy(from, rows.begin());
}

}  // namespace motiflux::dynamic
