// The changes of a batch of few changes: those of the first updates that wait, each of a row of its own.
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

// The second change of a row; kMostFew if there is none. `rows`: those of the lane's changes.
template <class Lanes, std::uint32_t parts>
MOTIFLUX_DEVICE std::uint32_t second_of(const Lanes& lanes, const std::uint32_t (&rows)[parts],
                                        std::uint32_t row, std::uint32_t count) {
  std::uint32_t seen = 0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const bool is_there = lanes.lane() + part * Lanes::kLanes < count;
    std::uint32_t equal = lanes.ballot(is_there && rows[part] == row);
    if (seen == 0 && equal != 0) {
      seen = 1;
      equal &= equal - 1;
    }
    if (equal != 0) return part * Lanes::kLanes + lowest_bit(equal);
  }
  return kMostFew;
}

// The first update that changes a row again; kLanes if there is none. Changes write their numbers to slots:
// one that finds another number there has the row of that one, or another row of the same slot.
template <class Lanes>
MOTIFLUX_DEVICE std::uint32_t find_repeating(const Lanes& lanes, const FewChanges& few, std::uint32_t count,
                                             RowSlots& slots) {
  constexpr std::uint32_t kParts = kMostFew / 32;
  static_assert(kMostFew <= 256 && (kSlots & (kSlots - 1)) == 0);
  std::uint32_t rows[kParts];
  for (std::uint32_t part = 0; part < kParts; ++part) {
    const std::uint32_t change = lanes.lane() + part * Lanes::kLanes;
    rows[part] = change < count ? row_of_change(few, change) : 0;
    if (change < count) slots.of(rows[part]) = static_cast<std::uint8_t>(change);
    lanes.sync();  // lanes of a part may write to one slot
  }
  std::uint32_t found = kMostFew;
  for (std::uint32_t part = 0; part < kParts; ++part) {
    const std::uint32_t change = lanes.lane() + part * Lanes::kLanes;
    std::uint32_t others = lanes.ballot(change < count && slots.of(rows[part]) != change);
    for (; others != 0; others &= others - 1) {
      const std::uint32_t row = lanes.broadcast(rows[part], lowest_bit(others));
      const std::uint32_t second = second_of(lanes, rows, row, count);
      if (second < found) found = second;
    }
  }
  return found < kMostFew ? few.update_of[found] & ~Batch::kFirstPlace : Lanes::kLanes;
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

// Lists the first updates of some, whose changes are few, at most `most`, and each of a row of its own.
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
