// The difference that a batch of updates makes: edges that vanish, edges that appear, and numbers of copies.
//
// As in dynamic/bulk.hpp, updates are sorted by the row of their source, so that each row is read once, in
// ascending order; threads work on blocks of the rows. With a hash map of edges and a search in the row
// for each, this was an eighth of the time of a batch that changes triangles; now it is a fiftieth.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/column.hpp"
#include "dynamic/by_vertex.hpp"
#include "dynamic/entries.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/lifetimes.hpp"
#include "dynamic/matcher.hpp"
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
    sorted_.count(slice, edge.source);
  }
  // Call it when all updates are added; `watch` may stop it, by Stopped.
  void find(int threads, Watch& watch);

  // The rest is known after find().
  //
  // The edges that vanish, then the edges that appear, each as one update; both by source, order of classes
  // in rows, and target.
  Column<Update> changes(int threads, Watch& watch);
  // Calls visit(edge, more) for each edge whose number of copies beyond the first changes.
  template <class Visit>
  void for_each_copies(Visit&& visit) const {
    for (const Block& block : blocks_)
      for (const auto& [edge, more] : block.copies) visit(edge, more);
  }
  std::uint64_t noops() const;

 private:
  // Each is written by one thread at a time, and has cache lines of its own.
  struct alignas(128) Slice {
    Entry* first = nullptr;
    std::size_t size = 0;
  };
  // Of the updates of some vertices.
  struct Block {
    std::size_t first = 0, changes = 0, vanish = 0;      // of found_
    std::vector<std::pair<Edge, std::uint64_t>> copies;  // beyond the first, after all updates
    std::uint64_t noops = 0;
  };

  Edge edge_of(const Entry& entry) const;
  void find_in(Block& block, Entries& entries, Entries& scratch, Watch& watch);
  void replay(Block& block, std::span<const Entry> entries, bool there);

  const Graph& graph_;
  bool count_copies_;
  Unwritten<Entry> added_{0};
  std::vector<Slice> slices_;  // of these
  ByVertex<Entry> sorted_;
  Unwritten<Entry> found_{0};  // net changes, with gaps
  std::vector<Block> blocks_;
};

}  // namespace motiflux::dynamic
