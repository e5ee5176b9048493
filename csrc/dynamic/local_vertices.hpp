// Vertices around a changed edge: lists of them, and numbers for some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynamic/quotients.hpp"
#include "dynamic/rows.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

// The vertices of a domain, ascending, and the rows of the ends that have them.
struct LocalVertices {
  std::vector<Vertex> vertices;
  std::vector<Quotients::Flags> flags;

  std::size_t size() const { return vertices.size(); }
  void clear() {
    vertices.clear();
    flags.clear();
  }
  // Adds a row; `scratch` is overwritten.
  void merge(sets::Span row, Quotients::Flags flag, LocalVertices& scratch);
};

// A number of 32 bits for each of some vertices, 0 for all others.
class VertexTable {
 public:
  // Forgets all, and has room for `size` vertices.
  void start(std::size_t size);
  // A vertex that is not there yet.
  void add(Vertex vertex, std::uint32_t number) { slots_[probe().slot(vertex)] = key(vertex) | number; }

  // Adds 1 to the numbers of the vertices of a row.
  void count(sets::Span row) {
    const Probe probe = this->probe();
    std::uint64_t* const slots = slots_.data();
    for (const Vertex vertex : row) {
      std::uint64_t& slot = slots[probe.slot(vertex)];
      slot = key(vertex) | static_cast<std::uint32_t>(slot + 1);
    }
  }
  // The sum of their numbers.
  std::uint64_t sum(sets::Span row) const {
    const Probe probe = this->probe();
    std::uint64_t sum = 0;
    for (const Vertex vertex : row) sum += static_cast<std::uint32_t>(probe.slots[probe.slot(vertex)]);
    return sum;
  }
  // Writes the numbers of the vertices that are there, in the order of the row. Returns how many there are;
  // `found` has room for all of the row.
  std::size_t find(sets::Span row, std::uint32_t* found) const {
    const Probe probe = this->probe();
    std::size_t size = 0;
    for (const Vertex vertex : row) {
      const std::uint64_t slot = probe.slots[probe.slot(vertex)];
      found[size] = static_cast<std::uint32_t>(slot);  // without a branch: often neither is likely
      size += slot != kEmpty;
    }
    return size;
  }

 private:
  // At least so many slots for each vertex, so that few vertices share one.
  static constexpr std::size_t kSlots = 4, kLeast = 256;
  // No vertex has the greatest number.
  static constexpr std::uint64_t kEmpty = std::uint64_t{UINT32_MAX} << 32;

  // What a loop needs to know; stores into a table could change its members.
  struct Probe {
    const std::uint64_t* slots;
    int shift;
    std::uint32_t mask;

    // That of the vertex, or the empty one where it belongs.
    std::uint32_t slot(Vertex vertex) const {
      std::uint32_t at = vertex * 0x9E3779B9u >> shift;
      for (std::uint64_t slot = slots[at]; (slot >> 32 != vertex) & (slot != kEmpty); slot = slots[at])
        at = (at + 1) & mask;
      return at;
    }
  };
  static std::uint64_t key(Vertex vertex) { return std::uint64_t{vertex} << 32; }
  Probe probe() const { return {slots_.data(), shift_, static_cast<std::uint32_t>(size_ - 1)}; }

  std::vector<std::uint64_t> slots_;  // vertex, number
  std::size_t size_ = 0;
  int shift_ = 0;
};

}  // namespace motiflux::dynamic
