// What every kernel here takes. Some need less.
#pragma once

#include "motiflux/platform.hpp"

struct Arguments {
  std::uint64_t* out;
  const std::uint64_t* in;
  std::uint32_t count;
  std::uint32_t mask;
  std::int32_t operand;
  std::int32_t width;
};
