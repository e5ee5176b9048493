// The rows of a run at each of its moments, whether the run is written into the rows of the graph or not.
//
//   row at a moment = the neighbours in the graph's row that the run does not name
//                     and those of the run's ends that live at the moment
//
// Rows of one class are read where they are, with the ends of their class beside them: nothing is copied,
// however long they are. Rows of several classes are merged, each once for all threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dynamic/flat_map.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/run_matcher.hpp"
#include "motiflux/rules/order.hpp"

namespace motiflux::dynamic {

// Rows that plans read: of a target, in a direction.
struct RowName {
  std::uint32_t target;
  Way way;
  bool operator==(const RowName&) const = default;
};

// `hidden`: a changed edge is not seen at its own moment (Source::before_change).
inline bool lives_at(const RunEnd& end, Moment moment, bool hidden) {
  if (hidden) return (end.fresh == 0 || end.first < moment) && moment < end.last;
  return (end.fresh == 0 || end.first <= moment) && moment <= end.last;
}

// Its places are [0, size()); each member at a moment is at exactly one of them.
struct UnionRow {
  sets::Span ids{};              // distinct
  std::span<const RunEnd> ends;  // by neighbour; they may repeat
  bool ends_replace = true;      // whether a neighbour of `ends` is a member only by these
  std::size_t size() const { return ids.size() + ends.size(); }

  void clip(const rules::Bounds& allowed);
  // The member at a place, if there is one at the moment.
  std::optional<Vertex> at(std::size_t place, Moment moment, bool hidden) const;
  bool contains(Vertex vertex, Moment moment, bool hidden) const;

 private:
  std::span<const RunEnd> ends_of(Vertex neighbor) const;
};

class UnionRows {
 public:
  // The graph does not change as long as this is used.
  UnionRows(const Graph& graph, const Run& run, std::span<const RowName> names);

  // The most neighbours that the row of any vertex may have, or of those that the run touches.
  std::size_t largest(std::size_t name, Vertex first, Vertex last) const;
  std::size_t largest_touched(std::size_t name) const;
  Vertex vertices() const { return graph_.vertices(); }

 private:
  friend class UnionRowReader;

  struct Group {  // the ends of a vertex with one class, in one direction
    std::uint32_t of, first, size;
  };
  struct Groups {
    std::uint32_t first = 0, count = 0;
  };
  struct VertexKey {
    Vertex vertex = 0;
    bool operator==(const VertexKey&) const = default;
    std::uint64_t hash() const { return mixed(mixed(vertex)); }
  };
  // How the rows of a name are read.
  struct Kind {
    RowName name;
    const Rows* rows = nullptr;  // of one class: in these rows; null: of several
    Class of = 0;
    std::uint32_t key = 0;  // of its ends: RunEnd::of
  };
  struct Merged {
    std::vector<Vertex> ids;
    std::vector<RunEnd> ends;
  };
  struct MergedKey {
    std::uint32_t name = 0;
    Vertex vertex = 0;
    bool operator==(const MergedKey&) const = default;
    std::uint64_t hash() const { return mixed(mixed(std::uint64_t{name} << 32 | vertex)); }
  };
  struct Shard {
    std::mutex mutex;
    FlatMap<MergedKey, std::unique_ptr<const Merged>> rows;
  };
  static constexpr std::size_t kShards = 64;
  // Words of merged rows that are kept; further ones are merged by each thread for each search.
  static constexpr std::size_t kMostWords = std::size_t{1} << 26;

  std::span<const Group> groups_of(Vertex vertex) const {
    const Groups* known = touched_.find({vertex});
    return known == nullptr ? std::span<const Group>()
                            : std::span(groups_).subspan(known->first, known->count);
  }
  std::span<const RunEnd> ends_of(const Group& group) const { return ends_.subspan(group.first, group.size); }
  bool belongs(const Kind& kind, std::uint32_t key) const;
  std::size_t size_of(const Kind& kind, Vertex vertex) const;
  std::unique_ptr<Merged> merge(const Kind& kind, Vertex vertex) const;

  const Graph& graph_;
  std::span<const RunEnd> ends_;
  std::vector<Kind> kinds_;
  std::vector<Group> groups_;
  FlatMap<VertexKey, Groups> touched_;
  mutable std::array<Shard, kShards> shards_;
  mutable std::atomic<std::size_t> words_{0};
};

// Opens rows for one thread.
class UnionRowReader {
 public:
  explicit UnionRowReader(const UnionRows& rows) : all_(rows) {}

  // The rows of the search before are not used any more.
  void begin_search() {
    if (own_.empty()) return;
    known_.clear();
    own_.clear();
  }
  UnionRow open(std::size_t name, Vertex vertex);

 private:
  const UnionRows::Merged& merged(std::size_t name, Vertex vertex);

  const UnionRows& all_;
  FlatMap<UnionRows::MergedKey, const UnionRows::Merged*> known_;
  std::vector<std::unique_ptr<const UnionRows::Merged>> own_;
};

}  // namespace motiflux::dynamic
