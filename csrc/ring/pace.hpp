// Feeds a resident kernel at given times, and measures when each update is answered.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ring/answers.hpp"
#include "ring/echo.hpp"
#include "ring/reader.hpp"
#include "ring/update_writer.hpp"

namespace motiflux::ring {

// Of an update, nanoseconds after it was due: when it was written to the ring, and when it was answered.
struct Paced {
  std::uint64_t written, answered;
};

// Writes each update once it is due, and takes answers, whose
// first two words are the moment of their update. An update is answered by its line or its first record, or
// when it is finished without any; if answers are `kept`, when it is finished. Calls tick() every
// kTickPeriod; its false ends the measurement. Throws EchoTimeout if nothing is finished for `limit`.
//
// `due`: nanoseconds after the start, ascending. `first`: the moment of the first update.
template <class Tick>
void pace(Reader& reader, UpdateWriter& writer, const Told& told, const Lines& lines,
          const std::uint32_t* updates, std::span<const std::uint64_t> due, std::uint64_t first,
          std::span<Paced> paced, std::vector<std::uint32_t>* kept, Clock::duration limit, Tick&& tick) {
  constexpr std::size_t kMostAtOnce = 32, kRecords = 256, kAhead = 64;
  std::vector<std::uint32_t> records(kRecords * reader.record_words());
  std::size_t written = 0, finished = 0;
  const Clock::time_point start = Clock::now();
  Clock::time_point next_tick = start + kTickPeriod, moved = start;
  const auto since_start = [&] {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
  };
  const auto answer = [&](std::size_t number, std::uint64_t now) {
    if (paced[number].answered == 0) paced[number].answered = std::max<std::uint64_t>(1, now - due[number]);
  };
  while (finished < due.size()) {
    std::uint64_t now = since_start();
    const std::size_t last = std::min(due.size(), finished + lines.room(due.size()));
    std::size_t end = written;
    while (end < last && end - written < kMostAtOnce && due[end] <= now) ++end;
    if (end > written && writer.try_write(updates + written * writer.record_words(), end - written))
      for (; written < end; ++written) paced[written].written = now - due[written];
    // Lines of updates after the first one that is not finished are looked at, too.
    for (std::size_t number = finished; kept == nullptr && number < std::min(written, finished + kAhead);
         ++number)
      if (paced[number].answered == 0 && lines.has(first + number)) answer(number, since_start());
    std::uint64_t all = first + finished - 1;
    const std::size_t taken = take_answers(reader, told, lines, all, records.data(), kRecords);
    now = since_start();
    for (std::size_t record = 0; record < taken; ++record) {
      const std::uint32_t* words = records.data() + record * reader.record_words();
      const std::uint64_t moment = words[0] | std::uint64_t{words[1]} << 32;
      if (moment < first || moment - first >= due.size())
        throw std::runtime_error("an answer to update " + std::to_string(moment) + ", which was not written");
      if (kept == nullptr) answer(moment - first, now);
    }
    if (kept != nullptr && taken != 0) {
      const auto words = static_cast<std::ptrdiff_t>(taken * reader.record_words());
      kept->insert(kept->end(), records.begin(), records.begin() + words);
    }
    if (all >= first + finished) {
      for (; finished < due.size() && first + finished <= all; ++finished) answer(finished, now);
      moved = Clock::now();
    }
    if (Clock::now() < next_tick) continue;
    if (!tick()) return;
    next_tick = Clock::now() + kTickPeriod;
    if (finished < written && Clock::now() - moved > limit)
      throw EchoTimeout("update " + std::to_string(first + finished) + " is not finished");
    if (finished == written) moved = Clock::now();
  }
}

}  // namespace motiflux::ring
