// Answers in lines of the host's memory: an update whose answer is short has a line of its own, which its
// group writes by one store and without waiting for anything.
//
//   lines[moment % line_count]   | tag, records | tag, plan and sign | tag, total | ... | unused |
//
//   tag      2 * moment + 1, 32 bits: never 0. Each word has it, so words need no order among each other
//   records  up to kMostInLine: a plan, whether matches appear, and a total below 2^32
//
// Longer answers are in the output ring, and their lines stay as they were. The host clears a line once it
// has read it, or once it knows the update to be finished without, and sends an update only when the line of
// the update `line_count` before is cleared (csrc/ring/line_reader.hpp).
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/streaming/stream.hpp"

namespace motiflux::streaming {

// Writes the line of an update, by all lanes of a group; `writing`: lanes that have a record, at most
// kMostInLine.
template <class Lanes>
MOTIFLUX_DEVICE void write_line(const Lanes& lanes, const Stream& stream, std::uint64_t moment,
                                std::uint32_t writing, std::uint32_t plan_and_sign, std::uint32_t total) {
  const std::uint32_t records = count_bits(writing);
  std::uint32_t value = records;
  for (std::uint32_t record = 0; record < records; ++record, writing &= writing - 1) {
    const std::uint32_t of = lanes.broadcast(plan_and_sign, lowest_bit(writing));
    const std::uint32_t found = lanes.broadcast(total, lowest_bit(writing));
    if (lanes.lane() == 1 + 2 * record) value = of;
    if (lanes.lane() == 2 + 2 * record) value = found;
  }
  static_assert(Lanes::kLanes >= 1 + 2 * kMostInLine);
  if (lanes.lane() >= 1 + 2 * records) return;
  std::uint64_t& word = stream.lines[stream.line_of(moment)].words[lanes.lane()];
  device::system_wide(word).store(tagged_word(moment, value), device::Order::kRelaxed);
}

// The same of an update without records, by one thread.
MOTIFLUX_DEVICE void write_empty_line(const Stream& stream, std::uint64_t moment) {
  std::uint64_t& word = stream.lines[stream.line_of(moment)].words[0];
  device::system_wide(word).store(tagged_word(moment, 0), device::Order::kRelaxed);
}

}  // namespace motiflux::streaming
