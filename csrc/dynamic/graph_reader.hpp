// What a device has to know to read the rows of a graph where they are: the memory that they are in, which
// rows serve as they are, where these begin, and which have changed (dynamic/row_reader.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/run_matcher.hpp"

namespace motiflux::dynamic {

// The rows of a target that are runs of rows of the graph (Graph::in_one_run).
struct OwnRows {
  const Rows* rows = nullptr;
  std::optional<Class> of;  // none: whole rows

  sets::Span row(Vertex vertex) const { return of ? rows->of_class(vertex, *of) : rows->all(vertex); }
};
std::optional<OwnRows> own_rows(const Graph& graph, Way way, std::uint32_t target);

// Of all rows: entries, those of the longest one, and the sum of the squares of their sizes.
struct SumsOfRows {
  std::uint64_t entries = 0, longest = 0;
  double squares = 0;
};
SumsOfRows sums_of(const OwnRows& own, std::uint32_t vertices, const Workers& workers);

// The graph must outlive it. Functions belong to one thread, while no row is being changed; but leave(),
// note() and release() may be called meanwhile.
class GraphReader {
 public:
  explicit GraphReader(Graph& graph);
  ~GraphReader();
  GraphReader(const GraphReader&) = delete;
  GraphReader& operator=(const GraphReader&) = delete;

  // The memory of all rows.
  Arenas arenas() const;
  // The vertices whose rows have changed since the last call, ascending. From now on rows that did not change
  // since then stay as they are, until release(): the device may read them.
  std::vector<Vertex> hold();
  void release();
  // The device has copies of the rows of these ends that they are in, so that these may be changed in place.
  // Rows of several classes may not: the device may read the other classes of a row.
  void leave(std::span<const RunEnd> ends);
  // What the device was told of the rows of these ends is not true any more.
  void note(std::span<const RunEnd> ends);

 private:
  Graph& graph_;
  std::array<RowReader, 2> readers_;  // of outgoing edges, or all; of incoming ones
};

}  // namespace motiflux::dynamic
