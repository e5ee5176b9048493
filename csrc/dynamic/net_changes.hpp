// The difference that a batch of updates makes: edges that vanish, edges that appear, and numbers of copies.
//
// As in dynamic/bulk.hpp, updates are sorted by the row of their source, so that each row is read once, in
// ascending order; threads work on partitions of the rows. With a hash map of edges and a search in the row
// for each, this was an eighth of the time of a batch that changes triangles; now it is a fiftieth. The
// changes are returned in the order of the first update of each edge.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "dynamic/entries.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/lifetimes.hpp"
#include "dynamic/update.hpp"

namespace motiflux::dynamic {

class NetChanges {
 public:
  NetChanges(const Graph& graph, bool count_copies) : graph_(graph), count_copies_(count_copies) {}

  // Forgets all updates; the next ones, with numbers less than `updates`, are distributed over partitions,
  // one or more for each thread, and come in `slices`: consecutive parts, which threads may add at once.
  void start(std::size_t updates, int threads, int slices);
  int partitions() const { return static_cast<int>(partitions_.size()); }
  // `number` ascends in each slice, and from slice to slice; `to` is the class of the edge, seen from its
  // source.
  void add(int slice, Moment number, const Edge& edge, Class to, bool inserts) {
    slices_[static_cast<std::size_t>(slice)][owner(edge.source, partitions())].push_back(
        {edge.source, edge.target, to | (inserts ? Entry::kComes : 0), number});
  }
  // Call it for each partition; threads may call it at once. It checks `go_on` every few thousand updates and
  // may throw Stopped.
  void find(int partition, const std::function<bool()>& go_on);

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
    for (const Partition& partition : partitions_)
      for (const auto& [edge, more] : partition.copies) visit(edge, more);
  }
  std::uint64_t noops() const;

 private:
  enum Effect : std::uint8_t { kStays, kVanishes, kAppears };
  struct Partition {
    Entries entries, scratch;
    std::vector<std::pair<Edge, std::uint64_t>> copies;  // beyond the first, after all updates
    std::uint64_t noops = 0;
  };

  void replay(Partition& partition, std::span<const Entry> entries, bool there);

  const Graph& graph_;
  bool count_copies_;
  std::vector<Partition> partitions_;
  std::vector<std::vector<Entries>> slices_;  // by slice and partition
  std::vector<Effect> effects_;               // of the first update of each edge
};

}  // namespace motiflux::dynamic
