#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bind_copies.hpp"
#include "bind_portion.hpp"
#include "bindings.hpp"
#include "candidates/space.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/watched.hpp"
#include "python_int.hpp"
#include "search/bundle.hpp"
#include "search/count.hpp"
#include "search/enumerate.hpp"
#include "search/image_counts.hpp"
#include "search/pair_walker.hpp"
#include "search/pick.hpp"
#include "search/projection.hpp"
#include "search/sample.hpp"
#include "search/wedge_steps.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using PyBounds = std::tuple<std::uint32_t, std::uint32_t>;  // minimum out-degree and in-degree
using Levels = std::vector<int>;
// Levels, listed levels, number of separators, exact levels, whether kept, child block.
using PyList = std::tuple<Levels, Levels, std::size_t, Levels, bool, int>;
// Levels, sets, chains, child blocks, lists.
using PyComponent = std::tuple<Levels, Levels, Levels, Levels, std::vector<PyList>>;
using PyExcluded = std::tuple<Levels, Levels>;  // members, levels
using PyBlock = std::tuple<std::vector<PyComponent>, Levels, std::vector<PyExcluded>, bool>;
using PyTail = std::tuple<int, std::vector<PyBlock>>;             // first level, blocks
using PyAllDifferent = std::tuple<std::uint32_t, std::uint32_t>;  // search::AllDifferentBound
using PyLink =
    std::tuple<std::size_t, std::size_t, std::size_t, bool>;  // from, to, query edge, as PySourceEdge
using PyCompared = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // apart, smaller, greater
using PyApart = std::tuple<std::size_t, std::size_t, PyAdjacency>;           // level, earlier level, rows
using PyPolicy = std::tuple<int, int>;                                       // sets::Method, sets::Simd
using PySourceEdge = std::tuple<std::size_t, bool>;  // query edge, and whether its source is the earlier end

// Of an edge that a search from copy to copy follows, its copies at both ends; None for a vertex, and for an
// end whose rows are not read.
using PyWalkEdge = std::optional<std::tuple<std::optional<PyCopyIndex>, std::optional<PyCopyIndex>>>;
// Of a search from pair to pair: its edges in order, and how many of the last are counted without being
// matched; the columns of the root's copies by pairs; whether it goes by wedges.
using PyPairWalk =
    std::optional<std::tuple<std::vector<int>, int, std::vector<InputArray<std::int64_t>>, bool>>;

std::size_t copies_of(const PyCopyIndex& index) {
  const auto& starts = std::get<2>(index);
  require(starts.size() > 0, "starts must not be empty");
  return starts.data()[starts.size() - 1];
}

constexpr std::size_t kMostWalkVariables = 64;
constexpr int kMaxThreads = 1024;
constexpr std::size_t kMaxBlockRows = std::size_t{1} << 30;

// One step in Python's form: its sources are separate.
struct PyStep {
  std::vector<std::uint16_t> source_levels;
  std::vector<std::uint16_t> source_directions;
  view::StepShape shape;
};

// A search::NativePlan with the arrays that it points into.
class OwnedNativePlan {
 public:
  OwnedNativePlan(const std::vector<PyStep>& steps, const std::vector<PyBounds>& bounds,
                  std::vector<std::uint16_t> source_adjacencies, std::vector<PyAdjacency> adjacencies,
                  PyAdjacency out, PyAdjacency in, const PyPolicy& policy, const PyTail& tail)
      : OwnedNativePlan(steps, bounds, std::move(source_adjacencies), std::move(out), std::move(in), policy) {
    arrays_ = std::move(adjacencies);
    for (const PyAdjacency& adjacency : arrays_)
      native_plan_.adjacencies.push_back(as_adjacency(adjacency, native_plan_.vertices));
    native_plan_.roots = native_plan_.vertices;
    check_plan();
    set_tail(tail);
  }

  // Over a candidate space: order[level] is a query vertex, and a source follows a query edge.
  OwnedNativePlan(const std::vector<PyStep>& steps, const std::vector<PyBounds>& bounds, nb::object space,
                  const std::vector<std::size_t>& order, const std::vector<PySourceEdge>& source_edges,
                  PyAdjacency out, PyAdjacency in, const PyPolicy& policy, const PyTail& tail)
      : OwnedNativePlan(steps, bounds, {}, std::move(out), std::move(in), policy) {
    space_ = std::move(space);
    candidates_ = &nb::cast<candidates::Space&>(space_);
    {
      const FreeGil free_gil;
      use_space(*candidates_, order, source_edges);
    }
    check_plan();
    check_classes(order);
    set_tail(tail);
  }
  OwnedNativePlan(const OwnedNativePlan&) = delete;
  OwnedNativePlan& operator=(const OwnedNativePlan&) = delete;

  const search::NativePlan& get() const { return native_plan_; }
  std::size_t data_vertices() const { return std::get<0>(out_).size() - 1; }

  // Allows an adaptive order of levels: over a candidate space, not for induced matching. `links` are query
  // edges between two levels, `compared` the masks of search::AdaptiveOrder.
  void set_adaptive_order(const std::vector<PyLink>& links, const std::vector<PyCompared>& compared,
                          bool always) {
    require(candidates_ != nullptr, "only a candidate space is searched in another order");
    require(compared.size() == steps_.size(), "three masks per level expected");
    const std::uint32_t levels = ~std::uint32_t{0} >> (view::kMaxLevels - steps_.size());
    for (const auto& [apart, smaller, greater] : compared)
      require(((apart | smaller | greater) & ~levels) == 0, "a level is compared with none");
    for (const auto& [from, to, edge, from_source] : links)
      require(from < steps_.size() && to < steps_.size() && edge < candidates_->edges(),
              "a link leads nowhere");
    for (const view::StepShape& step : steps_)
      require((step.not_out | step.not_in) == 0, "induced matching has its order");
    native_plan_.always_adaptive = always;
    native_plan_.adaptive_order = [this, links, compared]() -> const search::AdaptiveOrder& {
      std::call_once(adaptive_order_made_, [&] { make_adaptive_order(links, compared); });
      return adaptive_order_;
    };
  }

  // Sets the arcs that must not lead to a level: (level, earlier level, rows by data vertex). They are those
  // that not_out and not_in name, at each level that has any.
  void set_apart(std::vector<PyApart> given) {
    std::vector<std::vector<search::Apart>> apart(steps_.size());
    const std::size_t vertices = data_vertices();
    for (const auto& [level, earlier, rows] : given) {
      require(level < steps_.size() && earlier < level, "arcs lead from an earlier level to a later one");
      require(std::get<0>(rows).size() == vertices + 1, "rows of another number of vertices");
      const view::StepShape& step = steps_[level];
      require((((step.not_out | step.not_in) >> earlier) & 1) != 0, "arcs of a level that is not named");
      apart[level].push_back({static_cast<std::uint32_t>(earlier), as_adjacency(rows, vertices)});
    }
    native_plan_.apart = std::move(apart);
    apart_ = std::move(given);
  }

  // Searches with comparisons between attributes, over rows of the graph. `variables` has for each source the
  // variable whose rows by main value may give candidates, or -1, `filtered` whether vertices that it leads
  // to have conditions.
  void set_comparisons(nb::object comparisons, std::vector<int> variables,
                       const std::vector<bool>& filtered) {
    const OwnedComparisons& given = comparisons_of(comparisons);
    require(candidates_ == nullptr, "comparisons need rows of the graph");
    require(given.levels() == static_cast<int>(steps_.size()), "comparisons of another number of levels");
    require(given.vertices() == 0 || given.vertices() == native_plan_.vertices,
            "comparisons of another graph");
    require(native_plan_.tail.start == static_cast<int>(steps_.size()), "comparisons do not go with a tail");
    require(variables.size() == sources_.size() && filtered.size() == sources_.size(),
            "one variable for each source expected");
    for (const view::StepShape& step : steps_)
      require(step.reuse == view::kNoReuse, "comparisons do not go with sets that are used again");
    for (std::size_t level = 1; level < steps_.size(); ++level)
      for (std::uint32_t s = 0; s < steps_[level].source_count; ++s) {
        const std::size_t source = steps_[level].first_source + s;
        if (variables[source] < 0) continue;
        require(static_cast<std::size_t>(variables[source]) < given.get().ends.size(),
                "a source names no variable");
        const copies::Compared::Ends& ends = given.get().ends[static_cast<std::size_t>(variables[source])];
        require(ends.from == sources_[source].level && ends.to == static_cast<int>(level) &&
                    !ends.index.row_columns.empty(),
                "a source names a variable of other levels, or without rows");
      }
    comparisons_ = std::move(comparisons);
    native_plan_.compared = &given.get();
    native_plan_.variable_of_source = std::move(variables);
    native_plan_.filtered_source.assign(filtered.begin(), filtered.end());
  }

  // Searches from copy to copy, from those of the variable `root`, as rows of one end. `indexes` has for each
  // variable that is an edge its copies at its first and at its second end, `masks` the data vertices that
  // each level may have; `together` is search::CopyWalk::together. After set_comparisons.
  void set_copy_walk(std::vector<PyWalkEdge> indexes, int root, int side,
                     std::vector<std::optional<InputArray<std::uint8_t>>> masks, PyPairWalk by_pairs,
                     std::size_t together) {
    require(together >= 1 && together <= search::CopyWalk::kMostTogether,
            "1 to 4096 partial matches expected");
    require(native_plan_.compared != nullptr, "a search from copy to copy has comparisons");
    const copies::Compared& compared = *native_plan_.compared;
    require(indexes.size() == compared.ends.size() && indexes.size() <= kMostWalkVariables,
            "copies for each variable expected");
    require(masks.size() == steps_.size(), "one mask per level expected");
    require(native_plan_.vertices > 0 && side >= 0 && side <= 1 && root >= 0 &&
                static_cast<std::size_t>(root) < indexes.size() &&
                !compared.network.variables[static_cast<std::size_t>(root)].is_vertex,
            "a search begins at an edge");
    for (const view::StepShape& step : steps_)
      require((step.not_out | step.not_in) == 0, "induced matching needs vertices");
    walk_indexes_ = std::move(indexes);
    walk_masks_ = std::move(masks);
    walk_rows_.clear();
    copy_walk_ = {};
    for (std::size_t v = 0; v < walk_indexes_.size(); ++v) {
      const copies::Variable& variable = compared.network.variables[v];
      require(variable.is_vertex != walk_indexes_[v].has_value(), "copies of an edge expected");
      auto& rows = walk_rows_.emplace_back();
      search::CopyWalk::Edge edge;
      if (walk_indexes_[v]) {
        require(!variable.columns.empty(), "an edge whose copies are not compared");
        edge.ends[0] = compared.ends[v].from;
        edge.ends[1] = compared.ends[v].to;
        const std::optional<PyCopyIndex>* given[2] = {&std::get<0>(*walk_indexes_[v]),
                                                      &std::get<1>(*walk_indexes_[v])};
        for (std::size_t end = 0; end < 2; ++end) {
          require(given[end]->has_value() || by_pairs, "rows of both ends expected");
          if (!given[end]->has_value()) continue;
          const PyCopyIndex& index = **given[end];
          rows[end] = checked_index(index, copies_of(index));
          require((rows[end].row_columns.size() == variable.columns.size() || by_pairs) &&
                      std::get<0>(index).size() == native_plan_.vertices + std::size_t{1},
                  "rows of other columns, or of another graph");
        }
      }
      copy_walk_.edges.push_back(edge);
    }
    for (std::size_t v = 0; v < walk_rows_.size(); ++v)
      for (std::size_t end = 0; end < 2; ++end)
        if (walk_rows_[v][end].offsets) copy_walk_.edges[v].rows[end] = &walk_rows_[v][end];
    for (const auto& mask : walk_masks_) {
      require(!mask || mask->size() == native_plan_.vertices, "one mark for each vertex expected");
      copy_walk_.masks.push_back(mask ? mask->data() : nullptr);
    }
    copy_walk_.root = root;
    copy_walk_.side = side;
    copy_walk_.together = together;
    walk_by_pairs_ = std::move(by_pairs);
    if (walk_by_pairs_) set_pair_walk(*walk_by_pairs_);
    require(copy_walk_.edges[static_cast<std::size_t>(root)].rows[side] != nullptr,
            "rows of the root expected");
    native_plan_.copy_walk = &copy_walk_;
    if (copy_walk_.by_wedges) search::WedgeSteps check(native_plan_);  // throws where it does not apply
  }

  // Sets the options that prune a search: see search::NativePlan.
  void prune(int backjump, const std::vector<PyAllDifferent>& all_different) {
    require(all_different.empty() || all_different.size() == steps_.size(),
            "one pair of numbers per level expected");
    require(backjump >= 0 && backjump <= 2, "unknown way to jump back");
    native_plan_.backjump = static_cast<search::Backjump>(backjump);
    native_plan_.all_different.clear();
    for (const auto& [others, greater] : all_different) {
      require(greater <= others, "more levels take a greater vertex than take another");
      native_plan_.all_different.push_back({others, greater});
    }
  }

 private:
  OwnedNativePlan(const std::vector<PyStep>& steps, const std::vector<PyBounds>& bounds,
                  std::vector<std::uint16_t> source_adjacencies, PyAdjacency out, PyAdjacency in,
                  const PyPolicy& policy)
      : out_(std::move(out)), in_(std::move(in)), source_adjacencies_(std::move(source_adjacencies)) {
    for (const PyStep& step : steps) add_step(step);
    for (const auto& [out_degree, in_degree] : bounds) args_.push_back({out_degree, in_degree});
    const std::size_t rows = std::get<0>(out_).size();
    require(rows >= 1, "offsets must not be empty");
    native_plan_.vertices = static_cast<std::uint32_t>(rows - 1);
    native_plan_.out = as_adjacency(out_, native_plan_.vertices);
    native_plan_.in = as_adjacency(in_, native_plan_.vertices);
    const auto& [method, simd] = policy;
    require(method >= 0 && method <= 2, "unknown intersection method");
    require(simd >= 0 && simd <= 2 && sets::runs_here(static_cast<sets::Simd>(simd)),
            "this processor lacks the instructions");
    native_plan_.sets = {static_cast<sets::Method>(method), static_cast<sets::Simd>(simd)};
  }

  // Checks that each edge but the first begins at a vertex that is matched before, and has the rows for that.
  void set_pair_walk(const PyPairWalk::value_type& given) {
    const auto& [order, leaves, columns, by_wedges] = given;
    const copies::Compared& compared = *native_plan_.compared;
    require(!order.empty() && order[0] == copy_walk_.root, "an order begins with the root");
    require(leaves >= 0 && leaves <= 2, "at most two edges are counted without being matched");
    std::uint32_t reached = 0;
    std::size_t edges = 0;
    for (const copies::Variable& variable : compared.network.variables) edges += !variable.is_vertex;
    std::vector<char> seen(compared.ends.size(), 0);
    for (const int variable : order) {
      require(variable >= 0 && static_cast<std::size_t>(variable) < seen.size() &&
                  !compared.network.variables[static_cast<std::size_t>(variable)].is_vertex &&
                  !std::exchange(seen[static_cast<std::size_t>(variable)], 1),
              "an order names each edge once");
      const search::CopyWalk::Edge& edge = copy_walk_.edges[static_cast<std::size_t>(variable)];
      const bool there[2] = {(reached >> edge.ends[0] & 1) != 0, (reached >> edge.ends[1] & 1) != 0};
      if (reached != 0) {
        require(there[0] || there[1], "an edge that begins at no matched vertex");
        const copies::CopyIndex* rows = edge.rows[there[0] ? 0 : 1];
        require((there[0] && there[1]) || by_wedges ||
                    (rows &&
                     rows->neighbors == compared.ends[static_cast<std::size_t>(variable)].index.neighbors &&
                     rows->row_columns.size() ==
                         compared.network.variables[static_cast<std::size_t>(variable)].columns.size()),
                "rows of an edge expected");
      }
      for (const int end : edge.ends) reached |= std::uint32_t{1} << end;
    }
    require(order.size() == edges && std::popcount(reached) == static_cast<int>(steps_.size()),
            "an order has all edges and vertices");
    const auto root = static_cast<std::size_t>(copy_walk_.root);
    require(copy_walk_.edges[root].rows[copy_walk_.side] != nullptr &&
                columns.size() == compared.network.variables[root].columns.size(),
            "copies of the root expected");
    const std::uint64_t copies =
        copy_walk_.root_rows().starts[copy_walk_.root_rows().offsets[native_plan_.vertices]];
    for (const auto& column : columns) {
      require(column.size() == copies, "one value for each copy expected");
      copy_walk_.root_columns.push_back(column.data());
    }
    require(!by_wedges || copy_walk_.root_rows().neighbors == compared.ends[root].index.neighbors,
            "a search by wedges begins at copies that are compared");
    copy_walk_.order = order;
    copy_walk_.leaves = leaves;
    copy_walk_.by_wedges = by_wedges;
  }

  void use_space(candidates::Space& space, const std::vector<std::size_t>& order,
                 const std::vector<PySourceEdge>& source_edges) {
    const std::size_t levels = steps_.size();
    require(space.state() == candidates::Space::State::kReady, "the candidate space has no rows");
    require(order.size() == levels && space.size() == levels, "one query vertex per level expected");
    require(source_edges.size() == sources_.size(), "one query edge per source expected");
    native_plan_.vertices = 0;
    for (std::size_t query_vertex : order) {
      require(query_vertex < levels, "no such query vertex");
      const auto& set = space.set(query_vertex);
      native_plan_.members.push_back(set.data());
      native_plan_.sizes.push_back(static_cast<std::uint32_t>(set.size()));
      native_plan_.vertices = std::max(native_plan_.vertices, static_cast<std::uint32_t>(set.size()));
    }
    native_plan_.roots = static_cast<std::uint32_t>(space.set(order[0]).size());
    for (const auto& [edge, from_source] : source_edges) {
      require(edge < space.edges(), "no such query edge");
      space.orient(edge, from_source);
      source_adjacencies_.push_back(static_cast<std::uint16_t>(native_plan_.adjacencies.size()));
      native_plan_.adjacencies.push_back(space.rows(edge, from_source));
    }
    native_plan_.places.assign(levels * levels, nullptr);
    for (std::size_t level = 0; level < levels; ++level) {
      const view::StepShape& step = steps_[level];
      for (std::uint32_t rest = step.distinct | step.after | step.before; rest != 0; rest &= rest - 1) {
        const auto earlier = static_cast<std::size_t>(std::countr_zero(rest));
        require(earlier < level, "a step names a level that is not earlier");
        native_plan_.places[level * levels + earlier] = space.places_between(order[earlier], order[level]);
      }
    }
  }

  // Levels that share an intersection have one set: positions in it are read as positions in the other.
  void check_classes(const std::vector<std::size_t>& order) const {
    for (std::size_t level = 1; level < steps_.size(); ++level) {
      if (steps_[level].reuse == view::kNoReuse) continue;
      const std::size_t reused = order[static_cast<std::size_t>(steps_[level].reuse)];
      require(candidates_->class_of(order[level]) == candidates_->class_of(reused),
              "levels that share an intersection have other candidates");
    }
  }

  // Called by a thread of a search, without the GIL, while the space exists.
  void make_adaptive_order(const std::vector<PyLink>& links, const std::vector<PyCompared>& compared) {
    for (const auto& [from, to, edge, from_source] : links) {
      candidates_->orient(edge, from_source);
      candidates_->orient(edge, !from_source);
      const int start = static_cast<int>(from), end = static_cast<int>(to);
      adaptive_order_.links[from].push_back({start, end, candidates_->rows(edge, from_source)});
      adaptive_order_.links[to].push_back({end, start, candidates_->rows(edge, !from_source)});
    }
    for (std::size_t level = 0; level < compared.size(); ++level)
      std::tie(adaptive_order_.apart[level], adaptive_order_.smaller[level], adaptive_order_.greater[level]) =
          compared[level];
  }

  void add_step(const PyStep& step) {
    require(step.source_levels.size() == step.source_directions.size(), "sources lack a direction");
    view::StepShape shape = step.shape;
    shape.first_source = static_cast<std::uint32_t>(sources_.size());
    shape.source_count = static_cast<std::uint32_t>(step.source_levels.size());
    for (std::size_t s = 0; s < step.source_levels.size(); ++s) {
      require(step.source_directions[s] <= 2, "unknown direction");
      sources_.push_back({step.source_levels[s], static_cast<view::Direction>(step.source_directions[s])});
    }
    steps_.push_back(shape);
  }

  void set_tail(const PyTail& tail) {
    const auto& [start, blocks] = tail;
    const auto levels = static_cast<int>(steps_.size());
    require(start >= 1 && start <= levels, "a tail starts at level 1 or later");
    require(!blocks.empty() || start == levels, "a tail has blocks");
    native_plan_.tail.start = start;
    native_plan_.tail.matched.assign(steps_.size(), 0);
    for (const PyBlock& block : blocks) add_block(block);
    if (blocks.empty()) return;
    std::uint32_t seen = 0;
    match_block(0, (std::uint32_t{1} << start) - 1, seen);
    require(std::popcount(seen) == levels - start, "a tail covers each of its levels once");
  }

  void add_block(const PyBlock& given) {
    const auto& [components, exact, excluded, kept] = given;
    search::TailBlock block{{}, exact, {}, kept};
    const auto named = [&](int level) { return level >= 0 && level < static_cast<int>(steps_.size()); };
    for (const auto& [levels, set_of, chains, child_blocks, lists] : components) {
      require((!levels.empty() || !lists.empty()) && levels.size() == set_of.size() &&
                  (child_blocks.empty() || child_blocks.size() == levels.size()),
              "a malformed tail component");
      search::TailComponent component{levels, set_of, chains, child_blocks, {}};
      require(lists.empty() || (lists.size() <= search::kMostLists && child_blocks.empty() &&
                                levels.size() <= search::kMostLevelsBesideLists),
              "more beside lists than there may be");
      for (const PyList& list : lists) component.lists.push_back(checked_list(list));
      for (int set : set_of) require(set >= 0 && set < search::kMostTailSets, "too many sets in a component");
      const bool plain = std::count(child_blocks.begin(), child_blocks.end(), search::kNoBlock) ==
                         static_cast<std::ptrdiff_t>(child_blocks.size());
      require(component.sets() <= 1 || levels.size() <= search::kMostMixedLevels,
              "too many levels in a component");
      require(plain || levels.size() <= search::kMostDistinctLevels, "too many levels that blocks hang from");
      std::size_t chained = 0;
      for (int chain : chains) {
        require(chain >= 1 && chain <= view::kMaxLevels, "a malformed chain");
        chained += static_cast<std::size_t>(chain);
      }
      require(chained <= levels.size(), "chains longer than their component");
      block.components.push_back(std::move(component));
    }
    for (int level : exact) require(named(level), "a block depends on no level");
    for (const auto& [members, levels] : excluded) {
      for (int level : members) require(named(level), "a block depends on no level");
      for (int level : levels) require(named(level), "a block depends on no level");
      block.excluded.push_back({members, levels});
    }
    native_plan_.tail.blocks.push_back(std::move(block));
  }

  search::TailList checked_list(const PyList& given) {
    const auto& [levels, listed, separators, exact, kept, block] = given;
    require(!levels.empty() && separators >= 1 && separators <= search::kMostSeparators &&
                separators <= listed.size() && listed.size() <= search::kMostListed,
            "a malformed list of a tail");
    for (int level : listed)
      require(std::count(levels.begin(), levels.end(), level) == 1, "a list names a level it does not match");
    for (int level : exact)
      require(level >= 0 && level < static_cast<int>(steps_.size()), "a list depends on no level");
    return {levels, listed, separators, exact, kept, block, native_plan_.tail.lists++};
  }

  // Checks a block that is counted when the levels `matched` are matched, and adds its levels to `seen`.
  void match_block(std::size_t index, std::uint32_t matched, std::uint32_t& seen) {
    const search::TailBlock& block = native_plan_.tail.blocks[index];
    std::uint32_t needed = 0;
    for (int level : block.exact) needed |= std::uint32_t{1} << level;
    for (const search::Excluded& group : block.excluded) {
      for (int level : group.levels) needed |= std::uint32_t{1} << level;
      for (int member : group.members)
        for (int level : group.levels)
          require(((steps_[static_cast<std::size_t>(member)].distinct >> level) & 1) != 0,
                  "a block excludes what it does not compare");
    }
    require((needed & ~matched) == 0, "a block depends on a level that is not matched");
    for (const search::TailComponent& component : block.components)
      match_component(index, component, matched, seen);
  }

  void match_component(std::size_t index, const search::TailComponent& component, std::uint32_t matched,
                       std::uint32_t& seen) {
    for (std::size_t at = 0; at < component.levels.size(); ++at) {
      const int level = component.levels[at];
      match_level(level, matched, seen);
      if (!component.blocks.empty())
        match_child_block(index, component.blocks[at], matched | std::uint32_t{1} << level, seen);
    }
    for (const search::TailList& list : component.lists) {
      std::uint32_t within = matched, exact = 0;
      for (int level : list.exact) exact |= std::uint32_t{1} << level;
      require((exact & ~matched) == 0, "a list depends on a level that is not matched");
      for (int level : list.levels) {
        const std::uint32_t sources = match_level(level, within, seen);
        within |= std::uint32_t{1} << level;
        require((sources & ~(exact | (within & ~matched))) == 0,
                "a list depends on a level it does not name");
      }
      match_child_block(index, list.block, within, seen);
    }
  }

  void match_child_block(std::size_t index, int block, std::uint32_t matched, std::uint32_t& seen) {
    if (block == search::kNoBlock) return;
    const auto next = static_cast<std::size_t>(block);
    require(next > index && next < native_plan_.tail.blocks.size(), "a block hangs from one after it");
    match_block(next, matched, seen);
  }

  // Checks a level of the tail that is counted when the levels `matched` are matched; returns the levels it
  // depends on.
  std::uint32_t match_level(int level, std::uint32_t matched, std::uint32_t& seen) {
    require(level >= native_plan_.tail.start && level < static_cast<int>(steps_.size()),
            "a tail component names a level before the tail");
    const view::StepShape& step = steps_[static_cast<std::size_t>(level)];
    const std::uint32_t bit = std::uint32_t{1} << level;
    require((seen & bit) == 0, "a tail covers each of its levels once");
    seen |= bit;
    std::uint32_t sources = step.after | step.before;
    for (std::uint32_t s = 0; s < step.source_count; ++s)
      sources |= std::uint32_t{1} << sources_[step.first_source + s].level;
    require(
        (sources & ~matched) == 0 && (step.not_out | step.not_in) == 0 && ((matched >> step.anchor) & 1) != 0,
        "a level of the tail depends on one that is not matched");
    native_plan_.tail.matched[static_cast<std::size_t>(level)] = step.distinct & matched;
    return sources;
  }

  // Checks the preconditions of the search.
  void check_plan() {
    native_plan_.plan = {{static_cast<std::uint32_t>(steps_.size()), steps_.data(), sources_.data()},
                         {args_.data(), source_adjacencies_.data()}};
    const auto levels = static_cast<int>(steps_.size());
    require(levels >= 2 && levels <= view::kMaxLevels, "a plan has 2 to 32 levels");
    require(steps_[1].source_count > 0, "level 1 has no source");
    require(args_.size() == steps_.size(), "one pair of bounds per step expected");
    require(source_adjacencies_.size() == sources_.size(), "one adjacency per source expected");
    require(!steps_.back().bounds_out && !steps_.back().bounds_in, "the last step bounds degrees");
    for (std::uint16_t adjacency : source_adjacencies_)
      require(adjacency < native_plan_.adjacencies.size(), "a source names no adjacency");
    for (int level = 0; level < levels; ++level) {
      const view::StepShape& step = steps_[static_cast<std::size_t>(level)];
      const std::uint32_t earlier = (std::uint32_t{1} << level) - 1;
      const std::uint32_t named = step.after | step.before | step.distinct | step.not_out | step.not_in;
      require((named & ~earlier) == 0, "a step names a level that is not earlier");
      require(std::uint64_t{step.first_source} + step.source_count <= sources_.size(),
              "sources out of range");
      if (level == 0) continue;
      require(step.source_count > 0 || step.reuse >= 2, "a step without candidates");
      require(step.reuse == view::kNoReuse || (step.reuse >= 2 && step.reuse < level), "reuse out of range");
      require(step.anchor >= 0 && step.anchor < level, "anchor out of range");
      require(
          step.reuse == view::kNoReuse || steps_[static_cast<std::size_t>(step.reuse)].anchor <= step.anchor,
          "a step's anchor is before that of the step it reuses");
      for (std::uint32_t s = 0; s < step.source_count; ++s) {
        const view::Source& source = sources_[step.first_source + s];
        require(source.level <= step.anchor, "a source is later than the anchor");
      }
    }
  }

  nb::object comparisons_;
  std::vector<PyWalkEdge> walk_indexes_;
  std::vector<std::optional<InputArray<std::uint8_t>>> walk_masks_;
  std::deque<std::array<copies::CopyIndex, 2>> walk_rows_;
  search::CopyWalk copy_walk_;
  PyPairWalk walk_by_pairs_;
  nb::object space_;
  candidates::Space* candidates_ = nullptr;  // the one in space_
  std::once_flag adaptive_order_made_;
  search::AdaptiveOrder adaptive_order_;
  std::vector<PyAdjacency> arrays_;
  std::vector<PyApart> apart_;
  PyAdjacency out_, in_;
  std::vector<view::StepShape> steps_;
  std::vector<view::Source> sources_;
  std::vector<view::StepArgs> args_;
  std::vector<std::uint16_t> source_adjacencies_;
  search::NativePlan native_plan_;
};

// Calls progress(done, total, found()) unless it is None; false if it raised.
template <class Found>
bool report(const nb::object& progress, const search::Control& control, Found&& found) {
  if (progress.is_none()) return true;
  try {
    progress(control.done(), control.total(), found());
    return true;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return false;
}

bool report(const nb::object& progress, const search::Control& control) {
  return report(progress, control, [&] { return control.found.load(std::memory_order_relaxed); });
}

nb::tuple count(const OwnedNativePlan& native_plan, int threads, std::optional<std::uint64_t> limit,
                std::optional<double> timeout, const nb::object& progress, bool brief) {
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  std::vector<std::uint64_t> sizes;
  if (brief) {
    search::Control control(native_plan.get().units(), 1, timeout);
    std::optional<Wide> total;
    {
      const FreeGil free_gil;
      total = search::count_briefly(native_plan.get(), control, limit, sizes);
    }
    if (total) return nb::make_tuple(to_python(*total), static_cast<int>(control.reason()), sizes);
  }
  search::Control control(native_plan.get().units(), threads, timeout);
  Wide total;
  run_watched([&] { total = search::count(native_plan.get(), control, threads, limit, &sizes); },
              [&] { return report(progress, control); }, [&] { control.stop(search::Stop::kCancelled); });
  return nb::make_tuple(to_python(total), static_cast<int>(control.reason()), sizes);
}

// Most searches of parts of a sharded graph take less than starting a thread does.
constexpr double kUnwatchedSeconds = 5e-4;

// The number of embeddings of a portion, the reason why the search ended, and the items left; these are of no
// use if the reason is not kNone.
nb::tuple count_portion(const OwnedNativePlan& native_plan, const PyPortion& given, int threads,
                        std::optional<std::uint64_t> limit, std::optional<double> timeout) {
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  search::Portion portion = as_portion(native_plan.get(), given);
  Wide begun;
  if (!timeout && !portion.seconds && !portion.work && !portion.rows) {
    search::Control control(0, 1, std::nullopt);
    search::Portion first = portion;
    first.seconds = kUnwatchedSeconds;
    search::Pool pool(control, first);
    {
      const FreeGil free_gil;
      begun = search::count(native_plan.get(), control, 1, limit, nullptr, &pool);
    }
    portion.items = pool.left();
    if (control.reason() != search::Stop::kNone || portion.items.empty())
      return nb::make_tuple(to_python(begun), static_cast<int>(control.reason()), to_python(portion.items));
    if (limit) *limit -= static_cast<std::uint64_t>(begun.low());  // it was not passed
  }
  search::Control control(0, threads, timeout);
  search::Pool pool(control, portion);
  Wide total;
  run_watched([&] { total = search::count(native_plan.get(), control, threads, limit, nullptr, &pool); },
              [] { return true; }, [&] { control.stop(search::Stop::kCancelled); });
  total += begun;
  return nb::make_tuple(to_python(total), static_cast<int>(control.reason()), to_python(pool.left()));
}

// The count for each root arc, and the reason why the search ended.
nb::tuple count_arcs(const OwnedNativePlan& native_plan, int threads, std::optional<double> timeout) {
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  search::Control control(native_plan.get().root_arcs(), threads, timeout);
  require(native_plan.get().tail.start >= 2, "each arc is counted for itself");
  require(!native_plan.get().compared, "arcs are not counted with comparisons");
  std::vector<std::uint64_t> counts(native_plan.get().root_arcs(), 0);
  run_watched([&] { search::count_arcs(native_plan.get(), control, threads, counts); }, [] { return true; },
              [&] { control.stop(search::Stop::kCancelled); });
  return nb::make_tuple(to_numpy(std::move(counts)), static_cast<int>(control.reason()));
}

using PyCountedLevel = std::tuple<int, int, std::size_t>;  // search::CountedLevel

// The count at each image of the counted levels: the numbers modulo 2^64, what is missing in some of them as
// pairs of a position and a Python int, and the reason why the search ended.
// If arcs are counted, `arcs` has the rows of each counted level. Of a portion, the items left follow.
nb::tuple count_images(const OwnedNativePlan& native_plan, const std::vector<PyCountedLevel>& levels,
                       const std::optional<std::vector<PyAdjacency>>& arcs, std::size_t size, bool listing,
                       int threads, std::optional<double> timeout, const nb::object& progress,
                       const std::optional<PyPortion>& given) {
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  const search::NativePlan& plan = native_plan.get();
  const std::size_t vertices = native_plan.data_vertices();
  const int end = listing ? static_cast<int>(plan.plan.shape.levels) : search::first_counted_as_a_set(plan);
  require(!arcs || arcs->size() == levels.size(), "rows for each counted level expected");
  search::CountedLevels counted{{}, size};
  for (const auto& [level, target, first] : levels) {
    require(level >= 0 && level < end && target < end && (target >= 0) == arcs.has_value(),
            "a counted level is not enumerated");
    search::CountedLevel one{level, target, first};
    if (arcs) one.arcs = as_adjacency((*arcs)[counted.levels.size()], static_cast<std::uint32_t>(vertices));
    const std::size_t numbers = arcs ? one.arcs.offsets[vertices] : vertices;
    require(first <= size && numbers <= size - first, "too few numbers");
    counted.levels.push_back(one);
  }
  search::Control control(given ? 0 : plan.root_arcs(), threads, timeout);
  std::optional<search::Pool> pool;
  if (given) pool.emplace(control, as_portion(plan, *given));
  search::ImageCounts counts = search::ImageCounts::of_search(size, threads);
  search::Pool* const portion = pool ? &*pool : nullptr;
  run_watched([&] { search::count_images(plan, control, threads, counted, listing, counts, portion); },
              [&] { return report(progress, control); }, [&] { control.stop(search::Stop::kCancelled); });
  nb::list above;
  for (const auto& [at, missing] : counts.above()) above.append(nb::make_tuple(at, to_python(missing)));
  if (pool)
    return nb::make_tuple(to_numpy(std::move(counts.words())), above, static_cast<int>(control.reason()),
                          to_python(pool->left()));
  return nb::make_tuple(to_numpy(std::move(counts.words())), above, static_cast<int>(control.reason()));
}

// The rows at ascending places among those of a portion, [rows, levels], and the number of rows that were
// looked at; position[l] is the column of level l.
nb::tuple pick_rows(const OwnedNativePlan& native_plan, std::vector<std::uint32_t> position,
                    const PyPortion& given, std::vector<std::int64_t> places) {
  const search::NativePlan& plan = native_plan.get();
  require(!plan.copy_walk, "rows of copies are not picked");
  require(position.size() == plan.plan.shape.levels, "one column per level expected");
  for (std::uint32_t column : position) require(column < position.size(), "column out of range");
  require(std::is_sorted(places.begin(), places.end()) && (places.empty() || places.front() >= 0),
          "ascending places expected");
  search::Control control(0, 1, std::nullopt);
  search::Pool pool(control, as_portion(plan, given));
  search::PickedRows picked;
  run_watched([&] { picked = search::pick_rows(plan, position, control, places, pool); }, [] { return true; },
              [&] { control.stop(search::Stop::kCancelled); });
  const std::size_t columns = position.size(), rows = picked.rows.size() / columns;
  return nb::make_tuple(to_numpy(std::move(picked.rows), rows, columns), picked.seen);
}

// Levels, least, most, unequal.
using PyThreshold =
    std::tuple<Levels, std::uint64_t, std::optional<std::uint64_t>, std::optional<std::uint64_t>>;
// Returned levels, thresholds, whether subtrees are left at a witness.
using PyProjection = std::tuple<Levels, std::vector<PyThreshold>, bool>;

search::ProjectionPlan checked_projection(const OwnedNativePlan& native_plan, const PyProjection& given) {
  const search::NativePlan& plan = native_plan.get();
  const int levels = static_cast<int>(plan.plan.shape.levels);
  require(plan.tail.start == levels && !plan.copy_walk && !plan.adaptive_order,
          "a projection is searched level by level, in one order");
  std::uint32_t returned = 0;
  const auto add = [&](std::uint32_t& mask, int level) {
    require(level >= 0 && level < levels && ((mask >> level) & 1) == 0,
            "a projection names a level twice, or none");
    mask |= std::uint32_t{1} << level;
  };
  for (int level : std::get<0>(given)) add(returned, level);
  std::vector<search::Threshold> thresholds;
  for (const auto& [counted, least, most, unequal] : std::get<1>(given)) {
    require(!counted.empty() && returned != 0, "a threshold counts levels beside returned ones");
    std::uint32_t mask = returned;
    for (int level : counted) add(mask, level);
    search::Threshold& one = thresholds.emplace_back();
    one.levels = counted;
    one.least = least;
    one.most = most.value_or(search::Threshold::kNoMost);
    one.unequal = unequal;
  }
  return {std::get<0>(given), std::move(thresholds), std::get<2>(given)};
}

// The number of rows of a projection, and the reason why the search ended: the limit if there are more.
nb::tuple count_rows(const OwnedNativePlan& native_plan, const PyProjection& projection, int threads,
                     std::optional<std::uint64_t> limit, std::optional<double> timeout,
                     const nb::object& progress) {
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  const search::ProjectionPlan plan = checked_projection(native_plan, projection);
  search::Control control(native_plan.get().units(), threads, timeout);
  std::uint64_t total = 0;
  run_watched([&] { total = search::count_rows(native_plan.get(), plan, control, threads, limit); },
              [&] { return report(progress, control); }, [&] { control.stop(search::Stop::kCancelled); });
  return nb::make_tuple(total, static_cast<int>(control.reason()));
}

// Several searches in one pass: for each its total and the reason why it ended. `progress` receives a list of
// the numbers found.
nb::list count_together(const std::vector<nb::object>& native_plans, int threads,
                        const std::vector<std::optional<std::uint64_t>>& limits,
                        std::optional<double> timeout, const nb::object& progress) {
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  require(!native_plans.empty() && native_plans.size() == limits.size(), "a limit for each search expected");
  std::vector<const search::NativePlan*> plain;
  for (const nb::object& native_plan : native_plans)
    plain.push_back(&nb::cast<const OwnedNativePlan&>(native_plan).get());
  for (const search::NativePlan* native_plan : plain)
    require(native_plan->members.empty() && !native_plan->compared, "a candidate space, or comparisons");
  require(search::shared_levels(plain) >= 2, "the searches do not share two levels");
  const std::uint64_t arcs = plain[0]->root_arcs();
  search::Control pass(arcs, threads, timeout);
  std::deque<search::Member> members;
  for (std::size_t at = 0; at < plain.size(); ++at)
    members.emplace_back(*plain[at], limits[at], arcs, threads, timeout);
  const auto stop = [&] {
    pass.stop(search::Stop::kCancelled);
    for (search::Member& member : members) member.control.stop(search::Stop::kCancelled);
  };
  const auto found = [&] {
    nb::list each;
    for (const search::Member& member : members) each.append(member.control.found.load());
    return each;
  };
  run_watched([&] { search::count_together(members, pass, threads); },
              [&] { return report(progress, pass, found); }, stop);
  nb::list result;
  for (const search::Member& member : members) {
    const search::Stop own = member.control.reason();
    const search::Stop why = own == search::Stop::kNone ? pass.reason() : own;
    result.append(nb::make_tuple(to_python(member.total), static_cast<int>(why)));
  }
  return result;
}

// Estimates (size, scanned, met) of the levels that sampling reached.
std::vector<std::tuple<double, double, double>> sample_sizes(const OwnedNativePlan& native_plan,
                                                             std::uint32_t members, std::uint64_t max_work,
                                                             std::uint64_t seed) {
  require(members >= 1 && members <= (1u << 20), "members must be 1 to 2^20");
  std::vector<std::tuple<double, double, double>> result;
  const FreeGil free_gil;
  for (const search::LevelEstimate& level :
       search::sample_sizes(native_plan.get(), {members, max_work, seed}))
    result.emplace_back(level.size, level.scanned, level.met);
  return result;
}

// The expected work of a search.
double probe(const OwnedNativePlan& native_plan, std::uint32_t arcs, std::uint64_t most, std::uint64_t seed) {
  const FreeGil free_gil;
  return search::probe(native_plan.get(), arcs, most, seed);
}

// The same, with the partial embeddings expected up to each level.
std::tuple<double, std::vector<double>> probe_sizes(const OwnedNativePlan& native_plan, std::uint32_t arcs,
                                                    std::uint64_t most, std::uint64_t seed) {
  const FreeGil free_gil;
  std::vector<double> sizes;
  const double work = search::probe(native_plan.get(), arcs, most, seed, &sizes);
  return {work, sizes};
}

// Rows of an enumeration for Python; keeps the plan alive.
class Rows {
 public:
  Rows(nb::object native_plan, std::vector<std::uint32_t> position, int threads, std::size_t block_rows,
       std::optional<std::uint64_t> limit, std::optional<double> timeout,
       const std::optional<PyProjection>& projection, const std::optional<PyPortion>& portion)
      : native_plan_(std::move(native_plan)), process_(getpid()) {
    const auto& owned = nb::cast<const OwnedNativePlan&>(native_plan_);
    require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
    require(!owned.get().copy_walk || !owned.get().copy_walk->by_pairs() || owned.get().copy_walk->by_wedges,
            "embeddings are counted from pair to pair, not listed");
    require(block_rows >= 1 && block_rows <= kMaxBlockRows, "block_rows must be 1 to 2^30");
    search::EnumerationOptions options{threads, block_rows, limit, timeout};
    if (portion) options.portion = as_portion(owned.get(), *portion);
    if (projection) {
      require(!std::get<0>(*projection).empty(), "rows have columns");
      search::ProjectionPlan projected = checked_projection(owned, *projection);
      require(!portion || projected.whole > 0, "a portion has groups of rows: level 0 is returned");
      rows_ = std::make_unique<search::Enumeration>(owned.get(), std::move(projected), options);
      return;
    }
    require(position.size() == owned.get().plan.shape.levels, "one column per level expected");
    for (std::uint32_t column : position) require(column < position.size(), "column out of range");
    rows_ = std::make_unique<search::Enumeration>(owned.get(), std::move(position), options);
  }

  ~Rows() {
    // A forked child does not have the threads that the destructor would wait for.
    if (!ours()) (void)rows_.release();
  }

  // Returns the next rows as [rows, levels] uint32, or None at the end.
  nb::object next(const nb::object& progress) {
    if (!ours()) throw std::runtime_error("this search belongs to the process that started it");
    const LiveWork live([this] { rows_->cancel(); });
    for (;;) {
      std::optional<search::Block> block;
      bool finished = false;
      {
        nb::gil_scoped_release release;
        block = rows_->next(kSignalPeriod);
        finished = !block && rows_->finished();
      }
      if (search::Clock::now() - last_check_ >= kSignalPeriod) {
        last_check_ = search::Clock::now();
        if (PyErr_CheckSignals() != 0 || !report(progress, rows_->control())) throw nb::python_error();
      }
      if (block) {
        const std::size_t columns = rows_->columns();
        const std::size_t count = block->size() / columns;
        return to_numpy(std::move(*block), count, columns);
      }
      if (finished) return nb::none();
    }
  }

  void close() {
    if (!ours()) return;
    const FreeGil free_gil;
    rows_->close();
  }

  int reason() const { return static_cast<int>(rows_->control().reason()); }

  // The items of a portion that were not searched, at its end.
  nb::list left() {
    require(rows_->finished(), "a portion is handed back at its end");
    return to_python(rows_->left());
  }

 private:
  bool ours() const { return getpid() == process_; }

  nb::object native_plan_;
  pid_t process_;
  std::unique_ptr<search::Enumeration> rows_;
  search::Clock::time_point last_check_ = search::Clock::now();
};

}  // namespace

const search::NativePlan& native_plan_of(nb::handle native_plan) {
  return nb::cast<const OwnedNativePlan&>(native_plan).get();
}

void bind_search(nb::module_& module) {
  nb::exception<search::TooManyChoices>(module, "TooManyChoicesError", PyExc_RuntimeError);
  nb::class_<PyStep>(module, "Step")
      .def(
          "__init__",
          [](PyStep* self, std::vector<std::uint16_t> source_levels,
             std::vector<std::uint16_t> source_directions, std::int32_t reuse, std::int32_t anchor,
             std::uint32_t after, std::uint32_t before, std::uint32_t distinct, std::uint32_t not_out,
             std::uint32_t not_in, bool bounds_out, bool bounds_in) {
            new (self) PyStep{std::move(source_levels), std::move(source_directions),
                              view::StepShape{.first_source = 0,
                                              .source_count = 0,
                                              .reuse = reuse,
                                              .anchor = anchor,
                                              .after = after,
                                              .before = before,
                                              .distinct = distinct,
                                              .not_out = not_out,
                                              .not_in = not_in,
                                              .bounds_out = bounds_out,
                                              .bounds_in = bounds_in}};
          },
          nb::kw_only(), "source_levels"_a, "source_directions"_a, "reuse"_a, "anchor"_a, "after"_a,
          "before"_a, "distinct"_a, "not_out"_a, "not_in"_a, "bounds_out"_a, "bounds_in"_a);
  nb::class_<OwnedNativePlan>(module, "NativePlan")
      .def(nb::init<const std::vector<PyStep>&, const std::vector<PyBounds>&, std::vector<std::uint16_t>,
                    std::vector<PyAdjacency>, PyAdjacency, PyAdjacency, const PyPolicy&, const PyTail&>(),
           nb::kw_only(), "steps"_a, "bounds"_a, "source_adjacencies"_a, "adjacencies"_a, "out"_a, "in_"_a,
           "sets"_a, "tail"_a)
      .def(nb::init<const std::vector<PyStep>&, const std::vector<PyBounds>&, nb::object,
                    const std::vector<std::size_t>&, const std::vector<PySourceEdge>&, PyAdjacency,
                    PyAdjacency, const PyPolicy&, const PyTail&>(),
           nb::kw_only(), "steps"_a, "bounds"_a, "space"_a, "order"_a, "source_edges"_a, "out"_a, "in_"_a,
           "sets"_a, "tail"_a)
      .def("set_adaptive_order", &OwnedNativePlan::set_adaptive_order, "links"_a, "compared"_a, "always"_a)
      .def("set_apart", &OwnedNativePlan::set_apart, "apart"_a)
      .def("set_comparisons", &OwnedNativePlan::set_comparisons, "comparisons"_a, "variables"_a, "filtered"_a)
      .def("set_copy_walk", &OwnedNativePlan::set_copy_walk, "indexes"_a, "root"_a, "side"_a, "masks"_a,
           "by_pairs"_a.none(), "together"_a)
      .def("prune", &OwnedNativePlan::prune, "backjump"_a, "all_different"_a)
      .def_prop_ro("units", [](const OwnedNativePlan& plan) { return plan.get().units(); });
  module.def("count", &count, "native_plan"_a, "threads"_a, "limit"_a.none(), "timeout"_a.none(),
             "progress"_a.none(), "brief"_a);
  module.def("count_portion", &count_portion, "native_plan"_a, "portion"_a, "threads"_a, "limit"_a.none(),
             "timeout"_a.none());
  module.def("count_arcs", &count_arcs, "native_plan"_a, "threads"_a, "timeout"_a.none());
  module.def("pick_rows", &pick_rows, "native_plan"_a, "position"_a, "portion"_a, "places"_a);
  module.def("count_images", &count_images, "native_plan"_a, "levels"_a, "arcs"_a.none(), "size"_a,
             "listing"_a, "threads"_a, "timeout"_a.none(), "progress"_a.none(),
             "portion"_a.none() = nb::none());
  module.def("count_rows", &count_rows, "native_plan"_a, "projection"_a, "threads"_a, "limit"_a.none(),
             "timeout"_a.none(), "progress"_a.none());
  module.def("count_together", &count_together, "native_plans"_a, "threads"_a, "limits"_a, "timeout"_a.none(),
             "progress"_a.none());
  module.def("simd_here", [] {
    std::vector<int> here;
    for (sets::Simd simd : sets::kAllSimd)
      if (sets::runs_here(simd)) here.push_back(static_cast<int>(simd));
    return here;
  });
  module.def("sample_sizes", &sample_sizes, "native_plan"_a, "members"_a, "max_work"_a, "seed"_a);
  module.def("probe", &probe, "native_plan"_a, "arcs"_a, "most"_a, "seed"_a);
  module.def("probe_sizes", &probe_sizes, "native_plan"_a, "arcs"_a, "most"_a, "seed"_a);
  nb::class_<Rows>(module, "Rows")
      .def(nb::init<nb::object, std::vector<std::uint32_t>, int, std::size_t, std::optional<std::uint64_t>,
                    std::optional<double>, const std::optional<PyProjection>&,
                    const std::optional<PyPortion>&>(),
           "native_plan"_a, "position"_a, "threads"_a, "block_rows"_a, "limit"_a.none(), "timeout"_a.none(),
           "projection"_a.none() = nb::none(), "portion"_a.none() = nb::none())
      .def("next", &Rows::next, "progress"_a.none())
      .def("close", &Rows::close)
      .def("left", &Rows::left)
      .def_prop_ro("reason", &Rows::reason);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    nb::gil_scoped_release release;
    LiveWork::stop_all();
  }));
}

}  // namespace motiflux
