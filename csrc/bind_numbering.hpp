// The ids of vertices as Python has them: objects and columns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "common/arrays.hpp"
#include "dynamic/vertex_ids.hpp"

namespace motiflux {

struct PyVertexIds {
  PyVertexIds(std::size_t fewest, std::size_t most) : ids(fewest), most(most) {}

  dynamic::VertexIds ids;
  std::size_t most;  // vertices
  // Results of earlier calls may be read by other threads while ids are added.
  std::mutex mutex;
};

class IntegerColumn {
 public:
  using Input = InputArray<std::int64_t>;
  static constexpr bool kIsCheap = true;

  explicit IntegerColumn(const Input& values) : values_(values.data()), size_(values.size()) {}
  std::size_t size() const { return size_; }
  std::int64_t at(std::size_t row) const { return values_[row]; }
  bool same(std::size_t row, const IntegerColumn& other) const { return values_[row] == other.values_[row]; }

 private:
  const std::int64_t* values_;
  std::size_t size_;
};

// Strings as NumPy has them: code points, as many for each, with zeros at the end.
class StringColumn {
 public:
  using Input =
      nanobind::ndarray<const std::uint32_t, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
  static constexpr bool kIsCheap = false;

  explicit StringColumn(const Input& values)
      : points_(values.data()), size_(values.shape(0)), width_(values.shape(1)) {}
  std::size_t size() const { return size_; }
  // Valid until the next call.
  std::string_view at(std::size_t row) const {
    const std::uint32_t* const first = points_ + row * width_;
    const std::size_t length = length_of(row);
    utf8_.resize(4 * length);
    char* to = utf8_.data();
    for (const std::uint32_t* point = first; point != first + length; ++point) to = put(*point, to);
    return {utf8_.data(), static_cast<std::size_t>(to - utf8_.data())};
  }
  bool same(std::size_t row, const StringColumn& other) const {
    const std::size_t length = length_of(row);
    return length == other.length_of(row) &&
           std::equal(points_ + row * width_, points_ + row * width_ + length,
                      other.points_ + row * other.width_);
  }

 private:
  std::size_t length_of(std::size_t row) const {
    std::size_t length = width_;
    while (length > 0 && points_[row * width_ + length - 1] == 0) --length;
    return length;
  }
  static char* put(std::uint32_t point, char* to) {
    if (point < 0x80) {
      *to++ = static_cast<char>(point);
    } else if (point < 0x800) {
      *to++ = static_cast<char>(0xC0 | point >> 6);
      *to++ = static_cast<char>(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
      *to++ = static_cast<char>(0xE0 | point >> 12);
      *to++ = static_cast<char>(0x80 | (point >> 6 & 0x3F));
      *to++ = static_cast<char>(0x80 | (point & 0x3F));
    } else {
      *to++ = static_cast<char>(0xF0 | point >> 18);
      *to++ = static_cast<char>(0x80 | (point >> 12 & 0x3F));
      *to++ = static_cast<char>(0x80 | (point >> 6 & 0x3F));
      *to++ = static_cast<char>(0x80 | (point & 0x3F));
    }
    return to;
  }

  const std::uint32_t* points_;
  std::size_t size_, width_;
  mutable std::string utf8_;
};

}  // namespace motiflux
