// Windows that delete edges: after a time, or after a number of later copies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dynamic/flat_map.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/update.hpp"

namespace motiflux::dynamic {

// The updates in a window, each preceded by the deletions that it causes.
struct Expanded {
  Updates updates;
  std::vector<std::int64_t> origins;  // index of the given update; for a deletion by the window, of its cause
  std::uint64_t expired = 0;
};

class Window {
 public:
  struct Copy {
    Edge edge;
    std::int64_t since = 0;  // a moment, or the number of earlier copies
  };

  // Edges stay for less than `span`: a time, or a number of later copies. `edges`: of the graph now.
  Window(std::int64_t span, bool timed, bool count_copies, std::uint64_t edges)
      : span_(span),
        timed_(timed),
        count_copies_(count_copies),
        others_(edges),
        knows_counts_(!count_copies) {}

  bool timed() const { return timed_; }
  // Adds copies that are in the graph already, in the order of their insertion; `since` of a window of copies
  // is at most `came`.
  void fill(std::span<const Copy> copies, std::int64_t came);
  // `moments` of the updates ascend; a window of copies needs none. `graph` is the graph before the updates;
  // earlier ones may have been put off, if none was since it last forgot edges.
  Expanded expand(std::span<const Update> updates, std::span<const std::int64_t> moments, const Graph& graph);
  // The deletions until `now`; for a window of copies, all that are due. `origins` are 0.
  Expanded advance(std::int64_t now);
  // Edges out of the window that it remembers to be absent, as deletions of them may have been put off. Where
  // none is, they can be forgotten, before a call.
  std::size_t absent() const { return absent_; }
  void forget_absent();
  // undo() takes back all calls since begin().
  void begin();
  void undo();
  // The copies in the window, in the order of their insertion.
  std::vector<Copy> copies() const;
  std::int64_t came() const { return came_; }
  std::size_t size() const { return queue_.size() - head_; }
  std::size_t bytes() const { return queue_.capacity() * sizeof(Copy) + counts_.bytes(); }

 private:
  // The copies of an edge in the queue: live ones, and copies deleted early; these reach the head of the
  // queue first. Where copies are not counted: whether the edge is absent, though it may be in the graph's
  // rows.
  struct CopyCounts {
    std::uint32_t live = 0, deleted : 31 = 0, absent : 1 = 0;
    bool operator==(const CopyCounts&) const = default;
  };
  struct Before {
    Edge edge;
    CopyCounts counts;
  };

  template <class Change>
  void change(const Edge& edge, Change&& change);
  void write(const Edge& edge, const CopyCounts& counts);
  CopyCounts counts_of(const Edge& edge) const;
  void count_queue();
  void expire(std::int64_t now, std::int64_t origin, Expanded& out);
  void insert(const Edge& edge, std::int64_t moment, std::int64_t origin, Expanded& out);
  void erase(const Edge& edge);
  std::size_t pass_insertions(std::span<const Update> updates, Expanded& out);
  void prefetch(std::span<const Update> updates, std::size_t at, const Graph& graph) const;
  bool is_new(const Edge& edge, const Graph& graph) const;

  static constexpr std::size_t kMost = std::size_t{1} << 31;  // copies in the queue: counts have 31 bits

  std::int64_t span_;
  bool timed_, count_copies_;
  std::vector<Copy> queue_;
  std::size_t head_ = 0;
  std::int64_t came_ = 0;
  std::uint64_t others_;  // the most edges that may be in the graph and not in the window
  std::size_t absent_ = 0;
  // Where copies are counted, only deletions by users need their numbers: they are known from the first one
  // on.
  bool knows_counts_;
  FlatMap<Edge, CopyCounts> counts_;
  // For undo().
  std::vector<Before> log_;
  std::size_t head_before_ = 0, size_before_ = 0;
  std::int64_t came_before_ = 0;
  bool knew_counts_ = false;
};

}  // namespace motiflux::dynamic
