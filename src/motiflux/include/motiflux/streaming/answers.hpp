// What executors write to the output ring: records of `record_words` words.
//
//   count   | moment, 2 words | plan | sign     | total, 4 words       of all parts of an update
//   row     | moment, 2 words | plan | sign, 2  | vertices, by level   2: kIsRow
//
// The host takes them away; groups wait while the ring is full.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/device/group_ring.hpp"
#include "motiflux/match/search.hpp"
#include "motiflux/streaming/lines.hpp"
#include "motiflux/streaming/stream.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kAppears = 1;  // of a record's sign: matches appear; else they vanish
inline constexpr std::uint32_t kIsRow = 2;
inline constexpr std::uint32_t kHeaderWords = 4, kCountWords = 8;  // of a record
inline constexpr std::uint32_t kMostRecords = 32;                  // of a packet

// Room for a packet, which is to be published then; false if the kernel ends before there is any. Called by
// all lanes.
template <class Lanes>
MOTIFLUX_DEVICE bool wait_for_packet(const Lanes& lanes, const Stream& stream, std::uint64_t& ticket) {
  device::Backoff backoff(4, 2048);
  while (!device::try_reserve(lanes, stream.output, ticket)) {
    if (lanes.ballot(lanes.leads() && must_stop(stream.graph.stages)) != 0) return false;
    backoff.wait();
  }
  return true;
}

MOTIFLUX_DEVICE void write_header(std::uint32_t* record, std::uint64_t moment, std::uint32_t plan,
                                  std::uint32_t sign) {
  record[0] = static_cast<std::uint32_t>(moment);
  record[1] = static_cast<std::uint32_t>(moment >> 32);
  record[2] = plan;
  record[3] = sign;
}

// Forgets what was found from a root of an update.
MOTIFLUX_DEVICE void clear_total(const Stream& stream, std::uint64_t moment, std::uint32_t root) {
  std::uint64_t* total = stream.plan.totals + std::uint64_t{2} * stream.total_of(moment, root);
  device::device_wide(total[0]).store(std::uint64_t{0}, device::Order::kRelaxed);
  device::device_wide(total[1]).store(std::uint64_t{0}, device::Order::kRelaxed);
}

// Writes the totals of an update whose parts are all done, and clears them; false if the kernel ends, which
// it does after an overflow. Its roots have `count` plans, the first one of which is plans[begin].
template <class Lanes>
MOTIFLUX_DEVICE bool write_totals(const Lanes& lanes, const Stream& stream, std::uint64_t moment,
                                  std::uint32_t begin, std::uint32_t count, std::uint32_t sign) {
  for (std::uint32_t first = 0; first < count; first += Lanes::kLanes) {
    const std::uint32_t root = first + lanes.lane();
    std::uint64_t low = 0, high = 0;
    std::uint32_t plan = 0;
    // All that is read is on its way at once.
    const auto overflow = device::device_wide(stream.task.control->overflow).load(device::Order::kRelaxed);
    if (root < count) {
      plan = stream.plans[begin + root];
      std::uint64_t* total = stream.plan.totals + std::uint64_t{2} * stream.total_of(moment, root);
      low = device::device_wide(total[0]).load(device::Order::kRelaxed);
      high = device::device_wide(total[1]).load(device::Order::kRelaxed);
      if (low != 0) device::device_wide(total[0]).store(std::uint64_t{0}, device::Order::kRelaxed);
      if (high != 0) device::device_wide(total[1]).store(std::uint64_t{0}, device::Order::kRelaxed);
    }
    if (lanes.ballot(overflow != 0) != 0) {
      if (lanes.leads()) end_stream(stream, End::kOverflow);
      return false;
    }
    const bool writes = (low | high) != 0;
    const std::uint32_t writing = lanes.ballot(writes);
    const bool is_short = count <= Lanes::kLanes && count_bits(writing) <= kMostInLine;
    if (stream.lines != nullptr && is_short && lanes.ballot(high != 0 || low >> 32 != 0) == 0) {
      write_line(lanes, stream, moment, writing, plan << 1 | sign, static_cast<std::uint32_t>(low));
      continue;
    }
    if (writing == 0) continue;
    std::uint64_t ticket;
    if (!wait_for_packet(lanes, stream, ticket)) return false;
    if (writes) {
      std::uint32_t* record = device::payload_of<std::uint32_t>(stream.output, ticket) +
                              count_bits(writing & bits_below(lanes.lane())) * stream.record_words;
      write_header(record, moment, plan, sign);
      record[4] = static_cast<std::uint32_t>(low);
      record[5] = static_cast<std::uint32_t>(low >> 32);
      record[6] = static_cast<std::uint32_t>(high);
      record[7] = static_cast<std::uint32_t>(high >> 32);
    }
    device::publish(lanes, stream.output, ticket, count_bits(writing));
  }
  return true;
}

// Writes up to 32 rows; vertex(row, level) is the vertex of a level. False if the kernel ends before there is
// room for them.
template <class Lanes, class VertexOf>
MOTIFLUX_DEVICE bool write_rows(const Lanes& lanes, const Stream& stream, const match::UpdateRoot& root,
                                std::uint32_t rows, std::uint32_t levels, const VertexOf& vertex) {
  std::uint64_t ticket;
  if (!wait_for_packet(lanes, stream, ticket)) return false;
  const std::uint32_t width = stream.record_words, sign = (root.listed >> 1) | kIsRow;
  std::uint32_t* records = device::payload_of<std::uint32_t>(stream.output, ticket);
  for (std::uint32_t row = lanes.lane(); row < rows; row += Lanes::kLanes)
    write_header(records + row * width, root.moment, root.plan, sign);
  const std::uint32_t columns = width - kHeaderWords;
  for (std::uint32_t word = lanes.lane(); word < rows * columns; word += Lanes::kLanes) {
    const std::uint32_t row = word / columns, level = word % columns;
    records[row * width + kHeaderWords + level] = level < levels ? vertex(row, level) : 0;
  }
  device::publish(lanes, stream.output, ticket, rows);
  return true;
}

}  // namespace motiflux::streaming
