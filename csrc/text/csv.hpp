// Rows of integers as comma-separated text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace motiflux::text {

// `values` is [rows, columns], row by row. Each row ends with "\n"; there is no header.
std::string format_csv(const std::int64_t* values, std::size_t rows, std::size_t columns);

}  // namespace motiflux::text
