#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bind_checks.hpp"
#include "bindings.hpp"
#include "candidates/space.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/watched.hpp"
#include "python_int.hpp"
#include "sample/embeddings.hpp"
#include "sample/exact_sum.hpp"
#include "sample/graph.hpp"
#include "sample/groups.hpp"
#include "sample/trawl.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// Levels of the sources, and masks of the levels in `distinct`, `not_out` and `not_in`.
using PyLevel = std::tuple<std::vector<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t>;
using PySourceEdge = std::tuple<std::size_t, bool>;  // query edge, and whether its source is the earlier end

constexpr int kMaxThreads = 1024;
constexpr std::size_t kMaxGroups = std::size_t{1} << 30;
constexpr std::uint64_t kMaxNodes = std::uint64_t{1} << 50;
constexpr double kForever = 1e9;  // seconds
// Below this number of bytes to write, a watching thread costs more than the work.
constexpr std::uint64_t kInlineBytes = 4 << 20;

view::Adjacency as_view(const PyAdjacency& rows) {
  const std::size_t offsets = std::get<0>(rows).size();
  require(offsets >= 1, "offsets must not be empty");
  return as_adjacency(rows, offsets - 1);
}

std::vector<sample::LevelPlan> as_levels(const std::vector<PyLevel>& given, std::size_t sources) {
  require(given.size() >= 2 && given.size() <= view::kMaxLevels, "2 to 32 levels expected");
  std::vector<sample::LevelPlan> levels;
  std::size_t found = 0;
  for (const auto& [from, distinct, not_out, not_in] : given) {
    const std::uint32_t earlier = (std::uint32_t{1} << levels.size()) - 1;
    require(levels.empty() == from.empty(), "each level but the first has a source");
    for (std::uint32_t level : from) require(level < levels.size(), "a source that is no earlier level");
    require(((distinct | not_out | not_in) & ~earlier) == 0, "a level is compared with a later one");
    found += from.size();
    levels.push_back({from, distinct, not_out, not_in});
  }
  require(found == sources, "rows for each source expected");
  return levels;
}

// A candidate graph together with the arrays that it points into.
class PySampleGraph {
 public:
  // Over a candidate space; order[level] is a query vertex.
  PySampleGraph(const std::vector<PyLevel>& levels, nb::object space, const std::vector<std::size_t>& order,
                const std::vector<PySourceEdge>& source_edges, PyAdjacency out, PyAdjacency in)
      : out_(std::move(out)), in_(std::move(in)), space_(std::move(space)) {
    auto& candidates = nb::cast<candidates::Space&>(space_);
    const auto plan = as_levels(levels, source_edges.size());
    require(candidates.state() == candidates::Space::State::kReady, "the candidate space has no rows");
    require(order.size() == plan.size() && candidates.size() == plan.size(),
            "one query vertex per level expected");
    std::vector<const std::uint32_t*> members;
    std::vector<std::uint32_t> sizes;
    for (std::size_t query_vertex : order) {
      require(query_vertex < order.size(), "no such query vertex");
      members.push_back(candidates.set(query_vertex).data());
      sizes.push_back(static_cast<std::uint32_t>(candidates.set(query_vertex).size()));
    }
    std::vector<view::Adjacency> rows;
    for (const auto& [edge, from_source] : source_edges)
      require(edge < candidates.edges(), "no such query edge");
    {
      const FreeGil free_gil;
      for (const auto& [edge, from_source] : source_edges) {
        candidates.orient(edge, from_source);
        rows.push_back(candidates.rows(edge, from_source));
      }
    }
    graph_ = std::make_unique<sample::OwnedGraph>(plan, rows, std::move(members), std::move(sizes),
                                                  std::vector<std::uint32_t>{}, as_view(out_), as_view(in_));
  }

  // Over rows of the graph; `roots` are the candidates of level 0, ascending.
  PySampleGraph(const std::vector<PyLevel>& levels, std::vector<PyAdjacency> rows,
                const InputArray<std::uint32_t>& roots, PyAdjacency out, PyAdjacency in)
      : out_(std::move(out)), in_(std::move(in)), rows_(std::move(rows)) {
    const auto plan = as_levels(levels, rows_.size());
    const view::Adjacency all = as_view(out_);
    const std::size_t vertices = std::get<0>(out_).size() - 1;
    std::vector<view::Adjacency> views;
    for (const PyAdjacency& one : rows_) {
      require(std::get<0>(one).size() == vertices + 1, "rows of another number of vertices");
      views.push_back(as_view(one));
    }
    for (std::uint32_t root : as_span(roots)) require(root < vertices, "a root that is no vertex");
    std::vector<std::uint32_t> sizes(plan.size(), static_cast<std::uint32_t>(vertices));
    graph_ = std::make_unique<sample::OwnedGraph>(
        plan, views, std::vector<const std::uint32_t*>{}, std::move(sizes),
        std::vector<std::uint32_t>(as_span(roots).begin(), as_span(roots).end()), all, as_view(in_));
  }

  const sample::CandidateGraph& get() const { return graph_->get(); }
  sample::OwnedGraph& owned() { return *graph_; }

  // Whether each level of a search takes the same values: positions in equal sets, or data vertices.
  bool has_values_of(const search::NativePlan& native_plan) const {
    if (native_plan.members.empty()) return get().level[0].members == nullptr;
    for (std::uint32_t level = 0; level < get().levels; ++level) {
      const std::uint32_t *mine = get().level[level].members, *theirs = native_plan.members[level];
      const std::uint32_t size = graph_->size(level);
      if (mine == nullptr || size != native_plan.sizes[level]) return false;
      if (mine != theirs && !std::equal(mine, mine + size, theirs)) return false;
    }
    return true;
  }

 private:
  PyAdjacency out_;
  PyAdjacency in_;
  nb::object space_;
  std::vector<PyAdjacency> rows_;
  std::unique_ptr<sample::OwnedGraph> graph_;
};

// Arrays of the graph, for copies to a device.
template <class T>
nb::object shared(nb::handle owner, const T* first, std::size_t size) {
  using Shared = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;
  return nb::cast(Shared(first, {size}, owner));
}

nb::object rows_of_source(nb::handle self, std::size_t index) {
  auto& graph = nb::cast<PySampleGraph&>(self);
  require(index < graph.owned().source_count(), "no such source");
  const sample::Source& source = graph.get().sources[index];
  const std::size_t starts = graph.owned().size(source.level);
  return nb::make_tuple(shared(self, source.rows.offsets, starts + 1),
                        shared(self, source.rows.neighbors, source.rows.offsets[starts]));
}

nb::object members_of(nb::handle self, std::uint32_t level) {
  auto& graph = nb::cast<PySampleGraph&>(self);
  require(level < graph.get().levels, "no such level");
  const std::uint32_t* members = graph.get().level[level].members;
  return members ? shared(self, members, graph.owned().size(level)) : nb::none();
}

nb::object roots_of(nb::handle self) {
  const sample::CandidateGraph& graph = nb::cast<PySampleGraph&>(self).get();
  return graph.roots ? shared(self, graph.roots, graph.root_count) : nb::none();
}

// The sums (sample/tree.hpp) along the rows of a level's tree source, or None; for level 0, along the roots.
nb::object sums_of(nb::handle self, std::uint32_t level) {
  auto& owned = nb::cast<PySampleGraph&>(self);
  const sample::CandidateGraph& graph = owned.get();
  require(level < graph.levels && graph.root_sums, "no such level, or no tree was grown");
  if (level == 0) return shared(self, graph.root_sums, graph.root_count);
  const sample::Level& at = graph.level[level];
  const sample::Source& from = graph.sources[at.first_source + at.tree_source];
  if (!at.sums) return nb::none();
  return shared(self, at.sums, from.rows.offsets[owned.owned().size(from.level)]);
}

std::vector<std::uint32_t> tree_sources(const PySampleGraph& graph) {
  std::vector<std::uint32_t> result;
  for (std::uint32_t level = 0; level < graph.get().levels; ++level)
    result.push_back(graph.get().level[level].tree_source);
  return result;
}

std::optional<search::Clock::time_point> deadline_of(std::optional<double> timeout) {
  if (!timeout || *timeout >= kForever) return std::nullopt;
  return search::Clock::now() +
         std::chrono::duration_cast<search::Clock::duration>(std::chrono::duration<double>(*timeout));
}

// (fraction, exponent): the number of embeddings of the tree is fraction * 2^exponent. Raises TimeoutError
// after `timeout`.
std::tuple<double, int> trees(PySampleGraph& graph, std::optional<double> timeout) {
  if (!graph.get().root_sums) {
    std::atomic<bool> stop{false};
    const auto deadline = deadline_of(timeout);
    const auto in_time = [&] {
      if (!deadline || search::Clock::now() < *deadline) return true;
      PyErr_SetString(PyExc_TimeoutError, "time was up while trees were counted");
      return false;
    };
    const auto grow = [&] { graph.owned().grow_tree(Workers{1, &stop}); };
    if (graph.owned().tree_bytes() < kInlineBytes) {
      const FreeGil free_gil;
      grow();
    } else {
      run_watched(grow, in_time, [&] { stop.store(true, std::memory_order_relaxed); });
    }
  }
  return {graph.owned().trees(), graph.owned().trees_exponent()};
}

// The sums of weights over 2^-200, the numbers of valid samples and the work of the groups drawn in time.
nb::tuple draw_groups(const PySampleGraph& graph, int estimator, int inheritance, std::uint64_t seed,
                      std::uint64_t first, std::size_t count, int threads, std::optional<double> timeout) {
  require(estimator >= 0 && estimator <= 2, "unknown estimator");
  require(inheritance >= 0 && inheritance <= 2, "unknown inheritance");
  require(count <= kMaxGroups, "too many groups at once");
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  const sample::Drawing drawing{static_cast<sample::Estimator>(estimator),
                                static_cast<sample::Inheritance>(inheritance), seed};
  require(drawing.estimator != sample::Estimator::kTree || graph.get().root_sums != nullptr,
          "no tree was grown");
  const auto deadline = deadline_of(timeout);
  std::vector<double> weights(count);
  std::vector<std::uint32_t> valid(count), work(count);
  const sample::GroupSums sums{weights.data(), valid.data(), work.data()};
  std::size_t drawn = 0;
  run_interruptible([&](const std::atomic<bool>& stop) {
    drawn = sample::draw_groups(graph.get(), drawing, first, count, sums, Workers{threads, &stop}, deadline);
  });
  weights.resize(drawn);
  valid.resize(drawn);
  work.resize(drawn);
  return nb::make_tuple(to_numpy(std::move(weights)), to_numpy(std::move(valid)), to_numpy(std::move(work)));
}

nb::object sums_by_exponent(const InputArray<double>& numbers) {
  require(numbers.size() <= sample::kMostSummed, "too many numbers at once");
  return to_numpy(sample::sums_by_exponent(as_span(numbers)), sample::kExponents, 2);
}

// Embeddings [rows, levels] as data vertices, and the number of samples drawn.
nb::tuple draw_embeddings(const PySampleGraph& graph, std::uint64_t seed, std::uint64_t first,
                          std::size_t count, int threads, std::optional<double> timeout) {
  require(count <= kMaxGroups, "too many samples at once");
  require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
  require(graph.get().root_sums != nullptr, "no tree was grown");
  const auto deadline = deadline_of(timeout);
  sample::Drawn drawn;
  run_interruptible([&](const std::atomic<bool>& stop) {
    drawn = sample::draw_embeddings(graph.get(), seed, first, count, Workers{threads, &stop}, deadline);
  });
  const std::size_t levels = graph.get().levels, rows = drawn.rows.size() / levels;
  return nb::make_tuple(to_numpy(std::move(drawn.rows), rows, levels), drawn.samples);
}

// Slots of a trawl. Another thread may end its searches.
class PyTrawl {
 public:
  // `native_plans` are the searches from depth 1 to the last level but one; they check their budgets every
  // `check_every` steps.
  PyTrawl(nb::object graph, std::vector<nb::object> native_plans, std::int64_t check_every)
      : graph_(std::move(graph)), plan_objects_(std::move(native_plans)) {
    require(check_every >= 1, "check_every must be 1 or more");
    const PySampleGraph& sampled = nb::cast<PySampleGraph&>(graph_);
    const sample::CandidateGraph& given = sampled.get();
    require(given.levels > 1, "at least 2 levels expected");
    require(plan_objects_.size() == given.levels - 1, "a search for each depth expected");
    for (std::size_t at = 0; at < plan_objects_.size(); ++at) {
      const search::NativePlan& native_plan = native_plan_of(plan_objects_[at]);
      require(native_plan.plan.shape.levels == given.levels, "searches of as many levels expected");
      require(native_plan.tail.start >= static_cast<int>(at + 1), "a tail that is sampled");
      require(sampled.has_values_of(native_plan), "searches of other values");
      const bool again = at > 0 && plan_objects_[at].is(plan_objects_[at - 1]);
      if (!again) own_.push_back(native_plan);
      own_.back().check_every = check_every;
      native_plans_.push_back(&own_.back());
    }
    const FreeGil free_gil;
    for (const search::NativePlan& native_plan : own_)
      if (native_plan.adaptive_order && native_plan.always_adaptive) native_plan.adaptive_order();
  }

  // Returns the weight, outcome, depth and work of each slot.
  nb::tuple run(std::uint64_t seed, std::uint64_t first, std::size_t count, std::uint32_t least,
                std::uint64_t nodes, int unfinished, int threads, std::optional<double> timeout) {
    require(count <= kMaxGroups, "too many slots at once");
    require(first % sample::kChunk == 0, "slots come in chunks of 64");
    require(nodes <= kMaxNodes, "nodes must be at most 2^50");
    require(unfinished >= 0 && unfinished <= 2, "unknown way to leave a search unfinished");
    require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
    require(least >= 1 && least < nb::cast<PySampleGraph&>(graph_).get().levels, "no such depth");
    const sample::TrawlOptions options{seed, least, nodes, static_cast<sample::Unfinished>(unfinished)};
    const sample::TrawlEnd end{over_, deadline_of(timeout)};
    std::vector<double> weights(count);
    std::vector<std::uint8_t> outcomes(count), depths(count);
    std::vector<std::uint64_t> work(count);
    const sample::SlotArrays slots{weights.data(), outcomes.data(), depths.data(), work.data()};
    const sample::CandidateGraph& graph = nb::cast<PySampleGraph&>(graph_).get();
    run_interruptible([&](const std::atomic<bool>& stop) {
      sample::trawl(graph, native_plans_, options, first, count, slots, Workers{threads, &stop}, end);
    });
    return nb::make_tuple(to_numpy(std::move(weights)), to_numpy(std::move(outcomes)),
                          to_numpy(std::move(depths)), to_numpy(std::move(work)));
  }

  // Returns the number of embeddings, or None if it takes more work than `nodes` or more time; a later call
  // continues.
  nb::object count_all(std::uint64_t nodes, int threads, std::optional<double> timeout) {
    require(nodes <= kMaxNodes, "nodes must be at most 2^50");
    require(threads >= 1 && threads <= kMaxThreads, "threads must be 1 to 1024");
    const sample::TrawlEnd end{over_, deadline_of(timeout)};
    std::optional<Wide> found;
    if (!counting_) counting_.emplace(own_.back());
    run_interruptible([&](const std::atomic<bool>& stop) {
      found = counting_->go_on(nodes, Workers{threads, &stop}, end);
    });
    return found ? to_python(*found) : nb::none();
  }

  // Ends the searches; samples are extended to the last level.
  void end() { over_.store(true, std::memory_order_relaxed); }

 private:
  nb::object graph_;
  std::vector<nb::object> plan_objects_;
  std::deque<search::NativePlan> own_;
  std::vector<const search::NativePlan*> native_plans_;
  std::optional<sample::Counting> counting_;
  std::atomic<bool> over_{false};
};

}  // namespace

void bind_sample(nb::module_& module) {
  nb::class_<PySampleGraph>(module, "SampleGraph")
      .def(nb::init<const std::vector<PyLevel>&, nb::object, const std::vector<std::size_t>&,
                    const std::vector<PySourceEdge>&, PyAdjacency, PyAdjacency>(),
           nb::kw_only(), "levels"_a, "space"_a, "order"_a, "source_edges"_a, "out"_a, "in_"_a)
      .def(nb::init<const std::vector<PyLevel>&, std::vector<PyAdjacency>, const InputArray<std::uint32_t>&,
                    PyAdjacency, PyAdjacency>(),
           nb::kw_only(), "levels"_a, "rows"_a, "roots"_a, "out"_a, "in_"_a)
      .def("grow_tree", &trees, "timeout"_a = nb::none())
      .def_prop_ro("tree_bytes", [](PySampleGraph& graph) { return graph.owned().tree_bytes(); })
      .def_prop_ro("most_bits", [](PySampleGraph& graph) { return graph.owned().most_bits(); })
      .def_prop_ro("root_count", [](const PySampleGraph& graph) { return graph.get().root_count; })
      .def_prop_ro("roots", &roots_of)
      .def("members", &members_of, "level"_a)
      .def("rows", &rows_of_source, "source"_a)
      .def("sums", &sums_of, "level"_a)
      .def_prop_ro("tree_sources", &tree_sources);
  nb::class_<PyTrawl>(module, "Trawl")
      .def(nb::init<nb::object, std::vector<nb::object>, std::int64_t>(), "graph"_a, "native_plans"_a,
           "check_every"_a)
      .def("run", &PyTrawl::run, "seed"_a, "first"_a, "count"_a, "least"_a, "nodes"_a, "unfinished"_a,
           "threads"_a, "timeout"_a.none())
      .def("count_all", &PyTrawl::count_all, "nodes"_a, "threads"_a, "timeout"_a.none())
      .def("end", &PyTrawl::end);
  module.def("draw_groups", &draw_groups, "graph"_a, "estimator"_a, "inheritance"_a, "seed"_a, "first"_a,
             "count"_a, "threads"_a, "timeout"_a.none());
  module.def("sums_by_exponent", &sums_by_exponent, "numbers"_a);
  module.def("draw_embeddings", &draw_embeddings, "graph"_a, "seed"_a, "first"_a, "count"_a, "threads"_a,
             "timeout"_a.none());
}

}  // namespace motiflux
