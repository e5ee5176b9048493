// Measures the round-trip time of a packet.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ring/reader.hpp"
#include "ring/writer.hpp"

namespace motiflux::ring {

inline constexpr std::chrono::milliseconds kTickPeriod{20};

struct EchoTimeout : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Writes one record at a time, waits busily for its return, and stores the time in nanoseconds. The first
// word of a record is its number, so `nanoseconds` must be shorter than 2^32 - 1. Calls tick() every
// kTickPeriod; its false ends the measurement. Throws EchoTimeout if a round takes longer than `limit`, and
// std::runtime_error if another record comes back. Returns the number of rounds done.
template <class Tick>
std::size_t echo(Reader& reader, Writer& writer, std::span<std::uint64_t> nanoseconds, Clock::duration limit,
                 Tick&& tick) {
  std::vector<std::uint32_t> sent(writer.record_words()), received(reader.record_words());
  Clock::time_point next_tick = Clock::now() + kTickPeriod;
  for (std::size_t round = 0; round < nanoseconds.size(); ++round) {
    for (std::size_t word = 0; word < sent.size(); ++word)
      sent[word] = static_cast<std::uint32_t>(round + word);
    const Clock::time_point start = Clock::now();
    // Reads the clock while it waits, so the time of a round is exact to one reading.
    Clock::time_point now = start;
    bool written = writer.try_write(sent.data(), 1);
    while (!written || reader.take(received.data(), 1) == 0) {
      if (!written) written = writer.try_write(sent.data(), 1);
      now = Clock::now();
      if (now - start > limit) throw EchoTimeout("no answer in round " + std::to_string(round));
      if (now < next_tick) continue;
      if (!tick()) return round;
      next_tick = Clock::now() + kTickPeriod;
    }
    now = Clock::now();
    if (received != sent)
      throw std::runtime_error("something else came back in round " + std::to_string(round));
    nanoseconds[round] =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now - start).count());
    if (now >= next_tick) {
      if (!tick()) return round + 1;
      next_tick = Clock::now() + kTickPeriod;
    }
  }
  return nanoseconds.size();
}

}  // namespace motiflux::ring
