// Lines of the host's memory: an update as the host writes it (receive.hpp), and an answer as an executor
// does (lines.hpp). Each word has 32 bits of a tag that no other update of the last 2^31 has, so that words
// need no order among each other.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kWordsOfUpdate = 4, kMostInLine = 3;

struct UpdateLine {
  std::uint64_t words[kWordsOfUpdate];  // of an Update
};

struct AnswerLine {
  std::uint64_t words[8];
};
static_assert(1 + 2 * kMostInLine <= 8);

// Never 0.
MOTIFLUX_HOST_DEVICE inline std::uint32_t tag_of_line(std::uint64_t moment) {
  return 2 * static_cast<std::uint32_t>(moment) + 1;
}

MOTIFLUX_HOST_DEVICE inline std::uint64_t tagged_word(std::uint64_t moment, std::uint32_t value) {
  return std::uint64_t{value} << 32 | tag_of_line(moment);
}

}  // namespace motiflux::streaming
