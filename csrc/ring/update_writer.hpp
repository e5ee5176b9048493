// Writes updates to lines of the host's memory, which a resident kernel reads: see
// motiflux/streaming/receive.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/streaming/answer_line.hpp"

namespace motiflux::ring {

// One thread at a time.
class UpdateWriter {
 public:
  // `count`: of lines, a power of two; `read`: the word in which the kernel tells which lines may be written
  // again; `moment`: of the last update that was written. Throws std::invalid_argument.
  UpdateWriter(streaming::UpdateLine* lines, std::size_t count, std::uint64_t* read, std::uint64_t moment)
      : lines_(lines), count_(count), read_(read), seen_(moment), written_(moment) {
    if (count == 0 || (count & (count - 1)) != 0) throw std::invalid_argument("lines must be a power of two");
  }

  static constexpr std::uint32_t record_words() { return streaming::kWordsOfUpdate; }

  // Writes updates of kWordsOfUpdate words each; false if there is no room for all of them.
  bool try_write(const std::uint32_t* updates, std::size_t number) {
    if (count_ - (written_ - seen_) < number) {
      seen_ = device::system_wide(*read_).load(device::Order::kAcquire);
      if (count_ - (written_ - seen_) < number) return false;
    }
    for (; number > 0; --number) {
      ++written_;
      // Released for the first update of a kind, whose tables were written before.
      for (std::uint64_t& word : lines_[written_ & (count_ - 1)].words)
        device::system_wide(word).store(streaming::tagged_word(written_, *updates++),
                                        device::Order::kRelease);
    }
    return true;
  }

 private:
  streaming::UpdateLine* lines_;
  std::size_t count_;
  std::uint64_t* read_;
  std::uint64_t seen_, written_;
};

}  // namespace motiflux::ring
