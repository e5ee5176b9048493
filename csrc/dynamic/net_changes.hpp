// The difference that a batch of updates makes: edges that vanish, edges that appear, and numbers of copies.
//
// As in dynamic/bulk.hpp, updates are sorted by the row of their source, so that each row is read once, in
// ascending order; threads work on blocks of the rows. With a hash map of edges and a search in the row
// for each, this was an eighth of the time of a batch that changes triangles; now it is a fiftieth. The
// changes are returned in the order of the first update of each edge.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dynamic/by_vertex.hpp"
#include "dynamic/entries.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/lifetimes.hpp"
#include "dynamic/update.hpp"

namespace motiflux::dynamic {

class NetChanges {
 public:
  NetChanges(const Graph& graph, bool count_copies) : graph_(graph), count_copies_(count_copies) {}

  // Forgets all updates; the next ones, with numbers less than `updates`, come in `slices`: consecutive parts
  // (begin_of_slice()), which threads may add at once.
  void start(std::size_t updates, int slices);
  // `number` ascends in each slice; `to` is the class of the edge, seen from its source.
  void add(int slice, Moment number, const Edge& edge, Class to, bool inserts) {
    Slice& added = slices_[static_cast<std::size_t>(slice)];
    added.first[added.size++] = {edge.source, edge.target, to | (inserts ? Entry::kComes : 0), number};
  }
  // Call it when all updates are added; `watch` may stop it, by Stopped.
  void find(int threads, Watch& watch);

  // The rest is known after find(). `updates` are those whose numbers were added.
  //
  // The edges that vanish, then the edges that appear, each as one update. Threads may write parts of them at
  // once: the numbers of both in the updates [first, last), and these, to the given places.
  std::array<std::size_t, 2> count(std::size_t first, std::size_t last) const;
  void write(std::span<const Update> updates, std::size_t first, std::size_t last, Update* vanish,
             Update* appear) const;
  // Calls visit(edge, more) for each edge whose number of copies beyond the first changes.
  template <class Visit>
  void for_each_copies(Visit&& visit) const {
    for (const Block& block : blocks_)
      for (const auto& [edge, more] : block.copies) visit(edge, more);
  }
  std::uint64_t noops() const;

 private:
  enum Effect : std::uint8_t { kStays, kVanishes, kAppears };
  // Each is written by one thread at a time, and has cache lines of its own.
  struct alignas(128) Slice {
    Entry* first = nullptr;
    std::size_t size = 0;
  };
  // Of the updates of a block of vertices.
  struct Block {
    std::vector<std::pair<Edge, std::uint64_t>> copies;  // beyond the first, after all updates
    std::uint64_t noops = 0;
  };

  void find_in(std::size_t block, Entries& entries, Entries& scratch, Watch& watch);
  void replay(Block& block, std::span<const Entry> entries, bool there);

  const Graph& graph_;
  bool count_copies_;
  Unwritten<Entry> added_{0};
  std::vector<Slice> slices_;  // of these
  ByVertex<Entry> sorted_;
  std::vector<Block> blocks_;
  std::vector<Effect> effects_;  // of the first update of each edge
};

}  // namespace motiflux::dynamic
