// Rows of which several versions exist at a time (docs/design/gpu-streaming.md): a search from the update at
// a moment opens the version that holds this moment, while an updater writes later ones.
//
//   heads[row]   newest   | first moment, low 32 bits | block of the newest version |     0: there is none
//                slabs    | locked | block of the first slab |
//                old_*    first and last moment and block of an old version: most rows have one at most
//
//   Version      header | ids, ascending             | lives, relative to the first moment
//                         2    5    5    9             0-   0-3  7-   4-
//
//   Slab         header | first moments x 32 | last moments x 32 | blocks of versions x 32     old versions
//
// Moments have 64 bits, and both ends of a lifetime are inclusive. The newest version has no end. Memory is
// counted in units of 64 bytes; a block is named by its first unit, and 0 is none.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/view/changing.hpp"

namespace motiflux::view {

inline constexpr std::uint64_t kNoEnd = ~std::uint64_t{0};
inline constexpr std::uint32_t kVersionUnit = 64;
// Updates that may be under way at a time, at most.
inline constexpr std::uint64_t kMostInFlight = std::uint64_t{1} << 20;

// Where a search that is further away from a version's first moment stands, and the greatest end of an entry
// that has one.
inline constexpr std::uint32_t kFarMoment = Life::kForever - 1;
inline constexpr std::uint32_t kFarthestEnd = Life::kForever - 2;

// Entries of a version whose lifetime has an end, in the order of the ends: the first ones, as its header
// counts them.
struct EndedEntries {
  static constexpr std::uint32_t kMost = 8;
  static constexpr std::uint32_t kUnknown = 0xffff;  // instead of the first one: they are not known

  std::uint16_t entries[kMost];
};

struct alignas(16) Version {
  std::uint32_t link;  // of the pool, or to the next version that an update cut
  std::uint32_t size;  // entries
  std::uint64_t first;
  // All entries live between these relative moments, both inclusive; in none if the second is less.
  std::uint32_t clean_from, clean_until;
  std::uint32_t row;
  // Entries whose lifetime has an end; of an old version its slab.
  std::uint32_t ended;
  EndedEntries at;  // these, of the newest version

  MOTIFLUX_HOST_DEVICE std::uint32_t* ids() { return reinterpret_cast<std::uint32_t*>(this + 1); }
  MOTIFLUX_HOST_DEVICE Life* lives() { return reinterpret_cast<Life*>(ids() + size + size % 2); }
};

// The bytes of a version with so many entries.
MOTIFLUX_HOST_DEVICE constexpr std::uint64_t bytes_of_version(std::uint64_t size) {
  return sizeof(Version) + sizeof(std::uint32_t) * (size + size % 2) + sizeof(Life) * size;
}

inline constexpr std::uint32_t kRowsOfSlab = 32;
// The first moment of a row of a slab that holds no version.
inline constexpr std::uint64_t kFreeRow = ~std::uint64_t{0};

struct Slab {
  std::uint32_t link;  // of the pool, or to the slab that was unlinked next
  std::uint32_t used;  // rows that hold versions, as bits; read and written under the lock
  std::uint32_t next;
  std::uint32_t unused;
  std::uint64_t unlinked;  // the last update that was begun before it was unlinked
  std::uint64_t unused_too;
  std::uint64_t first[kRowsOfSlab], last[kRowsOfSlab];
  std::uint32_t versions[kRowsOfSlab];
};

struct RowHead {
  std::uint64_t newest;
  std::uint64_t slabs;
  // An old version that is in no slab, as a row of a slab would have it.
  std::uint64_t old_first;  // 1 + its first moment; 0: there is none
  std::uint64_t old_last;
  std::uint32_t old;
  std::uint32_t unused;
};

// The head of a row without old versions.
MOTIFLUX_HOST_DEVICE constexpr RowHead head_of(std::uint64_t newest) {
  return {newest, 0, 0, 0, 0, 0};
}

// A lifetime whose end may be written meanwhile: by both ends, it holds all moments that are searched.
MOTIFLUX_DEVICE Life load_life(const Life* lives, std::uint64_t entry) {
  auto& life = const_cast<Life&>(lives[entry]);
  return {life.first, device::device_wide(life.last).load(device::Order::kRelaxed)};
}

// A row at a moment.
struct VersionedRow {
  const std::uint32_t* neighbors;
  const Life* lives;
  std::uint32_t size;    // entries
  std::uint32_t moment;  // of the search, relative to the version
  bool clean;            // whether all entries live at the moment

  MOTIFLUX_DEVICE bool is_clean() const { return clean; }
  MOTIFLUX_DEVICE bool lives_at_moment(std::uint32_t entry) const {
    return load_life(lives, entry).has(moment);
  }
};

// A moment relative to an earlier or equal one.
MOTIFLUX_HOST_DEVICE constexpr std::uint32_t relative_moment(std::uint64_t moment, std::uint64_t first) {
  return moment - first < kFarMoment ? static_cast<std::uint32_t>(moment - first) : kFarMoment;
}

struct Versions {
  RowHead* heads;
  unsigned char* memory;

  template <class T>
  MOTIFLUX_HOST_DEVICE T* at(std::uint32_t block) const {
    return reinterpret_cast<T*>(memory + std::uint64_t{block} * kVersionUnit);
  }

  // The row at the moment of an update that the caller has acquired, and that is not done. `before`: in the
  // version of the moment before; it suffices that all updates before are acquired that change this row.
  // Called by one lane.
  MOTIFLUX_DEVICE VersionedRow open(std::uint32_t row, std::uint64_t moment, bool before = false) const {
    const std::uint64_t held = before ? moment - 1 : moment;
    std::uint32_t block;
    if (!newest_holds(row, held, block)) block = find_earlier(row, held);
    return as_row(block, moment);
  }

  // The same, called by all lanes of a group with the same arguments.
  template <class Lanes>
  MOTIFLUX_DEVICE VersionedRow open(const Lanes& lanes, std::uint32_t row, std::uint64_t moment) const {
    std::uint32_t block = 0;
    bool found = false;
    if (lanes.leads()) found = newest_holds(row, moment, block);
    block = lanes.broadcast(block);
    if (lanes.ballot(found) == 0) block = find_earlier(lanes, row, moment);
    lanes.sync();
    return as_row(block, moment);
  }

 private:
  // Whether the newest version may be read without further ado: it is not later than the moment, or there is
  // none. The low bits of its first moment say so, if it is not later than by what may be under way.
  MOTIFLUX_DEVICE bool newest_holds(std::uint32_t row, std::uint64_t moment, std::uint32_t& block) const {
    const std::uint64_t newest = device::device_wide(heads[row].newest).load(device::Order::kRelaxed);
    block = static_cast<std::uint32_t>(newest);
    const auto later = static_cast<std::uint32_t>(newest >> 32) - static_cast<std::uint32_t>(moment);
    return block == 0 || later - 1 >= kMostInFlight;
  }

  // The newest version, if it is not later than the moment.
  MOTIFLUX_DEVICE std::uint32_t find_newest(std::uint32_t row, std::uint64_t moment) const {
    const auto block =
        static_cast<std::uint32_t>(device::device_wide(heads[row].newest).load(device::Order::kAcquire));
    return block != 0 && at<Version>(block)->first <= moment ? block : 0;
  }

  MOTIFLUX_DEVICE std::uint32_t first_slab(std::uint32_t row) const {
    return static_cast<std::uint32_t>(device::device_wide(heads[row].slabs).load(device::Order::kAcquire));
  }
  MOTIFLUX_DEVICE std::uint32_t next_slab(std::uint32_t slab) const {
    return device::device_wide(at<Slab>(slab)->next).load(device::Order::kAcquire);
  }

  // The version in a row of a slab, if it holds the moment. The first moment tells whether the row was used
  // again in between: it is never the same twice.
  MOTIFLUX_DEVICE std::uint32_t version_in(std::uint32_t slab, std::uint32_t number,
                                           std::uint64_t moment) const {
    Slab& rows = *at<Slab>(slab);
    const auto first = device::device_wide(rows.first[number]);
    const std::uint64_t begins = first.load(device::Order::kAcquire);
    if (begins > moment) return 0;
    if (device::device_wide(rows.last[number]).load(device::Order::kAcquire) < moment) return 0;
    const std::uint32_t block = device::device_wide(rows.versions[number]).load(device::Order::kAcquire);
    return first.load(device::Order::kRelaxed) == begins ? block : 0;
  }

  // The same of the old version in a row's head.
  MOTIFLUX_DEVICE std::uint32_t version_in_head(std::uint32_t row, std::uint64_t moment) const {
    RowHead& head = heads[row];
    const auto first = device::device_wide(head.old_first);
    const std::uint64_t begins = first.load(device::Order::kAcquire);
    if (begins == 0 || begins - 1 > moment) return 0;
    if (device::device_wide(head.old_last).load(device::Order::kAcquire) < moment) return 0;
    const std::uint32_t block = device::device_wide(head.old).load(device::Order::kAcquire);
    return first.load(device::Order::kRelaxed) == begins ? block : 0;
  }

  // The newest version, or the old one in the head, if it holds the moment.
  MOTIFLUX_DEVICE std::uint32_t find_in_head(std::uint32_t row, std::uint64_t moment) const {
    const std::uint32_t newest = find_newest(row, moment);
    return newest != 0 ? newest : version_in_head(row, moment);
  }

  MOTIFLUX_DEVICE_CALL std::uint32_t find_earlier(std::uint32_t row, std::uint64_t moment) const {
    const std::uint32_t in_head = find_in_head(row, moment);
    if (in_head != 0) return in_head;
    for (std::uint32_t slab = first_slab(row); slab != 0; slab = next_slab(slab))
      for (std::uint32_t number = 0; number < kRowsOfSlab; ++number) {
        const std::uint32_t block = version_in(slab, number, moment);
        if (block != 0) return block;
      }
    return 0;
  }

  template <class Lanes>
  MOTIFLUX_DEVICE_CALL std::uint32_t find_earlier(const Lanes& lanes, std::uint32_t row,
                                                  std::uint64_t moment) const {
    const std::uint32_t in_head = lanes.broadcast(lanes.leads() ? find_in_head(row, moment) : 0u);
    if (in_head != 0) return in_head;
    std::uint32_t slab = lanes.broadcast(lanes.leads() ? first_slab(row) : 0u);
    while (slab != 0) {
      lanes.sync();  // what the leader has acquired: the row of the slab, or the whole slab
      for (std::uint32_t number = lanes.lane(); number < kRowsOfSlab; number += Lanes::kLanes) {
        const std::uint32_t block = version_in(slab, number, moment);
        const std::uint32_t found = lanes.ballot(block != 0);
        if (found != 0) return lanes.broadcast(block, lowest_bit(found));
      }
      slab = lanes.broadcast(lanes.leads() ? next_slab(slab) : 0u);
    }
    return 0;
  }

  MOTIFLUX_DEVICE VersionedRow as_row(std::uint32_t block, std::uint64_t moment) const {
    if (block == 0) return {nullptr, nullptr, 0, 0, true};
    Version& version = *at<Version>(block);
    MOTIFLUX_ASSERT(version.first <= moment);  // Property 3
    const std::uint32_t relative = relative_moment(moment, version.first);
    const std::uint32_t until = device::device_wide(version.clean_until).load(device::Order::kRelaxed);
    const bool clean = version.clean_from <= relative && relative <= until;
    return {version.ids(), version.lives(), version.size, relative, clean};
  }
};

// The rows of all vertices of a target.
struct TargetVersions {
  Versions versions;
  std::uint32_t first_row;
  std::uint32_t unused;

  MOTIFLUX_DEVICE VersionedRow open(std::uint32_t vertex, std::uint64_t moment, bool before) const {
    return versions.open(first_row + vertex, moment, before);
  }
};

}  // namespace motiflux::view
