// Partial matches of a search from copy to copy (search/copy_walker.hpp), in buffers: one for each number of
// edges matched.
//
// A state is a block of bytes:
//
//   Head                                          what is matched, and what is next
//   CopySlot     [variables][2 ends]              copies found at an end of an edge
//   std::int64_t [variables][columns]             values of matched variables
//   Place        [variables]                      the copy of each matched edge, in its rows at one end
//   Vertex       [levels]                         matched vertices
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "copies/network.hpp"

namespace motiflux::search {

// Copies of an edge at one of its ends.
struct CopySlot {
  enum Kind : std::uint8_t {
    kNone,    // not looked at
    kRow,     // all copies at the vertex
    kWindow,  // those within bounds
  };

  copies::Place first = 0;
  copies::Place last : 55 = 0;
  copies::Place edges : 7 = 0;  // of a window: the number of edges that were matched when it was found
  copies::Place kind : 2 = kNone;

  copies::Place size() const { return last - first; }
};

class CopyState {
 public:
  using Place = copies::Place;
  using Vertex = std::uint32_t;

  struct Head {
    std::uint64_t variables = 0;  // matched, as bits
    std::uint64_t ends = 0;       // by variable: the end in whose rows its place is
    std::uint32_t levels = 0;     // matched, as bits
    std::uint32_t edges = 0;      // number of matched variables that are edges
    std::int32_t newest = 0;      // the level that was matched last
  };

  struct Layout {
    Layout(std::size_t variables, std::size_t columns, std::size_t levels)
        : columns(columns),
          values(sizeof(Head) + variables * 2 * sizeof(CopySlot)),
          places(values + variables * columns * sizeof(std::int64_t)),
          vertices(places + variables * sizeof(Place)),
          bytes((vertices + levels * sizeof(Vertex) + 7) / 8 * 8) {}

    std::size_t columns;
    std::size_t values, places, vertices;  // first bytes
    std::size_t bytes;
  };

  CopyState(std::byte* memory, const Layout& layout) : memory_(memory), layout_(&layout) {}

  Head& head() const { return *as<Head>(0); }
  CopySlot& slot(std::size_t variable, std::size_t end) const {
    return as<CopySlot>(sizeof(Head))[2 * variable + end];
  }
  std::int64_t* values(std::size_t variable) const {
    return as<std::int64_t>(layout_->values) + variable * layout_->columns;
  }
  Place& place(std::size_t variable) const { return as<Place>(layout_->places)[variable]; }
  std::size_t end(std::size_t variable) const { return head().ends >> variable & 1; }
  Vertex* vertices() const { return as<Vertex>(layout_->vertices); }

  bool has_variable(int variable) const { return (head().variables >> variable & 1) != 0; }
  bool has_level(int level) const { return (head().levels >> level & 1) != 0; }

  void clear() const { std::memset(memory_, 0, layout_->bytes); }
  void copy(const CopyState& other) const { std::memcpy(memory_, other.memory_, layout_->bytes); }

 private:
  template <class T>
  T* as(std::size_t first) const {
    return reinterpret_cast<T*>(memory_ + first);
  }

  std::byte* memory_;
  const Layout* layout_;
};

class CopyStates {
 public:
  CopyStates(const CopyState::Layout& layout, std::size_t depths, std::size_t most)
      : layout_(layout), most_(most), memory_(depths), sizes_(depths, 0) {}

  std::size_t size(std::size_t depth) const { return sizes_[depth]; }
  CopyState at(std::size_t depth, std::size_t number) {
    return {memory_[depth].data() + number * layout_.bytes, layout_};
  }
  // A new state, which is not initialized. There is room for as many as said to the constructor.
  CopyState add(std::size_t depth) {
    if (memory_[depth].empty()) memory_[depth].resize(most_ * layout_.bytes);
    return at(depth, sizes_[depth]++);
  }
  void clear(std::size_t depth) { sizes_[depth] = 0; }
  void clear() { sizes_.assign(sizes_.size(), 0); }

 private:
  const CopyState::Layout& layout_;
  const std::size_t most_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::size_t> sizes_;
};

}  // namespace motiflux::search
