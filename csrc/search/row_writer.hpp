// Embeddings as rows of vertices, a column per query vertex.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "search/compare.hpp"
#include "sets/span.hpp"

namespace motiflux::search {

// Allocates elements without setting them to zero: they are overwritten at once.
template <class T>
struct Uninitialized : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Uninitialized<U>;
  };
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

// Rows, one after another.
using Block = std::vector<std::uint32_t, Uninitialized<std::uint32_t>>;

class RowWriter {
 public:
  // position[l] is the column of level l.
  RowWriter(const NativePlan& native_plan, const std::vector<std::uint32_t>& position)
      : compare_(native_plan), position_(position), row_(position.size()) {
    if (!native_plan.members.empty()) members_ = native_plan.members.back();
  }

  // Appends a row for each of `last`, the values of the last level; `prefix` has the values of the other
  // levels.
  void append(Block& block, const std::uint32_t* prefix, sets::Span last) {
    const std::size_t columns = row_.size(), size = block.size();
    for (std::size_t level = 0; level + 1 < columns; ++level)
      row_[position_[level]] = compare_.vertex(level, prefix[level]);
    block.resize(size + columns * last.size());
    std::uint32_t* out = block.data() + size;
    switch (columns) {  // a size known to the compiler is copied without a loop
      case 2:
        return write<2>(out, last);
      case 3:
        return write<3>(out, last);
      case 4:
        return write<4>(out, last);
      case 5:
        return write<5>(out, last);
      case 6:
        return write<6>(out, last);
      case 8:
        return write<8>(out, last);
      default:
        return write<0>(out, last);
    }
  }

 private:
  // Copies row_ and then writes the last level's column over it. `Columns` is 0 for any other number of
  // columns.
  template <std::size_t Columns>
  void write(std::uint32_t* out, sets::Span last) const {
    const std::size_t columns = Columns == 0 ? row_.size() : Columns;
    const std::uint32_t* row = row_.data();
    const std::size_t changing = position_.back();
    for (const std::uint32_t value : last) {
      std::memcpy(out, row, columns * sizeof *out);
      out[changing] = members_ ? members_[value] : value;
      out += columns;
    }
  }

  const Compare compare_;
  const std::vector<std::uint32_t>& position_;
  const std::uint32_t* members_ = nullptr;  // the data vertices of the values of the last level
  std::vector<std::uint32_t> row_;
};

}  // namespace motiflux::search
