// Numbers already computed, by the vertices that they depend on: one table for all groups.
//
// A place is written only once, so that a group that finds it written reads it without a lock. If the few
// places of a key are taken, its number is not kept. Two groups may keep the same number twice.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/chance.hpp"
#include "motiflux/match/tail_task.hpp"
#include "motiflux/rules/candidate.hpp"

namespace motiflux::match {

inline constexpr std::uint32_t kPlacesOfKey = 4;

template <class Lanes>
class TailMemo {
 public:
  MOTIFLUX_DEVICE TailMemo(const Lanes& lanes, KeptNumber* places, std::uint32_t mask,
                           const LevelState* levels, std::uint32_t* key)
      : lanes_(lanes), places_(places), mask_(mask), levels_(levels), key_(key) {}

  // Whether the number of a level is known.
  MOTIFLUX_DEVICE bool find(const view::TailLevel& at, std::uint32_t level, Number& number) const {
    const std::uint32_t first = hash_of(at, level);
    if (device::chance(device::Place::kNotFound, first, 4)) return false;
    for (std::uint32_t probe = 0; probe < kPlacesOfKey; ++probe) {
      const KeptNumber& place = places_[(first + probe) & mask_];
      const std::uint32_t state = state_of(places_[(first + probe) & mask_]);
      if (state == 0) return false;
      if (state != written(level)) continue;
      bool same = true;
      for (std::uint32_t word = lanes_.lane(); word < at.key_words; word += Lanes::kLanes)
        same = same && place.key[word] == key_[word];
      if (lanes_.ballot(!same) != 0) continue;
      number = place.number;
      return true;
    }
    return false;
  }

  MOTIFLUX_DEVICE void keep(const view::TailLevel& at, std::uint32_t level, const Number& number) const {
    const std::uint32_t first = hash_of(at, level);
    if (device::chance(device::Place::kNotKept, first, 8)) return;
    for (std::uint32_t probe = 0; probe < kPlacesOfKey; ++probe) {
      KeptNumber& place = places_[(first + probe) & mask_];
      std::uint32_t before = 0;
      if (lanes_.leads()) before = device::device_wide(place.state).fetch_or(1u, device::Order::kRelaxed);
      if (lanes_.broadcast(before) != 0) continue;
      for (std::uint32_t word = lanes_.lane(); word < at.key_words; word += Lanes::kLanes)
        place.key[word] = key_[word];
      if (lanes_.leads()) place.number = number;
      lanes_.sync();
      if (lanes_.leads()) device::device_wide(place.state).store(written(level), device::Order::kRelease);
      return;
    }
  }

 private:
  // Odd, so that marking a place as being written (or-ing 1) leaves a written place unchanged.
  static MOTIFLUX_DEVICE std::uint32_t written(std::uint32_t level) { return 2 * level + 3; }

  MOTIFLUX_DEVICE std::uint32_t state_of(KeptNumber& place) const {
    std::uint32_t state = 0;
    if (lanes_.leads()) state = device::device_wide(place.state).load(device::Order::kAcquire);
    lanes_.sync();  // orders the leader's acquire before the lanes' reads; a shuffle orders no memory
    return lanes_.broadcast(state);
  }

  // Writes the key into shared memory; returns its hash.
  MOTIFLUX_DEVICE std::uint32_t hash_of(const view::TailLevel& at, std::uint32_t level) const {
    lanes_.sync();  // the last reader of the key is done
    std::uint32_t base = write(at.exact, 0, false);
    for (std::uint32_t group = 0; group < view::kMostKeyGroups; ++group)
      base = write(at.groups[group], base, true);
    lanes_.sync();
    std::uint64_t hash = level;
    for (std::uint32_t word = 0; word < at.key_words; ++word)
      hash = (hash ^ key_[word]) * 0x9E3779B97F4A7C15u ^ hash >> 29;
    return static_cast<std::uint32_t>(hash >> 32);
  }

  MOTIFLUX_DEVICE std::uint32_t write(std::uint32_t levels, std::uint32_t base, bool sorted) const {
    const std::uint32_t count = count_bits(levels);
    std::uint32_t turn = 0;
    for_each_bit(levels, [&](std::uint32_t level) {
      const std::uint32_t mine = turn++;
      if (mine % Lanes::kLanes != lanes_.lane()) return;
      const std::uint32_t vertex = levels_[level].vertex;
      std::uint32_t place = mine;
      if (sorted) {
        place = 0;
        for_each_bit(levels, [&](std::uint32_t other) {
          const std::uint32_t than = levels_[other].vertex;
          place += than < vertex || (than == vertex && other < level);
        });
      }
      key_[base + place] = vertex;
    });
    return base + count;
  }

  const Lanes& lanes_;
  KeptNumber* places_;
  std::uint32_t mask_;
  const LevelState* levels_;
  std::uint32_t* key_;
};

}  // namespace motiflux::match
