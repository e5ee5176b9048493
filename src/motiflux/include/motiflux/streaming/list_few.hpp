// The changes of a batch of few changes: those of the first updates that wait, each of a row of its own.
#pragma once

#include "motiflux/streaming/few_rows.hpp"

namespace motiflux::streaming {

// The places of the kind that updates had before, in the lanes of a group: most updates have the same one.
// Kinds do not change while the kernel runs.
struct KnownPlaces {
  std::uint32_t of = ~std::uint32_t{0};
  std::uint32_t count = 0;
  Place place{0, 0};  // with the lane's number
};

template <class Lanes>
MOTIFLUX_DEVICE void know_places(const Lanes& lanes, const StreamGraph& graph, std::uint32_t of,
                                 KnownPlaces& known) {
  const std::uint32_t begin = graph.classes[of];
  known.of = of;
  known.count = graph.classes[of + 1] - begin;
  if (lanes.lane() < known.count) known.place = graph.places[begin + lanes.lane()];
}

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

// Lists the changes of the lane's update from `at` on. `places`: how many it has; `most`: of all lanes.
template <class Lanes>
MOTIFLUX_DEVICE void list_places(const Lanes& lanes, const StreamGraph& graph, const Update& own,
                                 std::uint32_t at, std::uint32_t places, std::uint32_t most,
                                 const KnownPlaces& known, FewChanges& few) {
  for (std::uint32_t number = 0; number < most; ++number) {
    const std::uint32_t from = number % Lanes::kLanes;
    Place place{lanes.broadcast(known.place.first_row, from), lanes.broadcast(known.place.of_target, from)};
    if (number >= places) continue;
    if (own.of != known.of || number >= Lanes::kLanes) place = graph.places[graph.classes[own.of] + number];
    const std::uint32_t row = place.first_row + (place.of_target != 0 ? own.target : own.source);
    few.keys[at + number] = std::uint64_t{row} << 32 | (place.of_target != 0 ? own.source : own.target);
    few.update_of[at + number] = lanes.lane() | (number == 0 ? Batch::kFirstPlace : 0);
  }
}

}  // namespace detail

// Lists the first updates of some, whose changes are few, at most `most`, and each of a row of its own.
// Called by all lanes of a group.
template <class Lanes>
MOTIFLUX_DEVICE void list_few(const Lanes& lanes, const StreamGraph& graph, const Update* updates,
                              std::uint32_t count, std::uint32_t most, KnownPlaces& known, RowSlots& slots,
                              FewChanges& few) {
  static_assert(kMostFew % Lanes::kLanes == 0);
  if (count > Lanes::kLanes) count = Lanes::kLanes;
  const std::uint32_t lane = lanes.lane();
  const Update own = updates[lane < count ? lane : 0];
  const std::uint32_t first_of = lanes.broadcast(own.of);
  if (first_of != known.of) know_places(lanes, graph, first_of, known);
  const bool differs = lane < count && own.of != known.of;
  std::uint32_t places = lane < count ? known.count : 0;
  if (differs) places = detail::places_of(graph, own);
  const std::uint32_t before = lanes.sums_before(places);
  const std::uint32_t unfit = ~lanes.ballot(lane < count && places > 0 && before + places <= most);
  std::uint32_t fitting = unfit != 0 ? lowest_bit(unfit) : Lanes::kLanes;
  std::uint32_t changes = fitting != 0 ? lanes.broadcast(before + places, fitting - 1) : 0;
  std::uint32_t most_places = known.count;
  for (std::uint32_t others = lanes.ballot(differs && lane < fitting); others != 0; others &= others - 1) {
    const std::uint32_t other = lanes.broadcast(places, lowest_bit(others));
    if (other > most_places) most_places = other;
  }
  lanes.sync();  // all have left what was listed before
  if (fitting > 0)
    detail::list_places(lanes, graph, own, before, lane < fitting ? places : 0, most_places, known, few);
  if (lane < fitting) few.updates_of_batch[lane] = own;
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
