// The answers of a resident kernel at the host: records of the output ring, and lines (streaming/lines.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/streaming/answer_line.hpp"
#include "ring/reader.hpp"

namespace motiflux::ring {

// What the kernel tells the host: when `packets` packets of answers were read, all updates up to the moment
// `finished` are answered (motiflux/streaming/stream.hpp).
struct Told {
  std::uint64_t* packets;
  std::uint64_t* finished;
};

// Lines of updates, by moment.
class Lines {
 public:
  // `count`: a power of two; 0: there are none.
  Lines(std::uint64_t* words, std::size_t count)
      : lines_(reinterpret_cast<streaming::AnswerLine*>(words)), count_(count) {}

  bool empty() const { return count_ == 0; }
  // How many updates may be under way, if `otherwise` may without lines.
  std::size_t room(std::size_t otherwise) const { return empty() ? otherwise : count_; }
  bool has(std::uint64_t moment) const { return !empty() && value_of(moment, 0).has_value(); }

  // Writes the records of an update's line, of `words` words each, and clears it; nothing if it is not there.
  std::optional<std::size_t> take(std::uint64_t moment, std::uint32_t* out, std::size_t words) const {
    const std::optional<std::uint32_t> records = empty() ? std::nullopt : value_of(moment, 0);
    if (!records || *records > streaming::kMostInLine) return std::nullopt;
    for (std::uint32_t record = 0; record < *records; ++record) {
      const auto plan = value_of(moment, 1 + 2 * record), total = value_of(moment, 2 + 2 * record);
      if (!plan || !total) return std::nullopt;
      std::uint32_t* at = out + record * words;
      std::fill(at, at + words, 0);
      at[0] = static_cast<std::uint32_t>(moment);
      at[1] = static_cast<std::uint32_t>(moment >> 32);
      at[2] = *plan >> 1;
      at[3] = *plan & 1;
      at[4] = *total;
    }
    clear(moment);
    return *records;
  }

  void clear(std::uint64_t moment) const {
    if (empty()) return;
    for (std::uint64_t& word : line(moment).words)
      device::system_wide(word).store(0, device::Order::kRelaxed);
  }

 private:
  streaming::AnswerLine& line(std::uint64_t moment) const { return lines_[moment & (count_ - 1)]; }

  // A word of an update's line without its tag; nothing if it is not there.
  std::optional<std::uint32_t> value_of(std::uint64_t moment, std::size_t word) const {
    const std::uint64_t found = device::system_wide(line(moment).words[word]).load(device::Order::kRelaxed);
    if (static_cast<std::uint32_t>(found) != streaming::tag_of_line(moment)) return std::nullopt;
    return static_cast<std::uint32_t>(found >> 32);
  }

  streaming::AnswerLine* lines_;
  std::size_t count_;
};

// Copies records that are there, at most `rows`; `finished`, the last update all of whose records were taken,
// moves on as far as it can. Lines are read in the order of their updates, so `rows` is at least kMostInLine;
// then those of later updates up to `last`, whichever are there: their answers come by completion. `finished`
// passes these once the host is told that they are.
inline std::size_t take_answers(Reader& reader, const Told& told, const Lines& lines, std::uint64_t& finished,
                                std::uint32_t* out, std::size_t rows, std::uint64_t last = 0) {
  const std::uint64_t all = device::system_wide(*told.finished).load(device::Order::kAcquire);
  const std::uint64_t packets = device::system_wide(*told.packets).load(device::Order::kRelaxed);
  std::size_t filled = reader.take(out, rows);
  const bool has_read_all = reader.position() >= packets;
  if (lines.empty()) {
    if (has_read_all) finished = std::max(finished, all);
    return filled;
  }
  const std::size_t words = reader.record_words();
  while (rows - filled >= streaming::kMostInLine) {
    const std::optional<std::size_t> found = lines.take(finished + 1, out + filled * words, words);
    if (!found) {
      // All that is finished was written before the host was told: without a line now, it has none.
      if (!has_read_all || finished >= all) break;
      lines.clear(finished + 1);
    }
    filled += found.value_or(0);
    ++finished;
  }
  for (std::uint64_t moment = finished + 1; moment <= last && rows - filled >= streaming::kMostInLine;
       ++moment)
    filled += lines.take(moment, out + filled * words, words).value_or(0);
  return filled;
}

}  // namespace motiflux::ring
