// How many edges came and went by their labels: orders are planned by such numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dynamic/flat_map.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/relations.hpp"
#include "dynamic/undo.hpp"
#include "dynamic/update.hpp"

namespace motiflux::dynamic {

class LabelChanges {
 public:
  // Labels of the source, the edge and the target.
  struct Key {
    Label source = 0, edge = 0, target = 0;
    bool operator==(const Key&) const = default;
    std::uint64_t hash() const {
      return mixed(mixed(std::uint64_t{source} << 32 | target) ^ (std::uint64_t{edge} << 20));
    }
  };

  // Of many changes a part is looked at, which stands for the others: labels of vertices are far apart in
  // memory. With very many labels, nothing is counted any more until clear().
  void add(const Graph& graph, std::span<const Done> done) {
    look(done, [&](const Done& one, std::int64_t weight) {
      if (one.kind != Done::kCopies) add(graph, one.edge, one.kind == Done::kInserted, weight);
    });
  }
  // All of the updates had an effect.
  void add(const Graph& graph, std::span<const Update> done) {
    look(done, [&](const Update& one, std::int64_t weight) { add(graph, one.edge, one.inserts, weight); });
  }

  // Changes since clear().
  std::uint64_t changes() const { return changes_; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    arcs_.for_each(visit);
  }
  void clear() {
    arcs_.clear();
    changes_ = 0;
  }

 private:
  static constexpr std::size_t kLooked = 4096, kMost = std::size_t{1} << 16;

  template <class One, class Visit>
  void look(std::span<const One> done, Visit&& visit) const {
    if (arcs_.size() > kMost) return;
    const std::size_t step = 1 + done.size() / kLooked;
    for (std::size_t at = 0; at < done.size(); at += step)
      visit(done[at], static_cast<std::int64_t>(std::min(step, done.size() - at)));
  }
  void add(const Graph& graph, const Edge& edge, bool inserted, std::int64_t weight) {
    if (edge.label >= kStandIn) return;
    arcs_[{graph.label(edge.source), edge.label, graph.label(edge.target)}] += inserted ? weight : -weight;
    changes_ += static_cast<std::uint64_t>(weight);
  }

  FlatMap<Key, std::int64_t> arcs_;  // more edges, or fewer
  std::uint64_t changes_ = 0;
};

}  // namespace motiflux::dynamic
