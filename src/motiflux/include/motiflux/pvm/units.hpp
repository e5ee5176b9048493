// The work of a launch, which warps take piece by piece, and the work that they leave for later launches.
#pragma once

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
};

inline constexpr std::uint64_t kUnknownEnd = ~std::uint64_t{0};

class Units {
 public:
  MOTIFLUX_DEVICE explicit Units(const Work& work) : work_(work), batches_((work.size + kBatch - 1) / kBatch) {
    if (work.next_batches != nullptr) next_ = work.next_batches[warp_.in_grid()];
  }

  // Takes a unit; returns whether there was one, and nobody asked to stop.
  MOTIFLUX_DEVICE bool next(Unit& unit) {
    if (stopped()) return false;
    return next_piece(unit) || next_batch(unit);
  }

  MOTIFLUX_DEVICE bool stopped() const {
    std::uint32_t stop = 0;  // the same for all lanes
    if (warp_.leads()) stop = device::device_wide(work_.control->stop).load(device::Order::kRelaxed);
    return warp_.broadcast(stop) != 0;
  }

  // Leaves a whole batch of many items to later launches, where many warps share it; returns whether there was
  // room to do so. Round robin has none: one warp extends all embeddings of a batch.
  MOTIFLUX_DEVICE bool put_off(const Unit& unit, std::uint64_t end) {
    if (!unit.whole || end <= work_.long_batch || work_.next_batches != nullptr) return false;
    std::uint32_t place = 0;
    if (warp_.leads()) place = device::fast_add(work_.control->stolen, 1u);
    place = warp_.broadcast(place);
    if (place >= work_.most_long) return false;
    if (warp_.leads()) work_.long_batches[place] = {unit.batch, 0, end};
    return true;
  }

  // Saves the rest of a unit for which there is no room in the output.
  MOTIFLUX_DEVICE void park(const Unit& unit, std::uint64_t first, std::uint64_t end) {
    if (warp_.leads()) work_.parked[device::fast_add(work_.control->parked, 1u)] = {unit.batch, first, end};
  }

  // Ends the warp's work of this launch: what its lanes counted is added to the total.
  MOTIFLUX_DEVICE void finish(std::uint64_t counted) {
    if (work_.next_batches != nullptr) {
      warp_.sync();  // all lanes have read the place
      if (warp_.leads()) work_.next_batches[warp_.in_grid()] = next_;
    }
    add(counted);
  }

  // Adds the counts of all lanes to the total, and stops all warps once it exceeds the limit.
  MOTIFLUX_DEVICE void add(std::uint64_t counted) {
    const std::uint64_t sum = warp_.sum(counted);
    if (sum == 0 || !warp_.leads()) return;
    device::add_128(work_.control->found, sum);
    match::check_limit(*work_.control, work_.limit);
  }

  // Takes `rows` places of the output, in all lanes; returns false if there is no room for all of them.
  MOTIFLUX_DEVICE bool reserve(std::uint32_t rows, std::uint64_t capacity, std::uint64_t& place) {
    if (warp_.leads()) {
      place = work_.filled + device::fast_add(work_.control->reserved, std::uint64_t{rows});
      if (place + rows > capacity)
        device::device_wide(work_.control->refused).fetch_max(~place, device::Order::kRelaxed);
    }
    place = warp_.broadcast(place);
    return place + rows <= capacity;
  }

  MOTIFLUX_DEVICE const Warp& warp() const { return warp_; }

 private:
  MOTIFLUX_DEVICE bool next_piece(Unit& unit) {
    if (pieces_over_) return false;
    const std::uint64_t pieces = work_.left_count == 0 ? 0 : work_.pieces[work_.left_count];
    std::uint64_t piece = pieces;
    if (pieces != 0) {
      if (warp_.leads()) piece = device::fast_add(work_.control->done, std::uint64_t{1});
      piece = warp_.broadcast(piece);
    }
    if (piece >= pieces) {
      pieces_over_ = true;
      return false;
    }
    std::uint32_t first = 0, beyond = work_.left_count;
    while (beyond - first > 1) {
      const std::uint32_t middle = first + (beyond - first) / 2;
      if (work_.pieces[middle] <= piece)
        first = middle;
      else
        beyond = middle;
    }
    const Items& part = work_.left[first];
    const std::uint64_t begin = part.first + (piece - work_.pieces[first]) * work_.piece;
    unit = {part.batch, begin, part.end - begin < work_.piece ? part.end : begin + work_.piece, false};
    return true;
  }

  MOTIFLUX_DEVICE bool next_batch(Unit& unit) {
    std::uint64_t batch = next_;
    if (work_.next_batches != nullptr) {
      if (batch < batches_) next_ += std::uint64_t{gridDim.x} * (blockDim.x / 32);
    } else {
      if (warp_.leads()) batch = work_.first_batch + device::fast_add(work_.control->taken, std::uint64_t{1});
      batch = warp_.broadcast(batch);
    }
    unit = {batch, 0, kUnknownEnd, true};
    return batch < batches_;
  }

  const Warp warp_;
  const Work& work_;
  const std::uint64_t batches_;
  std::uint64_t next_ = 0;
  bool pieces_over_ = false;
};

}  // namespace motiflux::pvm
