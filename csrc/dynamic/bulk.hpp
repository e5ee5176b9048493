// Writes updates row by row.
//
// The updates of a run are sorted by the row of their source, and each row is traversed once: its entries are
// looked up in ascending order, and all insertions and deletions are made together. The resulting changes in
// the rows of targets are sorted again. Rows belong to partitions, on which threads work in parallel:
//
//   add, slice by slice  ->  [forward of partition 0] ...    changes of sources' rows
//   forward(partition)   ->  [back of partition 0]    ...    changes of targets' rows, by partition
//   backward(partition)
//
// Vertices whose rows change, and classes, are noted in the graph with the number of changes at that time.
//
// A deleted edge that may be in matches stays in the graph until the run is matched (dynamic/lifetimes.hpp);
// then take_gone(partition) removes it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "dynamic/entries.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/lifetimes.hpp"
#include "dynamic/undo.hpp"

namespace motiflux::dynamic {

// The effect of an update on matches.
enum class Effect : std::uint8_t { kNone, kAppear, kVanish };

class Bulk {
 public:
  Bulk(Graph& graph, bool count_copies) : graph_(graph), count_copies_(count_copies) {}

  // Forgets all updates; the next ones are distributed over `partitions` partitions and come in `slices`:
  // consecutive parts, which threads may add at once. The numbers of watched ones are less than `watched`.
  void start(int partitions, int slices = 1, std::size_t watched = 0);
  // Forgets all updates and frees the memory for them; start() must follow.
  void free_memory() {
    std::vector<Partition>().swap(partitions_);
    std::vector<Slice>().swap(slices_);
  }
  // Adds updates that are not watched; `most`: the greatest class of an end of the inserted edges.
  void add(int slice, std::span<const Entry> updates, Class most);
  // Counts the no-ops among updates that are not watched by their numbers, which are less than `numbers`.
  void count_noops(std::size_t numbers);
  // Adds these counts to `counts`.
  void sum_noops(std::vector<std::uint64_t>& counts) const;
  // An edge of class `to`, seen from its source, and `from`. `number` ascends in each slice, and from slice
  // to slice; `watched`: the edge may be in matches.
  void add(int slice, Moment number, const Edge& edge, Class to, Class from, bool inserts, bool watched) {
    Slice& added = slices_[static_cast<std::size_t>(slice)];
    if (inserts) added.most = std::max({added.most, to, from});
    const std::uint32_t of = to | (inserts ? Entry::kComes : 0) | (watched ? Entry::kWatched : 0);
    added.entries[owner(edge.source, partitions())].push_back({edge.source, edge.target, of, number});
  }
  // Call it once all updates are added: rows get room for their classes.
  void admit();
  // The same for updates that are not added but written by write().
  void admit(Class most);
  int partitions() const { return static_cast<int>(partitions_.size()); }

  using GoOn = std::function<bool()>;
  // The changes have the number Graph::now(), which must be new. Call forward() for each partition, then
  // backward() for each, then finish(). The first two check `go_on` every few thousand updates and may throw
  // Stopped.
  void forward(int partition, const GoOn& go_on);
  void backward(int partition, const GoOn& go_on);
  void finish();
  void take_gone(int partition);
  // The most changes that for_each_done() visits after finish().
  std::size_t done() const;

  // Makes changes that are sorted as rows are, whose classes were admitted: insertions of new entries and
  // deletions of present ones. The number of edges stays. Threads, each with a number below partitions(), may
  // write different rows at once; then call finish().
  void write(int thread, Way way, const Entries& entries, const GoOn& go_on) {
    write_rows(partitions_[static_cast<std::size_t>(thread)], way, entries, &go_on);
  }
  // Of a watched update, after forward().
  Effect effect(Moment number) const { return effects_[number]; }
  std::uint64_t noops() const;
  // The lifetimes of watched edges, by partition, sorted: input of Lifetimes.
  std::vector<End>& ends(int partition) { return partitions_[static_cast<std::size_t>(partition)].ends; }
  // Takes back all changes since start().
  void take_back();
  // Calls visit(changes) for lists of changes, which it may take; changes of one edge are in one list, in the
  // order in which they were made.
  template <class Visit>
  void for_each_done(Visit&& visit) {
    for (Partition& partition : partitions_) visit(partition.done);
  }

 private:
  struct Partition {
    Entries forward, scratch;
    std::vector<Entries> back, gone_back;  // by the partition of their rows
    Entries gone;
    std::vector<End> ends, end_scratch;
    std::vector<std::vector<End>> back_ends;
    std::vector<Rows::Change> changes;
    std::vector<Moment> spans;
    std::vector<Done> done;
    std::vector<std::pair<Edge, std::uint64_t>> copies;  // beyond the first, after all updates
    std::uint64_t noops = 0;
    std::vector<std::uint64_t> noops_of;  // by number, if they are counted so
    std::int64_t edges = 0;
    std::vector<std::uint8_t> changed;          // by class: whether edges of it change
    std::array<std::uint64_t, 2> gained{};      // out, in: classes of which rows got their first neighbour
    std::vector<std::uint64_t> gained_columns;  // of the candidate table
  };

  struct Slice {
    std::vector<Entries> entries;  // by partition
    Class most = 0;                // of what is inserted
  };

  void replay(Partition& partition, const Entry* first, const Entry* last, std::size_t at, bool there);
  void spend(std::size_t& looked, const GoOn& go_on) const;
  void write_row(Partition& partition, Way way, Vertex row);
  void write_rows(Partition& partition, Way way, const Entries& entries, const GoOn* go_on);
  static void note_class(Partition& partition, Class of);
  void order(std::vector<End>& ends, std::vector<End>& scratch) const;

  Graph& graph_;
  bool count_copies_;
  std::vector<Partition> partitions_;
  std::vector<Slice> slices_;
  std::vector<Effect> effects_;
};

}  // namespace motiflux::dynamic
