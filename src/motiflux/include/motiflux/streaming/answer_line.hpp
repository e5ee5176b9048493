// A line of the host's memory with the answer of one update: see lines.hpp.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::streaming {

inline constexpr std::uint32_t kMostInLine = 3;

struct AnswerLine {
  std::uint64_t words[8];
};
static_assert(1 + 2 * kMostInLine <= 8);

MOTIFLUX_HOST_DEVICE inline std::uint32_t tag_of_line(std::uint64_t moment) {
  return 2 * static_cast<std::uint32_t>(moment) + 1;
}

}  // namespace motiflux::streaming
