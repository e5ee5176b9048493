#include "dynamic/local_vertices.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace motiflux::dynamic {

void LocalVertices::merge(sets::Span row, Quotients::Flags flag, LocalVertices& scratch) {
  if (vertices.empty()) {
    vertices.assign(row.begin(), row.end());
    flags.assign(row.size(), flag);
    return;
  }
  const std::size_t most = size() + row.size();
  scratch.vertices.resize(most);
  scratch.flags.resize(most);
  std::size_t count = 0, at = 0;
  const Vertex* next = row.first;
  while (at < size() && next != row.last) {
    const Vertex mine = vertices[at], its = *next;
    scratch.vertices[count] = std::min(mine, its);
    scratch.flags[count++] = (mine <= its ? flags[at] : 0) | (its <= mine ? flag : 0);
    at += mine <= its;
    next += its <= mine;
  }
  for (; at < size(); ++at) {
    scratch.vertices[count] = vertices[at];
    scratch.flags[count++] = flags[at];
  }
  for (; next != row.last; ++next) {
    scratch.vertices[count] = *next;
    scratch.flags[count++] = flag;
  }
  scratch.vertices.resize(count);
  scratch.flags.resize(count);
  std::swap(*this, scratch);
}

void VertexTable::start(std::size_t size) {
  size_ = std::bit_ceil(std::max(kLeast, kSlots * size));
  if (slots_.size() < size_) slots_.resize(size_);
  std::fill_n(slots_.begin(), size_, kEmpty);
  shift_ = 32 - std::countr_zero(size_);
}

}  // namespace motiflux::dynamic
