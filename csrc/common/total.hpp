// Exact totals: 128 bits wide, never wrapped around.
#pragma once

#include <stdexcept>

namespace motiflux {

__extension__ using Total = unsigned __int128;

// Adds `more` to `total`. Throws std::overflow_error beyond 2^128 - 1; `total` is undefined then.
inline void add_checked(Total& total, Total more) {
  if (__builtin_add_overflow(total, more, &total)) throw std::overflow_error("the count exceeds 2^128 - 1");
}

}  // namespace motiflux
