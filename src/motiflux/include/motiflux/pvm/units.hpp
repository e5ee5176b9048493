// The work of a launch, which warps take piece by piece, and the work that they leave for later launches.
#pragma once

#include "motiflux/device/backoff.hpp"
#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/device/total.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/match/limit.hpp"
#include "motiflux/pvm/phase_args.hpp"

namespace motiflux::pvm {

using Warp = lanes::Group<32>;

struct Unit {
  std::uint64_t batch;
  std::uint64_t first;
  std::uint64_t end;  // at most; a whole batch does not know its end yet
  bool whole;
  std::uint64_t number;  // of all units of the launch, in the order in which they are taken
};

// What a launch does for the output: all of it, or in two passes (offsets.cuh), of which the first one counts
// the rows of each unit, and the second one writes them to known places.
enum class Pass { kSingle, kMeasure, kPlace };

inline constexpr std::uint64_t kMostOfLane = std::uint64_t{1} << 57;  // the sum of 32 lanes has 64 bits
inline constexpr std::uint64_t kUnknownEnd = ~std::uint64_t{0};
inline constexpr std::uint64_t kPutOff = std::uint64_t{1}
                                         << 63;  // a unit that was put off in parts has no rows

// Embeddings that a phase has written; 0 if it had no room for all.
MOTIFLUX_DEVICE std::uint64_t rows_of(const PhaseControl& control) {
  return control.refused != 0 || control.overflow != 0 ? 0 : control.reserved;
}

template <Pass pass = Pass::kSingle>
class Units {
 public:
  MOTIFLUX_DEVICE explicit Units(const Work& work)
      : work_(work),
        size_(work.before == nullptr ? work.size : rows_of(*work.before)),
        batches_((size_ + kBatch - 1) / kBatch),
        few_(batches_ < std::uint64_t{gridDim.x} * (blockDim.x / 32)),
        stage_(work.left_count == 0 ? Stage::kBatches : Stage::kLeft),
        next_(work.next_batches == nullptr ? 0 : warp_.in_grid() + work.next_batches[warp_.in_grid()]) {}

  // Embeddings of the input.
  MOTIFLUX_DEVICE std::uint64_t size() const { return size_; }

  // Takes a unit; returns whether there was one, and nobody asked to stop. The same in all lanes.
  MOTIFLUX_DEVICE bool next(Unit& unit) {
    if (stop() != match::Stop::kNone) return false;
    if (stage_ == Stage::kLeft) {
      if (next_part(work_.left, work_.left_count, work_.control->left_taken, 0, unit)) return true;
      stage_ = Stage::kBatches;
    }
    if (stage_ == Stage::kBatches) {
      if (next_batch(unit)) return true;
      if (work_.next_batches != nullptr || (pass != Pass::kPlace && !all_are_opened())) return false;
      long_parts_ = device::device_wide(work_.control->long_parts).load(device::Order::kRelaxed);
      stage_ = Stage::kLong;
    }
    return next_part(work_.long_parts, long_parts_, work_.control->long_taken,
                     work_.left_count + batches_ - work_.first_batch, unit);
  }

  // The first pass: notes how many rows the warp's lanes counted for a unit, or kPutOff.
  MOTIFLUX_DEVICE void measured(const Unit& unit, std::uint64_t rows) const {
    rows = warp_.sum(rows);
    if (warp_.leads()) work_.places[unit.number] = rows;
  }

  MOTIFLUX_DEVICE void measured_as_put_off(const Unit& unit) const {
    if (warp_.leads()) work_.places[unit.number] = kPutOff;
  }

  // The second pass: begins with the rows of a unit; returns false if it was put off.
  MOTIFLUX_DEVICE bool begin_placed(const Unit& unit) {
    const std::uint64_t place = work_.places[unit.number];
    place_ = place & ~kPutOff;
    return (place & kPutOff) == 0;
  }

  // Notes that a batch is opened: its parts were put off, or the warp extends it.
  MOTIFLUX_DEVICE void opened(const Unit& unit, bool puts_off = false) {
    if (!unit.whole || work_.next_batches != nullptr) return;
    if (puts_off) {
      warp_.sync();  // the parts are written; they are published with the number
      if (warp_.leads())
        device::device_wide(work_.control->batches_opened)
            .fetch_add(std::uint64_t{1}, device::Order::kAcqRel);
    } else if (warp_.leads()) {
      device::fast_add(work_.control->batches_opened, std::uint64_t{1});
    }
  }

  // The reason to stop. If it is a pause, the rest of the unit is to be parked. Two passes do not pause: each
  // row has its place.
  MOTIFLUX_DEVICE match::Stop stop() const {
    std::uint32_t stop = 0;
    if (warp_.leads()) stop = device::device_wide(work_.search->stop).load(device::Order::kRelaxed);
    const auto found = static_cast<match::Stop>(warp_.broadcast(stop));
    return pass != Pass::kSingle && found == match::Stop::kPause ? match::Stop::kNone : found;
  }

  // Puts off a batch of many items, in parts that many warps take; returns whether there was room for them.
  // Round robin does not: one warp extends all embeddings of a batch.
  MOTIFLUX_DEVICE bool put_off(const Unit& unit, std::uint64_t end) {
    const std::uint32_t longest = few_ ? work_.long_batch / kFewer : work_.long_batch;
    if (!unit.whole || end <= longest || work_.next_batches != nullptr) return false;
    std::uint64_t size = longest / (few_ ? kPartsIfFew : kPartsOfShort) + 1;
    if (size < end / kMostParts + 1) size = end / kMostParts + 1;
    const std::uint32_t parts = static_cast<std::uint32_t>((end + size - 1) / size);
    std::uint32_t place = 0;
    if (warp_.leads()) place = take_room(parts);
    place = warp_.broadcast(place);
    if (place == kNoRoom) return false;
    for (std::uint32_t part = warp_.lane(); part < parts; part += 32) {
      const std::uint64_t first = part * size;
      work_.long_parts[place + part] = {unit.batch, first, end - first < size ? end : first + size};
    }
    return true;
  }

  // Saves the rest of a unit, for lack of room in the output or to pause.
  MOTIFLUX_DEVICE void park(const Unit& unit, std::uint64_t first, std::uint64_t end) {
    if (warp_.leads()) work_.parked[device::fast_add(work_.control->parked, 1u)] = {unit.batch, first, end};
  }

  // Tells how many rows the warp's lanes made before tests, and how many stayed, if these are not written.
  MOTIFLUX_DEVICE void tell(std::uint64_t made, std::uint64_t stayed) {
    made = warp_.sum(made);
    stayed = warp_.sum(stayed);
    if (!warp_.leads()) return;
    if (made != 0) device::fast_add(work_.control->made, made);
    if (stayed != 0) device::fast_add(work_.control->reserved, stayed);
  }

  // Ends the warp's work of this launch: what its lanes counted is added to the total.
  MOTIFLUX_DEVICE void finish(std::uint64_t counted) {
    if (work_.next_batches != nullptr && pass != Pass::kMeasure) {
      warp_.sync();  // all lanes have read the place
      if (warp_.leads()) work_.next_batches[warp_.in_grid()] = next_ - warp_.in_grid();
    }
    add(counted);
  }

  // Adds the counts of all lanes to the total, and stops all warps once it exceeds the limit.
  MOTIFLUX_DEVICE void add(std::uint64_t counted) {
    const std::uint64_t sum = warp_.sum(counted);
    if (sum == 0 || !warp_.leads()) return;
    device::add_128(work_.search->found, sum);
    match::check_limit(*work_.search, work_.limit);
  }

  // Takes `rows` places of the output, in all lanes; returns false if there is no room for all of them.
  MOTIFLUX_DEVICE bool reserve(std::uint32_t rows, std::uint64_t capacity, std::uint64_t& place) {
    if (pass == Pass::kPlace) place = place_;
    if (warp_.leads()) {
      if (pass != Pass::kPlace)
        place = work_.filled + device::fast_add(work_.control->reserved, std::uint64_t{rows});
      if (place + rows > capacity)
        device::device_wide(work_.control->refused).fetch_max(~place, device::Order::kRelaxed);
    }
    place = warp_.broadcast(place);
    place_ = place + rows;
    return place_ <= capacity;
  }

  // Notes that a number passed the range of the kernels.
  MOTIFLUX_DEVICE void overflow() const {
    device::device_wide(work_.control->overflow).store(1u, device::Order::kRelaxed);
  }

  MOTIFLUX_DEVICE const Warp& warp() const { return warp_; }

 private:
  enum class Stage { kLeft, kBatches, kLong };

  static constexpr std::uint32_t kNoRoom = ~std::uint32_t{0};
  static constexpr std::uint32_t kPartsOfShort = 8;  // of the shortest batch that is put off
  // If there are fewer batches than warps, the launch takes as long as its longest unit. A part begins with
  // opening the batch again, which takes as long as some steps.
  static constexpr std::uint32_t kFewer = 4;
  static constexpr std::uint32_t kPartsIfFew = 4;
  static constexpr std::uint32_t kManyParts = 128;
  static constexpr std::uint32_t kPolls = 4;

  // Takes room for parts of a batch. Half of it is for the longest batches.
  MOTIFLUX_DEVICE std::uint32_t take_room(std::uint32_t parts) {
    std::uint32_t taken = device::device_wide(work_.control->long_parts).load(device::Order::kRelaxed);
    const std::uint32_t room = parts > kManyParts ? work_.most_long : work_.most_long / 2;
    while (taken + parts <= room)
      if (device::device_wide(work_.control->long_parts)
              .compare_exchange(taken, taken + parts, device::Order::kRelaxed))
        return taken;
    return kNoRoom;
  }

  // Takes the next of some parts, of which `taken` are handed out; `before` units come before them.
  MOTIFLUX_DEVICE bool next_part(const Items* parts, std::uint64_t number, std::uint64_t& taken,
                                 std::uint64_t before, Unit& unit) {
    if (number == 0) return false;
    std::uint64_t part = 0;
    if (warp_.leads()) part = device::fast_add(taken, std::uint64_t{1});
    part = warp_.broadcast(part);
    if (part >= number) return false;
    const Items& items = parts[part];
    unit = {items.batch, items.first, items.end, false, before + part};
    return true;
  }

  // Waits until all batches are opened, so that all parts that are put off are known. Returns false if some
  // will not be: the output is full, or warps are to stop.
  MOTIFLUX_DEVICE bool all_are_opened() const {
    const std::uint64_t all = batches_ < work_.first_batch ? 0 : batches_ - work_.first_batch;
    device::Backoff backoff(kPolls);
    while (true) {
      std::uint64_t found = 0;
      std::uint64_t full = 0;
      if (warp_.leads()) {
        full = device::device_wide(work_.control->refused).load(device::Order::kRelaxed);
        found = device::device_wide(work_.control->batches_opened).load(device::Order::kAcquire);
      }
      if (warp_.broadcast(found) >= all) {
        warp_.sync();
        return true;
      }
      if (warp_.broadcast(full) != 0 || stop() != match::Stop::kNone) return false;
      backoff.wait();
    }
  }

  MOTIFLUX_DEVICE bool next_batch(Unit& unit) {
    std::uint64_t batch = next_;
    if (work_.next_batches != nullptr) {
      if (batch < batches_) next_ += std::uint64_t{gridDim.x} * (blockDim.x / 32);
    } else if (batches_ > work_.first_batch) {
      if (warp_.leads())
        batch = work_.first_batch + device::fast_add(work_.control->batches_taken, std::uint64_t{1});
      batch = warp_.broadcast(batch);
    }
    unit = {batch, 0, kUnknownEnd, true, work_.left_count + batch - work_.first_batch};
    return batch < batches_ && batches_ > work_.first_batch;
  }

  const Warp warp_;
  const Work& work_;
  const std::uint64_t size_;
  const std::uint64_t batches_;
  const bool few_;
  Stage stage_;
  std::uint64_t next_;
  std::uint64_t long_parts_ = 0;
  std::uint64_t place_ = 0;  // two passes: of the next row of the unit
};

}  // namespace motiflux::pvm
