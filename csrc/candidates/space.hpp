// The candidate space: a set of candidates per query vertex, and for each query edge the arcs between two
// sets, after gSWORD (section 3.1). Three levels of rows:
//
//   query edge      ->  its rows, from either end
//   candidate       ->  its row, by position in the set of one end
//   row             ->  positions in the set of the other end, ascending
//
// Sets hold data vertices in ascending order, so comparing positions in one set compares vertices. A search
// over the space uses positions only; `places` carries a position from one set into another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "candidates/edge_rows.hpp"
#include "candidates/query.hpp"
#include "common/parallel.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::candidates {

struct Options {
  int rounds = 4;
  int cycles = 0;  // edges of the longest cycles that must close over arcs (narrow.hpp)
  std::uint64_t max_bytes = 0;
};

class Filter;

// A space that somebody else keeps, for the space of another process.
struct SpaceView {
  struct Edge {
    std::uint32_t source;
    std::uint32_t target;
    RowsView forward;  // from the source's candidates; rows of one end at least
    RowsView backward;
  };
  std::vector<std::span<const std::uint32_t>> sets;
  std::vector<Edge> edges;
  int rounds = 0;
};

class Space {
 public:
  enum class State {
    kReady,
    kEmpty,     // some query vertex has no candidate: nothing matches
    kTooLarge,  // does not fit; there are no rows
  };

  Space(const DataGraph& graph, const Query& query, const Options& options, const Workers& workers);
  // A space that is ready, in arrays that `keeper` keeps.
  Space(SpaceView view, std::shared_ptr<const void> keeper);

  // Its arrays, which stay where they are as long as it lives. Rows that are made later are not among them.
  SpaceView view() const;

  State state() const { return state_; }
  int rounds() const { return view_.rounds; }
  std::size_t size() const { return view_.sets.size(); }
  std::size_t edges() const { return view_.edges.size(); }
  std::span<const std::uint32_t> set(std::size_t query_vertex) const { return view_.sets[query_vertex]; }
  std::uint64_t arcs(std::size_t edge) const;
  std::uint64_t bytes() const;

  // The rows of a query edge from its source to its target, or the reverse. Call `orient` first.
  view::Adjacency rows(std::size_t edge, bool from_source) const;
  // Makes the rows in that direction unless they exist.
  void orient(std::size_t edge, bool from_source);
  // `places` from the set of one query vertex to that of another, made once for each pair of different sets.
  const std::uint32_t* places_between(std::size_t from, std::size_t to);
  // The first query vertex with the same candidates.
  std::size_t class_of(std::size_t query_vertex) const { return classes_[query_vertex]; }

 private:
  void make_rows(const DataGraph& graph, const Query& query, const Filter& filter, const Options& options,
                 const Workers& workers);

  void find_classes();

  // What this space made itself.
  std::vector<std::vector<std::uint32_t>> sets_;
  std::vector<EdgeRows> edges_;
  // What searches read: the same, and arrays that the keeper keeps.
  SpaceView view_;
  std::shared_ptr<const void> keeper_;
  std::vector<std::size_t> classes_;
  // Data that searches request while they run, from several threads; beside it, `view_` gets rows of ends.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::uint32_t>> places_;
  State state_ = State::kReady;
};

// For each position in `from`: twice the position of the first vertex in `to` that is not less, plus one if
// it is the same vertex. Both ascending.
std::vector<std::uint32_t> places(std::span<const std::uint32_t> from, std::span<const std::uint32_t> to);

}  // namespace motiflux::candidates
