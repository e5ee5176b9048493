// Rows of the host, brought to memory of the device in whole lines before candidates are looked up in them
// (GCSM, section V-C). Units with MOTIFLUX_STAGED_ROWS have this: 1, rows that bisecting would read more
// lines of; 2, all rows that there is room for.
//
// A load from the host brings at least a part of a line, and a bisection waits for one after the other. Here
// the lanes of a group have kLinesAtOnce lines under way, and bisect what has come:
//
//   row on the host     . . . 3 5 9 | 12 14 20 ... | 31 40 . . .       three lines, each read once
//   staged              3 5 9 12 14 20 ... 31 40                       in the group's memory
//
// The room for staged rows is behind the candidate lists of the group; rows that do not fit are read in
// place.
#pragma once

#include "motiflux/lanes/group.hpp"
#include "motiflux/match/state.hpp"
#include "motiflux/sets/span.hpp"

namespace motiflux::match {

inline constexpr std::uint32_t kWordsOfLine = 32, kLinesAtOnce = 4;

// Where a group stages rows.
struct StagingRoom {
  std::uint32_t* first;
  std::uint64_t words;
};

MOTIFLUX_DEVICE std::uint64_t lines_of(std::uint64_t words) {
  return (words + kWordsOfLine - 1) / kWordsOfLine;
}

// Whether a row is better staged than bisected once for each of `walked` candidates: a bisection reads about
// as many lines as the number of lines has bits.
MOTIFLUX_DEVICE bool stages(std::uint64_t words, std::uint64_t walked) {
#if MOTIFLUX_STAGED_ROWS == 1
  std::uint64_t lines = lines_of(words), probes = walked;
  for (std::uint64_t left = lines; left > 1; left /= 2) probes += walked;
  return lines <= probes;
#else
  return words > 0 && walked > 0;
#endif
}

// Copies a row, line by line; the lanes must sync() before they read the copy.
template <class Lanes>
MOTIFLUX_DEVICE void copy_lines(const Lanes& lanes, const sets::Span& row, std::uint32_t* to) {
  constexpr std::uint32_t kLoads = kLinesAtOnce * kWordsOfLine / Lanes::kLanes;
  const std::uint64_t size = row.size();
  // Words of the first line that are before the row.
  const std::uint64_t before =
      reinterpret_cast<std::uintptr_t>(row.first) / sizeof(std::uint32_t) % kWordsOfLine;
  for (std::uint64_t at = 0; at < size + before; at += kLinesAtOnce * kWordsOfLine) {
    std::uint32_t words[kLoads];
#pragma unroll
    for (std::uint32_t i = 0; i < kLoads; ++i) {
      const std::uint64_t entry = at + i * Lanes::kLanes + lanes.lane() - before;  // great if before the row
      words[i] = entry < size ? row.first[entry] : 0;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kLoads; ++i) {
      const std::uint64_t entry = at + i * Lanes::kLanes + lanes.lane() - before;
      if (entry < size) to[entry] = words[i];
    }
  }
}

// Stages those sets of a step that are rows of the host; returns the lines that were brought. The walked set
// is read once whatever is done, but so line by line.
template <class Lanes, class Set>
MOTIFLUX_DEVICE std::uint64_t stage_sets(const Lanes& lanes, Set* sets, std::uint32_t count,
                                         std::uint32_t driver, const StagingRoom& room) {
  const std::uint64_t walked = sets[driver].count();
  if (count < 2 || walked == 0) return 0;
  std::uint64_t used = 0, lines = 0;
  for (std::uint32_t s = 0; s < count; ++s) {
    const sets::Span row = sets[s].ids;
    const bool pays = s == driver ? row.size() > kWordsOfLine : stages(row.size(), walked);
    if (!sets[s].on_host || !pays || row.size() > room.words - used) continue;
    std::uint32_t* const to = room.first + used;
    copy_lines(lanes, row, to);
    used += row.size();
    lines += lines_of(row.size());
    lanes.sync();  // the copy is written, and no lane reads the set any more
    if (lanes.leads()) {
      sets[s].ids = {to, to + row.size()};
      sets[s].on_host = false;
    }
  }
  lanes.sync();
  return lines;
}

}  // namespace motiflux::match
