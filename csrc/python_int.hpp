#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>

#include "common/wide.hpp"

namespace motiflux {

// An exact Python int.
inline nanobind::object to_python(const Wide& total) {
  std::size_t word = std::max<std::size_t>(total.length(), 1) - 1;
  nanobind::object number = nanobind::int_(total.words()[word]);
  while (word-- > 0) number = (number << nanobind::int_(64)) | nanobind::int_(total.words()[word]);
  return number;
}

}  // namespace motiflux
