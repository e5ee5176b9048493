// Rows of one partition of arcs, found by a hash table of groups (hash-PCSR of GSI), which interval_rows.hpp
// is compared with. There are as many groups as rows, each of one line of memory:
//
//   | key, first | key, first | ... 15 pairs | next, end |
//
// Rows of a group's keys follow each other: a row ends where that of the next key begins, the last one at
// `end`. A group whose 15 pairs are not enough names the next one, which is no other key's.
#pragma once

#include "motiflux/sets/span.hpp"

#if defined(MOTIFLUX_SIMT)
#include "motiflux/lanes/group.hpp"
#endif

namespace motiflux::view {

struct HashGroup {
  static constexpr std::uint32_t kWords = 32, kKeys = 15, kNext = 30, kEnd = 31;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};  // no key, no next group

  MOTIFLUX_HOST_DEVICE static std::uint32_t of(std::uint32_t vertex, std::uint32_t groups) {
    std::uint32_t mixed = vertex;
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6Bu;
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35u;
    return (mixed ^ mixed >> 16) % groups;
  }
};

struct HashRows {
  const std::uint32_t* words;  // [groups * 32]
  const std::uint32_t* neighbors;
  std::uint32_t groups;
  std::uint32_t unused;

  static constexpr bool kHasIndex = false;

  // The row of a vertex, of each lane its own; a null one: it has none. A warp reads up to 32 lines.
  MOTIFLUX_HOST_DEVICE sets::Span open(std::uint32_t vertex) const {
    if (groups == 0) return {};
    for (std::uint32_t at = HashGroup::of(vertex, groups); at != HashGroup::kNone;) {
      const std::uint32_t* line = words + std::uint64_t{at} * HashGroup::kWords;
      for (std::uint32_t key = 0; key < HashGroup::kNext && line[key] != HashGroup::kNone; key += 2) {
        if (line[key] != vertex) continue;
        const bool last = key + 2 == HashGroup::kNext || line[key + 2] == HashGroup::kNone;
        return {neighbors + line[key + 1], neighbors + line[last ? HashGroup::kEnd : key + 3]};
      }
      at = line[HashGroup::kNext];
    }
    return {};
  }

#if defined(MOTIFLUX_SIMT)

  // The row of a vertex; a null one: it has none. All lanes of a group call it with the same vertex.
  template <std::uint32_t Lanes>
  MOTIFLUX_DEVICE sets::Span open(const lanes::Group<Lanes>& group, std::uint32_t vertex) const {
    if (groups == 0) return {};
    for (std::uint32_t at = HashGroup::of(vertex, groups); at != HashGroup::kNone;) {
      const std::uint32_t* line = words + std::uint64_t{at} * HashGroup::kWords;
      std::uint32_t part[HashGroup::kWords / Lanes];
      for (std::uint32_t turn = 0; turn < HashGroup::kWords / Lanes; ++turn)
        part[turn] = line[turn * Lanes + group.lane()];
      for (std::uint32_t turn = 0; turn < HashGroup::kWords / Lanes; ++turn) {
        const std::uint32_t word = turn * Lanes + group.lane();
        const std::uint32_t equal =
            group.ballot(part[turn] == vertex && word % 2 == 0 && word < HashGroup::kNext);
        if (equal != 0) return row(group, part, turn * Lanes + lowest_bit(equal));
      }
      at = group.broadcast(part[HashGroup::kNext / Lanes], HashGroup::kNext % Lanes);
    }
    return {};
  }

 private:
  // The row of the key in a word of the group's line.
  template <std::uint32_t Lanes>
  MOTIFLUX_DEVICE sets::Span row(const lanes::Group<Lanes>& group, const std::uint32_t* part,
                                 std::uint32_t key) const {
    const std::uint32_t first = word_of(group, part, key + 1);
    const bool last = key + 2 == HashGroup::kNext || word_of(group, part, key + 2) == HashGroup::kNone;
    return {neighbors + first, neighbors + word_of(group, part, last ? HashGroup::kEnd : key + 3)};
  }

  template <std::uint32_t Lanes>
  MOTIFLUX_DEVICE static std::uint32_t word_of(const lanes::Group<Lanes>& group, const std::uint32_t* part,
                                               std::uint32_t word) {
    std::uint32_t mine = part[0];  // without an index that the compiler does not know: no local memory
    for (std::uint32_t turn = 1; turn < HashGroup::kWords / Lanes; ++turn)
      if (word / Lanes == turn) mine = part[turn];
    return group.broadcast(mine, word % Lanes);
  }

#endif
};

}  // namespace motiflux::view
