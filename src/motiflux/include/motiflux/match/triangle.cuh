// Counting triangles where rows are short: a lane takes an arc, and the warp walks the concatenated shorter
// lists of its 32 arcs.
//
//   arc u -> v:   | u's greater neighbours | ... behind v |     | v's greater neighbours |
//                                            ^ the shorter is walked, looked up in the other ^
//
// Nothing is built first, so that vertices with few neighbours take little time.
//
// A TriangleTask has all rows. With a TriangleTileTask, a launch counts the arcs between the rows of two
// tiles.
#pragma once

#include "motiflux/device/total.hpp"
#include "motiflux/lanes/find_row.hpp"
#include "motiflux/match/clique_task.hpp"
#include "motiflux/match/limit.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::match {

template <class Task>
class TriangleCount {
 public:
  MOTIFLUX_DEVICE explicit TriangleCount(const Task& task) : task_(task) {}

  MOTIFLUX_DEVICE void run() {
    if constexpr (kOfTiles)  // an earlier launch may have found enough
      if (warp_.broadcast(std::uint32_t{warp_.leads() && is_stopped()}) != 0) return;
    std::uint64_t first =
        std::uint64_t{warp_.in_grid()} * task_.chunk;  // without a counter: all start at once
    for (std::uint32_t chunks = 1; first < task_.arcs; ++chunks) {
      const std::uint64_t end = first + task_.chunk < task_.arcs ? first + task_.chunk : task_.arcs;
      if constexpr (Task::kOfTiles) {
        count(task_.first_arc + first, task_.first_arc + end);
      } else {
        const std::uint64_t begin = first * task_.stride + std::uint64_t{task_.first} * task_.chunk;
        count(begin, begin + end - first);
      }
      if (chunks % kChunksPerReport == 0) report();
      first = next();
    }
    report();
  }

 private:
  using Warp = lanes::Group<32>;
  static constexpr bool kOfTiles = Task::kOfTiles;

  MOTIFLUX_DEVICE bool is_stopped() const {
    const auto reason = device::device_wide(task_.control->stop).load(device::Order::kRelaxed);
    return reason != static_cast<std::uint32_t>(Stop::kNone);
  }

  // The start of the next chunk; at or behind the last arc once the search is stopped.
  MOTIFLUX_DEVICE std::uint64_t next() const {
    std::uint64_t taken = 0;
    if (warp_.leads()) {
      const auto reason = device::device_wide(task_.control->stop).load(device::Order::kRelaxed);
      const std::uint64_t first = std::uint64_t{gridDim.x} * (blockDim.x / 32) * task_.chunk;
      taken =
          first +
          device::device_wide(task_.taken()).fetch_add(std::uint64_t{task_.chunk}, device::Order::kRelaxed);
      if (reason != static_cast<std::uint32_t>(Stop::kNone)) taken = task_.arcs;
    }
    return warp_.broadcast(taken);
  }

  MOTIFLUX_DEVICE void count(std::uint64_t first, std::uint64_t end) {
    std::uint32_t row = lanes::find_row(warp_, task_.ends, task_.vertices, first);
    for (std::uint64_t strip = first; strip < end; strip += 32) row = count_strip(row, strip, end);
    if (!kOfTiles && warp_.leads()) done_ += end - first;
  }

  // `row` is not behind the first arc's row; returns the last arc's row.
  MOTIFLUX_DEVICE std::uint32_t count_strip(std::uint32_t row, std::uint64_t strip, std::uint64_t end) {
    const std::uint64_t arc = strip + warp_.lane();
    const bool active = arc < end && is_counted(arc);
    if constexpr (Task::kOfTiles) {
      const std::uint32_t counted = warp_.ballot(active);
      if (counted == 0) return row;
      if (warp_.leads()) done_ += count_bits(counted);
    }
    std::uint32_t mine = row;
    const std::uint64_t row_end = end_of_row(arc < end ? arc : strip, mine);
    const auto neighbors = task_.root_neighbors();
    sets::Span walked{}, other{};
    if (active) {
      const std::uint32_t vertex = neighbors[arc];
      walked = {neighbors + arc + 1, neighbors + row_end};
      other = {task_.rows.begin(vertex), task_.rows.end(vertex)};
      if (other.size() < walked.size()) {
        const sets::Span longer = walked;
        walked = other;
        other = longer;
      }
    }
    count_pairs(walked, other);
    const std::uint64_t last = end - strip < 32 ? end - strip - 1 : 31;
    return warp_.broadcast(mine, static_cast<std::uint32_t>(last));
  }

  // Whether the vertex of the arc is one of this launch.
  MOTIFLUX_DEVICE bool is_counted(std::uint64_t arc) const {
    if constexpr (Task::kOfTiles) {
      const std::uint32_t vertex = task_.root_neighbors()[arc];
      return vertex >= task_.lowest && vertex < task_.highest;
    } else {
      return true;
    }
  }

  // Finds the row of each lane's arc, given a row not behind any of them; returns the end of the lane's row.
  MOTIFLUX_DEVICE std::uint64_t end_of_row(std::uint64_t arc, std::uint32_t& row) const {
    std::uint64_t found = 0;
    bool knows = false;
    for (std::uint32_t first = row; warp_.ballot(!knows) != 0; first += 32) {
      const std::uint64_t at = std::uint64_t{first} + 1 + warp_.lane();
      const std::uint64_t ends = task_.ends[at < task_.vertices ? at : task_.vertices];
      std::uint32_t behind = 0;  // lanes whose row ends at or before the arc
      for (std::uint32_t step = 16; step > 0; step /= 2)
        if (warp_.broadcast(ends, behind + step - 1) <= arc) behind += step;
      const std::uint64_t end = warp_.broadcast(ends, behind);
      if (!knows && end > arc) {
        knows = true;
        row = first + behind;
        found = end;
      }
    }
    return found;
  }

  MOTIFLUX_DEVICE void count_pairs(sets::Span walked, sets::Span other) {
    const auto length = static_cast<std::uint32_t>(walked.size());
    const std::uint32_t behind = warp_.sums_before(length) + length;
    const std::uint32_t pairs = warp_.broadcast(behind, 31);
    const std::uint64_t from_walked = task_.rows.place_of(walked.first);
    const std::uint64_t from_other = task_.rows.place_of(other.first);
    const auto other_length = static_cast<std::uint32_t>(other.size());
    for (std::uint32_t strip = 0; strip < pairs; strip += 32) {
      const std::uint32_t pair = strip + warp_.lane();
      std::uint32_t owner = 0;
      for (std::uint32_t step = 16; step > 0; step /= 2)
        if (warp_.broadcast(behind, owner + step - 1) <= pair) owner += step;
      const std::uint64_t place = warp_.broadcast(from_walked, owner) + pair;
      const std::uint32_t before = warp_.broadcast(behind - length, owner);
      const std::uint32_t* first = task_.rows.at(warp_.broadcast(from_other, owner));
      const std::uint32_t size = warp_.broadcast(other_length, owner);
      if (pair >= pairs) continue;
      found_ += sets::contains({first, first + size}, *task_.rows.at(place - before));
    }
  }

  MOTIFLUX_DEVICE void report() {
    const std::uint64_t found = warp_.sum(found_);
    found_ = 0;
    if (!warp_.leads()) return;
    Control& control = *task_.control;
    device::device_wide(control.done).fetch_add(done_, device::Order::kRelaxed);
    done_ = 0;
    if (found == 0) return;
    device::add_128(control.found, found);
    check_limit(control, task_.limit);
  }

  static constexpr std::uint32_t kChunksPerReport = 16;  // between reports

  const Task& task_;
  Warp warp_;
  std::uint64_t found_ = 0;  // this lane's share
  std::uint64_t done_ = 0;   // the leader's
};

MOTIFLUX_DEVICE void count_triangles(const TriangleArgs& args) {
  TriangleCount<TriangleTask>(args.task).run();
}

MOTIFLUX_DEVICE void count_triangles_of_tiles(const TriangleTileArgs& args) {
  TriangleCount<TriangleTileTask>(args.task).run();
}

}  // namespace motiflux::match
