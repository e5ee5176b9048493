#include "pcsr/hash_rows.hpp"

#include <algorithm>
#include <numeric>

#include "motiflux/view/hash_rows.hpp"

namespace motiflux::pcsr {

HashRows hash_rows(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> offsets,
                   std::span<const std::uint32_t> neighbors, const Workers& workers) {
  using view::HashGroup;
  const auto count = static_cast<std::uint32_t>(ids.size());
  std::vector<std::uint32_t> first(count + 1, 0), rows(count);  // rows by group of their hash
  for (const std::uint32_t id : ids) ++first[HashGroup::of(id, count) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t row = 0; row < count; ++row) rows[next[HashGroup::of(ids[row], count)]++] = row;

  HashRows made;
  made.groups.assign(std::size_t{count} * HashGroup::kWords, HashGroup::kNone);
  made.neighbors = Unwritten<std::uint32_t>(neighbors.size());
  std::uint32_t free = 0, place = 0;  // a group before `free` is used
  for (std::uint32_t hashed = 0; hashed < count; ++hashed) {
    if (hashed % 4096 == 0) workers.check();
    if (first[hashed] == first[hashed + 1]) continue;  // may have keys of a full group
    std::uint32_t* group = made.groups.data() + std::size_t{hashed} * HashGroup::kWords;
    std::uint32_t key = 0;
    for (std::uint32_t at = first[hashed]; at < first[hashed + 1]; ++at, ++key) {
      if (key ==
          HashGroup::kKeys) {  // the others are in a group that no id has as its hash: there are enough
        group[HashGroup::kEnd] = place;
        while (first[free] != first[free + 1]) ++free;
        group[HashGroup::kNext] = free;
        group = made.groups.data() + std::size_t{free++} * HashGroup::kWords;
        key = 0;
      }
      const std::uint32_t row = rows[at];
      group[2 * key] = ids[row];
      group[2 * key + 1] = place;
      place = static_cast<std::uint32_t>(std::copy(neighbors.data() + offsets[row],
                                                   neighbors.data() + offsets[row + 1],
                                                   made.neighbors.data() + place) -
                                         made.neighbors.data());
    }
    group[HashGroup::kEnd] = place;
  }
  return made;
}

}  // namespace motiflux::pcsr
