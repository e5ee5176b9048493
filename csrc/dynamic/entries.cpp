#include "dynamic/entries.hpp"

#include <algorithm>
#include <tuple>

#include "dynamic/sort_by.hpp"

namespace motiflux::dynamic {
namespace {

// Fewer entries are sorted by comparison.
constexpr std::size_t kFew = 256;

}  // namespace

void sort_entries(const Graph& graph, Entries& entries, Entries& scratch, bool by_neighbor) {
  if (entries.size() < kFew) {
    const auto key = [](const Entry& one) {
      return std::tuple(one.row, Rows::order(one.to()), one.neighbor);
    };
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
    return;
  }
  const std::uint32_t last = graph.vertices() - 1;
  const auto classes = static_cast<std::uint32_t>(graph.relations().classes().size());
  if (by_neighbor) sort_by(entries, scratch, last, [](const Entry& one) { return one.neighbor; });
  sort_by_class(entries, scratch, classes, [](const Entry& one) { return one.to(); });
  // Rows may be few consecutive ones, which takes fewer digits.
  const auto [least, most] = std::ranges::minmax(entries, {}, &Entry::row);
  const Vertex first = least.row;
  sort_by(entries, scratch, most.row - first, [&](const Entry& one) { return one.row - first; });
}

}  // namespace motiflux::dynamic
