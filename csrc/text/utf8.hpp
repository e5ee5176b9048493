// UTF-8: validation and decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace motiflux::text {

inline constexpr std::uint32_t kInvalid = 0xffffffff;

// The character at `at`, which is moved past it; kInvalid for invalid bytes, surrogates included.
inline std::uint32_t next_character(std::string_view text, std::size_t& at) {
  auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const std::uint32_t first = byte(at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return kInvalid;
  std::uint32_t value = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const std::uint32_t next = byte(at + i);
    if ((next & 0xc0) != 0x80) return kInvalid;
    value = value << 6 | (next & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return kInvalid;
  at += length;
  return value;
}

inline bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();)
    if (next_character(text, at) == kInvalid) return false;
  return true;
}

}  // namespace motiflux::text
