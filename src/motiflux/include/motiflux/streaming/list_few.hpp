// The changes of a batch of few changes: those of the first updates that wait, at most two of a row.
#pragma once

#include "motiflux/streaming/few_rows.hpp"

namespace motiflux::streaming {

// The places of kinds that updates had, in shared memory: each kind may be in one slot. Kinds do not change
// while the kernel runs.
struct KnownKinds {
#if defined(MOTIFLUX_CHECKS_VERSIONS)
  static constexpr std::uint32_t kKinds = 2, kPlaces = 2;  // so that tests have others, too
#else
  static constexpr std::uint32_t kKinds = 64, kPlaces = 4;
#endif

  std::uint32_t of[kKinds], counts[kKinds];
  Place places[kKinds][kPlaces];  // the first ones

  // Called by one thread.
  MOTIFLUX_DEVICE void clear() {
    for (std::uint32_t& kind : of) kind = ~std::uint32_t{0};
  }

  MOTIFLUX_DEVICE bool has(std::uint32_t kind) const { return of[kind % kKinds] == kind; }

  // Has the kinds of a group's lanes known, but for those whose slots others take.
  template <class Lanes>
  MOTIFLUX_DEVICE void know(const Lanes& lanes, const StreamGraph& graph, std::uint32_t own) {
    for (std::uint32_t missing = lanes.ballot(!has(own)); missing != 0; missing &= missing - 1) {
      const std::uint32_t kind = lanes.broadcast(own, lowest_bit(missing)), slot = kind % kKinds;
      if (has(kind)) continue;
      const std::uint32_t begin = graph.classes[kind], count = graph.classes[kind + 1] - begin;
      lanes.sync();  // all have seen what was there
      const std::uint32_t number = lanes.lane();
      if (number < count && number < kPlaces) places[slot][number] = graph.places[begin + number];
      if (lanes.leads()) {
        of[slot] = kind;
        counts[slot] = count;
      }
      lanes.sync();
    }
  }

  // The places that an update is written to; the update's place with a number.
  MOTIFLUX_DEVICE std::uint32_t count(const StreamGraph& graph, const Update& update) const {
    return has(update.of) ? counts[update.of % kKinds] : detail::places_of(graph, update);
  }
  MOTIFLUX_DEVICE Place place(const StreamGraph& graph, std::uint32_t kind, std::uint32_t number) const {
    return has(kind) && number < kPlaces ? places[kind % kKinds][number]
                                         : graph.places[graph.classes[kind] + number];
  }
};

// For each row some change of it, as find_repeating has written last.
struct RowSlots {
  std::uint8_t changes[kSlots];

  MOTIFLUX_DEVICE std::uint8_t& of(std::uint32_t row) { return changes[(row ^ row >> 10) & (kSlots - 1)]; }
};

namespace detail {

template <class Batch>
MOTIFLUX_DEVICE std::uint32_t row_of_change(const Batch& few, std::uint32_t change) {
  return static_cast<std::uint32_t>(few.keys[change] >> 32);
}

// The first three changes of a row, or kNoChange. `rows`: those of the lane's changes.
struct ChangesOfRow {
  std::uint32_t first = kNoChange, second = kNoChange, third = kNoChange;

  template <class Lanes, std::uint32_t parts>
  MOTIFLUX_DEVICE ChangesOfRow(const Lanes& lanes, const std::uint32_t (&rows)[parts], std::uint32_t row,
                               std::uint32_t count) {
    for (std::uint32_t part = 0; part < parts; ++part) {
      const bool is_there = lanes.lane() + part * Lanes::kLanes < count;
      for (std::uint32_t equal = lanes.ballot(is_there && rows[part] == row); equal != 0;
           equal &= equal - 1) {
        const std::uint32_t change = part * Lanes::kLanes + lowest_bit(equal);
        (first == kNoChange ? first : (second == kNoChange ? second : third)) = change;
        if (third != kNoChange) return;
      }
    }
  }

  // The first change that cannot be in a batch with those before it, or kNoChange.
  MOTIFLUX_DEVICE std::uint32_t unfit(const FewChanges& few) const {
    if (second == kNoChange) return kNoChange;
    const bool same_update = ((few.update_of[first] ^ few.update_of[second]) & ~Batch::kFirstPlace) == 0;
    return !kWritesPairs || same_update || few.keys[first] == few.keys[second] ? second : third;
  }
};

// The first update that changes a row in a way that is not for these batches; kLanes if there is none. Of
// rows with two changes each gets to know the other. Changes write their numbers to slots: one that finds
// another number there has the row of that one, or another row of the same slot.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t find_repeating(const Lanes& lanes, FewChanges& few, std::uint32_t count,
                                             RowSlots& slots) {
  constexpr std::uint32_t kParts = kMostFew / 32;
  static_assert(kMostFew <= 256 && (kSlots & (kSlots - 1)) == 0);
  std::uint32_t rows[kParts];
  if (lanes.leads()) few.pairs = 0;
  for (std::uint32_t part = 0; part < kParts; ++part) {
    const std::uint32_t change = lanes.lane() + part * Lanes::kLanes;
    rows[part] = change < count ? row_of_change(few, change) : 0;
    if (change < count) {
      slots.of(rows[part]) = static_cast<std::uint8_t>(change);
      few.other_of[change] = kNoChange;
    }
    lanes.sync();  // lanes of a part may write to one slot
  }
  std::uint32_t found = kNoChange;
  for (std::uint32_t part = 0; part < kParts; ++part) {
    const std::uint32_t change = lanes.lane() + part * Lanes::kLanes;
    std::uint32_t others = lanes.ballot(change < count && slots.of(rows[part]) != change);
    for (; others != 0; others &= others - 1) {
      const std::uint32_t row = lanes.broadcast(rows[part], lowest_bit(others));
      const ChangesOfRow changes(lanes, rows, row, count);
      const std::uint32_t unfit = changes.unfit(few);
      if (unfit < found) found = unfit;
      if (changes.second == kNoChange || unfit == changes.second || !lanes.leads()) continue;
      few.other_of[changes.first] = changes.second;
      few.other_of[changes.second] = changes.first;
      few.pairs = 1;
    }
  }
  return found != kNoChange ? few.update_of[found] & ~Batch::kFirstPlace : Lanes::kLanes;
}

// Lists the changes of a lane's update from `at` on, `count` of them; `number`: that of the update.
MOTIFLUX_DEVICE void list_places(const StreamGraph& graph, const Update& update, std::uint32_t number,
                                 std::uint32_t at, std::uint32_t count, const KnownKinds& kinds,
                                 FewChanges& few) {
  for (std::uint32_t other = 0; other < count; ++other) {
    const Place place = kinds.place(graph, update.of, other);
    const std::uint32_t row = place.first_row + (place.of_target != 0 ? update.target : update.source);
    few.keys[at + other] = std::uint64_t{row} << 32 | (place.of_target != 0 ? update.source : update.target);
    few.update_of[at + other] = number | (other == 0 ? Batch::kFirstPlace : 0);
  }
}

}  // namespace detail

// Lists the first updates of some, whose changes are few, at most `most`, and at most two of a row.
// Called by all lanes of a group.
template <class Lanes>
MOTIFLUX_DEVICE void list_few(const Lanes& lanes, const StreamGraph& graph, const Update* updates,
                              std::uint32_t count, std::uint32_t most, KnownKinds& kinds, RowSlots& slots,
                              FewChanges& few) {
  static_assert(kMostFew % Lanes::kLanes == 0);
  if (count > Lanes::kLanes) count = Lanes::kLanes;
  const std::uint32_t lane = lanes.lane();
  const Update own = updates[lane < count ? lane : 0];
  kinds.know(lanes, graph, own.of);
  const std::uint32_t places = lane < count ? kinds.count(graph, own) : 0;
  const std::uint32_t before = lanes.sums_before(places);
  const std::uint32_t unfit = ~lanes.ballot(lane < count && places > 0 && before + places <= most);
  std::uint32_t fitting = unfit != 0 ? lowest_bit(unfit) : Lanes::kLanes;
  std::uint32_t changes = fitting != 0 ? lanes.broadcast(before + places, fitting - 1) : 0;
  if (lane < fitting) {
    detail::list_places(graph, own, lane, before, places, kinds, few);
    few.updates_of_batch[lane] = own;
  }
  lanes.sync();
  const std::uint32_t repeating = detail::find_repeating(lanes, few, changes, slots);
  if (repeating < fitting) {
    fitting = repeating;
    changes = lanes.broadcast(before, repeating);
  }
  if (lanes.leads()) {
    few.updates = fitting;
    few.count = changes;
    few.failed = few.too_long = 0;
  }
  lanes.sync();
}

}  // namespace motiflux::streaming
