// Finds the matches that appear or vanish with one edge.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/column.hpp"
#include "common/total.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/memory.hpp"
#include "dynamic/plan.hpp"
#include "sets/intersect.hpp"

namespace motiflux::dynamic {

// Thrown if a search is stopped.
struct Stopped {};

// keep_going() is called every few microseconds of work; false to stop.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual bool keep_going() = 0;
};

// Lists of ascending ids that steps refer to.
using Allowed = std::vector<std::vector<Vertex>>;

// A View gives the contents of rows at the moment of the change:
//   sets::Span neighbors(Vertex, Way, std::uint32_t target, std::vector<Vertex>& scratch)
//   bool witnessed(Vertex from, Vertex to, Way, std::uint32_t relation, const Edge* ignored)
//   bool one_witness(std::uint32_t relation)
//   void add_holes(Vertex, Way, std::uint32_t target, sets::Span set, std::vector<Vertex>& holes)
//                                       members of a part of neighbors() absent at that moment, ascending,
//                                       for each class; if kHoles
//   bool serves(Vertex, const Needs&)   false only if a later level has no candidate
//   bool may_have_holes(Vertex)         whether a row of the vertex may; if kHoles
//   const Graph& graph
//   std::uint64_t now(), changed(Vertex, Way, std::uint32_t target, std::vector<Vertex>& scratch),
//       class_changed(Class), gained(Way, std::uint64_t bits)
//                                       the time, and times of changes (Graph::now)
//   kKeepsRows                          whether a row is where it was until its vertex changes
template <class View>
class Matcher {
 public:
  Matcher(const Allowed& allowed, Watch& watch, Memory* memory = nullptr)
      : allowed_(allowed), watch_(watch), memory_(memory), clock_(memory == nullptr ? 0 : memory->stamps) {}
  ~Matcher() {
    if (memory_ != nullptr) memory_->stamps = clock_;
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // The number of matches that map the pair of the plan to `edge` from `first` to `second`, times the plan's
  // multiplier. The edge exists.
  Total count(const Plan& plan, const View& view, const Edge& edge, Vertex first, Vertex second);

  // Appends the matches to `rows`, the data vertex of each query vertex, and calls wrote(count) after each
  // block of them; it may take the rows away.
  template <class Wrote>
  void list(const Plan& plan, const View& view, const Edge& edge, Vertex first, Vertex second,
            Column<Vertex>& rows, Wrote&& wrote);

  // A search in parts: open() returns the number of candidates of level 2, which is not in a tail and not
  // the last level; the other two search for a range of them.
  std::size_t open(const Plan& plan, const View& view, const Edge& edge, Vertex first, Vertex second) {
    return begin(plan, view, edge, first, second) ? clipped(2).size() : 0;
  }
  Total count_part(std::size_t first, std::size_t last);
  template <class Wrote>
  void list_part(std::size_t first, std::size_t last, Column<Vertex>& rows, Wrote&& wrote) {
    const sets::Span all = clipped(2);
    list_over(2, {all.first + first, all.first + last}, rows, wrote);
  }

  // Begins a search; false if the labels and ids of the two vertices and the edges between them rule out
  // matches.
  bool begin(const Plan& plan, const View& view, const Edge& edge, Vertex first, Vertex second);

 private:
  static constexpr std::int64_t kBudget = 1 << 14;
  // Shorter rows are not worth remembering what of them serves.
  static constexpr std::size_t kWorthFiltering = 8;
  static constexpr std::size_t kBlockRows = 1 << 12;
  using Buffers = std::array<std::vector<Vertex>, view::kMaxLevels>;

  bool changes() const;
  bool has_label_and_place(int level) const;
  void assign(int level, Vertex vertex) {
    value_[static_cast<std::size_t>(level)] = vertex;
    stamp_[static_cast<std::size_t>(level)] = ++clock_;
    latest_ = level;
  }
  void spend(std::size_t work) {
    budget_ -= static_cast<std::int64_t>(work);
    if (budget_ >= 0) return;
    budget_ = kBudget;
    if (!watch_.keep_going()) throw Stopped();
  }

  sets::Span whole_set(int level);
  sets::Span made_set(int level);
  sets::Span filtered_row(int level, std::uint32_t number);
  Total count_leaves(int level);
  Total leaf_sum(int level);
  Total leaves_of(Vertex vertex, const Remembered& remembered);
  sets::Span copied(sets::Span set, int level);
  sets::Span without_change(sets::Span set, int level);
  sets::Span clipped(int level);
  void find_holes(int level, sets::Span set);
  std::size_t holes_within(int level, sets::Span part) const;
  bool is_hole(int level, Vertex vertex) const {
    const auto& holes = holes_[static_cast<std::size_t>(level)];
    return View::kHoles && !holes.empty() && std::binary_search(holes.begin(), holes.end(), vertex);
  }
  bool excluded(int level, Vertex vertex) const;
  std::uint64_t count_level(int level, std::uint32_t distinct);
  bool is_counted_at_once(int level) const;
  std::uint64_t count_common(int level, std::uint32_t distinct);
  const sets::CommonCounts* closing_counts(int level) const;
  void find_common(int level, std::uint64_t stamp, sets::Span stable, std::size_t work);
  std::pair<std::uint64_t, std::uint64_t> bounds(int level) const;
  void fill(int level, std::uint32_t distinct, std::vector<Vertex>& list);
  Total count_from(int level);
  Total count_here(int level);
  Total count_over(int level, sets::Span candidates);
  Total multiplied(Total found) const;
  Total count_tail();
  Total count_component(const search::TailComponent& component);
  sets::Span last_vertices();
  template <class Wrote>
  void list_from(int level, Column<Vertex>& rows, Wrote& wrote);
  template <class Wrote>
  void write(sets::Span last, Column<Vertex>& rows, Wrote& wrote);
  template <class Wrote>
  void list_over(int level, sets::Span candidates, Column<Vertex>& rows, Wrote& wrote);

  const Allowed& allowed_;
  Watch& watch_;
  Memory* memory_;
  const Plan* plan_ = nullptr;
  const View* view_ = nullptr;
  Edge edge_{};
  std::int64_t budget_ = kBudget;
  std::uint64_t clock_;       // of stamps
  int latest_ = 0;            // the level assigned last
  std::uint64_t search_ = 0;  // a number of its own for each search
  std::array<Vertex, view::kMaxLevels> value_{};
  std::array<std::uint64_t, view::kMaxLevels> stamp_{},
      made_{};  // made_: the anchor's stamp when the set was computed
  std::array<sets::Span, view::kMaxLevels> set_{};
  std::vector<Vertex> absent_;
  Buffers holes_;  // by level: absent members of its set, ascending
  Buffers buffers_;
  std::vector<std::vector<Vertex>> rows_;  // scratch, by source
  std::vector<sets::Span> spans_;
  std::array<std::vector<Vertex>, search::kMostTailSets> tail_sets_;
  std::array<std::vector<Vertex>, std::size_t{1} << search::kMostTailSets> intersections_;
  std::vector<Vertex> last_, moved_;
  sets::Policy policy_;
};

}  // namespace motiflux::dynamic

#include "dynamic/matcher.inl.hpp"
