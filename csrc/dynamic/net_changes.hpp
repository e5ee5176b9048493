// The difference that a batch of updates makes: edges that vanish, edges that appear, and numbers of copies.
//
// As in dynamic/bulk.hpp, updates are sorted by the row of their source, so that each row is read once, in
// ascending order; threads work on partitions of the rows. With a hash map of edges and a search in the row
// for each, this was an eighth of the time of a batch that changes triangles; now it is a fiftieth. The
// changes are returned in the order of the first update of each edge.
#pragma once

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

  // Forgets all updates; the next ones, at most `updates`, are distributed over partitions, one or more for
  // each thread.
  void start(std::size_t updates, int threads);
  int partitions() const { return static_cast<int>(partitions_.size()); }
  // `number` ascends from call to call; `to` is the class of the edge, seen from its source.
  void add(Moment number, const Edge& edge, Class to, bool inserts) {
    partitions_[owner(edge.source, partitions())].entries.push_back(
        {edge.source, edge.target, to | (inserts ? Entry::kComes : 0), number});
    size_ = number + std::size_t{1};
  }
  // Call it for each partition; threads may call it at once. It checks `go_on` every few thousand updates and
  // may throw Stopped.
  void find(int partition, const std::function<bool()>& go_on);

  // The rest is known after find(). `updates` are those whose numbers were added.
  //
  // The edges that vanish, then the edges that appear, each as one update. Checks `go_on` as find() does.
  std::vector<Update> changes(std::span<const Update> updates, const std::function<bool()>& go_on) const;
  // Calls visit(edge, more) for each edge whose number of copies beyond the first changes.
  template <class Visit>
  void for_each_copies(Visit&& visit) const {
    for (const Partition& partition : partitions_)
      for (const auto& [edge, more] : partition.copies) visit(edge, more);
  }
  std::uint64_t noops() const;

 private:
  struct Changed {
    Moment number;
    bool appears;
  };
  struct Partition {
    Entries entries, scratch;
    std::vector<Changed> changed;
    std::vector<std::pair<Edge, std::uint64_t>> copies;  // beyond the first, after all updates
    std::uint64_t noops = 0;
  };

  void replay(Partition& partition, std::span<const Entry> entries, bool there) const;

  const Graph& graph_;
  bool count_copies_;
  std::size_t size_ = 0;
  std::vector<Partition> partitions_;
};

}  // namespace motiflux::dynamic
