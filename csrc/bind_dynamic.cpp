// Bindings of changing graphs and the patterns watched on them (csrc/dynamic).
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_accesses.hpp"
#include "bind_checks.hpp"
#include "bind_delta_plan.hpp"
#include "bind_found.hpp"
#include "bind_own_rows.hpp"
#include "bind_run.hpp"
#include "bind_runs.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/parallel.hpp"
#include "common/watched.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/window.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using dynamic::Edge;
using dynamic::Found;
using dynamic::Label;
using dynamic::Plan;
using dynamic::Vertex;

using Labels = InputArray<Label>;
using Codes = std::optional<std::vector<Label>>;
using PyArcs = std::tuple<InputArray<std::uint64_t>, InputArray<Vertex>, std::optional<Labels>>;

// Updates that a thread reads at a time.
constexpr std::size_t kTaken = std::size_t{1} << 16;

// Arcs of graphs that are loaded on several threads: fewer take less than a millisecond.
constexpr std::size_t kManyArcs = 200'000;

// Arcs of graphs whose loading may be interrupted: fewer take at most 50 ms.
constexpr std::size_t kLongArcs = 4'000'000;

// Updates that are read while the GIL is held.
constexpr std::size_t kFewUpdates = 4096;

// Edges out of a window that it remembers to be absent: more are forgotten.
constexpr std::size_t kManyAbsent = std::size_t{1} << 20;

// Numbers by labels of the source, the edge and the target, as columns.
template <class Counts>
nb::object label_columns(const Counts& counts) {
  std::vector<std::int64_t> sources, labels, targets, numbers;
  counts.for_each([&](const dynamic::LabelChanges::Key& key, std::int64_t number) {
    sources.push_back(key.source);
    labels.push_back(key.edge);
    targets.push_back(key.target);
    numbers.push_back(number);
  });
  return nb::make_tuple(to_numpy(std::move(sources)), to_numpy(std::move(labels)),
                        to_numpy(std::move(targets)), to_numpy(std::move(numbers)));
}

class PyMonitor {
 public:
  PyMonitor(bool directed, bool count_copies)
      : monitor_(directed, count_copies), count_copies_(count_copies) {}

  void load(const Labels& vertex_labels, const PyArcs& out, const std::optional<PyArcs>& in,
            const std::optional<InputArray<std::uint32_t>>& copies, int threads) {
    require(graph().vertices() == 0, "the graph is not empty");
    require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
    threads_ = threads;
    const dynamic::Arcs arcs = arcs_of(out, vertex_labels.size());
    const dynamic::Arcs turned = in ? arcs_of(*in, vertex_labels.size()) : dynamic::Arcs{};
    const std::size_t size = arcs.neighbors.size();
    require(!in || (turned.neighbors.size() == size && turned.labels.size() == arcs.labels.size()),
            "the same arcs expected both ways");
    require(!copies || copies->size() == size, "one number of copies per arc expected");
    run_long(size, threads, [&](const Workers& workers) {
      graph().load(as_span(vertex_labels), arcs, turned, as_span(copies), workers);
    });
  }
  // The same without labels, with rows in memory of `lenders`, which the monitor keeps.
  void load_lent(const PyArcs& out, const std::optional<PyArcs>& in,
                 const std::optional<InputArray<std::uint32_t>>& copies, int threads, nb::object lenders) {
    require(graph().vertices() == 0, "the graph is not empty");
    require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
    require(in.has_value() == graph().directed(), "the arcs of a directed graph expected both ways");
    const std::size_t vertices = std::get<0>(out).size() - 1;
    const dynamic::Arcs arcs = arcs_of(out, vertices);
    const dynamic::Arcs turned = in ? arcs_of(*in, vertices) : dynamic::Arcs{};
    const std::size_t size = arcs.neighbors.size();
    require(arcs.labels.empty() && turned.labels.empty(), "arcs without labels expected");
    require(!in || turned.neighbors.size() == size, "the same arcs expected both ways");
    require(!copies || copies->size() == size, "one number of copies per arc expected");
    threads_ = threads;
    run_long(size, threads, [&](const Workers& workers) {
      graph().load_lent(arcs, turned, as_span(copies),
                        {whole_pages_of(arcs.neighbors), whole_pages_of(turned.neighbors)}, workers);
    });
    lenders_ = std::move(lenders);
  }
  // The same with labels, with rows in the order of classes. Returns what is wrong with these, or no text.
  std::string load_in_class_order(const Labels& vertex_labels, const PyArcs& out,
                                  const std::optional<PyArcs>& in,
                                  const std::optional<InputArray<std::uint32_t>>& copies,
                                  const Labels& classes, const InputArray<std::uint32_t>& forward,
                                  const std::optional<InputArray<std::uint32_t>>& reverse, int threads,
                                  nb::object lenders) {
    require(graph().vertices() == 0, "the graph is not empty");
    require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
    require(in.has_value() == graph().directed() && reverse.has_value() == graph().directed(),
            "the arcs of a directed graph expected both ways");
    require(classes.size() % 2 == 0, "two labels for each class expected");
    const dynamic::Arcs arcs = arcs_of(out, vertex_labels.size());
    const dynamic::Arcs turned = in ? arcs_of(*in, vertex_labels.size()) : dynamic::Arcs{};
    const std::size_t size = arcs.neighbors.size();
    require(!in || turned.neighbors.size() == size, "the same arcs expected both ways");
    require(!copies || copies->size() == size, "one number of copies per arc expected");
    const auto lent_of = [](std::span<const std::uint32_t> blocks) {
      return dynamic::LentRows{blocks, whole_pages_of(blocks)};
    };
    const std::array<dynamic::LentRows, 2> lent{lent_of(as_span(forward)), lent_of(as_span(reverse))};
    threads_ = threads;
    std::string fault;
    run_long(size, threads, [&](const Workers& workers) {
      fault = graph().load_in_class_order(as_span(vertex_labels), arcs, turned, as_span(copies),
                                          as_span(classes), lent, workers);
    });
    lenders_ = std::move(lenders);
    return fault;
  }
  // The rows of a graph in that order: classes, rows forward and in reverse.
  static nb::object class_order(const Labels& vertex_labels, const PyArcs& out,
                                const std::optional<PyArcs>& in, int threads) {
    require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
    const dynamic::Arcs arcs = arcs_of(out, vertex_labels.size());
    const dynamic::Arcs turned = in ? arcs_of(*in, vertex_labels.size()) : dynamic::Arcs{};
    dynamic::ClassOrder order;
    run_long(arcs.neighbors.size(), threads, [&](const Workers& workers) {
      order = dynamic::class_order(as_span(vertex_labels), arcs, turned, workers);
    });
    return nb::make_tuple(to_numpy(std::move(order.classes)), to_numpy(std::move(order.rows[0])),
                          to_numpy(std::move(order.rows[1])));
  }
  bool has_lent_rows() const { return graph().has_lent_rows(); }
  void take_over_lent_rows(int threads) {
    require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
    monitor_.finish_writing();
    const FreeGil free_gil;
    graph().take_over_lent_rows({threads, nullptr});
  }
  const nb::object& lenders() const { return lenders_; }

  static dynamic::Arcs arcs_of(const PyArcs& given, std::size_t vertices) {
    const auto& [offsets, neighbors, labels] = given;
    const dynamic::Arcs arcs{as_span(offsets), as_span(neighbors), as_span(labels)};
    require(arcs.offsets.size() == vertices + 1, "one row per vertex expected");
    require(arcs.offsets.back() == arcs.neighbors.size(), "offsets do not end at the last arc");
    require(!labels || labels->size() == neighbors.size(), "one label per arc expected");
    return arcs;
  }
  // The pages that an array is in.
  static std::shared_ptr<const dynamic::Arena> whole_pages_of(std::span<const Vertex> array) {
    constexpr std::uintptr_t kPage = 4096;
    const auto begin = reinterpret_cast<std::uintptr_t>(array.data()) / kPage * kPage;
    const auto end = reinterpret_cast<std::uintptr_t>(array.data() + array.size());
    return std::make_shared<const dynamic::Arena>(reinterpret_cast<const std::uint32_t*>(begin),
                                                  (end - begin + kPage - 1) / kPage * kPage);
  }
  template <class Work>
  static void run_long(std::size_t size, int threads, Work&& work) {
    if (size < kManyArcs || (threads == 1 && size < kLongArcs)) {
      const FreeGil free_gil;
      work({});
    } else {
      run_interruptible([&](const std::atomic<bool>& stop) { work({threads, &stop}); });
    }
  }

  void add_vertices(const Labels& labels) {
    for (Label label : as_span(labels)) graph().add_vertex(label);
  }
  void keep_vertices(std::uint32_t count) {
    require(count <= graph().vertices(), "there are not so many vertices");
    monitor_.keep_vertices(count);
  }

  std::uint32_t relation(const Codes& labels, bool either, std::uint32_t growing) {
    require(growing == 0 || labels.has_value(), "a growing relation has labels");
    return graph().relations().relation({{labels}, either, growing});
  }
  // Has growing relations accept a label that no edge has.
  void accept(Label label, const std::vector<std::uint32_t>& relations) {
    require(label < dynamic::kStandIn, "a label is too large");
    const auto& all = graph().relations().all();
    for (const std::uint32_t number : relations) {
      require(number < all.size() && all[number].growing != 0, "no such relation that grows");
      require(!all[number].labels.has(label), "a relation accepts a label already");
    }
    for (const auto& ends : graph().relations().classes()) require(ends.edge != label, "a label is in use");
    monitor_.accept(label, relations);
  }
  std::uint32_t target(std::uint32_t relation, const Codes& labels) {
    require(relation < graph().relations().all().size(), "no such relation");
    return graph().relations().target(relation, {labels});
  }
  std::uint32_t add_list(std::vector<Vertex> ascending) { return monitor_.add_list(std::move(ascending)); }
  void extend_list(std::uint32_t number, Vertex vertex) { monitor_.extend_list(number, vertex); }
  void drop_list(std::uint32_t number) { monitor_.drop_list(number); }

  void add_pattern(std::uint32_t pattern, const std::vector<PyPlan>& given, bool listed) {
    monitor_.add_pattern(pattern, plans_of(given), listed);
  }
  void replace_plans(std::uint32_t pattern, const std::vector<PyPlan>& given, bool probed) {
    monitor_.replace_plans(pattern, plans_of(given), probed);
  }

  // Places for which alternatives are to be raced, as (pattern, place).
  std::vector<std::tuple<std::uint32_t, std::uint32_t>> take_wanted() {
    std::vector<std::tuple<std::uint32_t, std::uint32_t>> wanted;
    for (const auto& [pattern, place] : monitor_.probe().take_wanted()) wanted.emplace_back(pattern, place);
    return wanted;
  }
  // Alternatives that won, as (pattern, place, alternative, share of the work of the plans in use).
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, double>> take_better() {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, double>> better;
    for (const auto& [place, alternative, share] : monitor_.probe().take_better())
      better.emplace_back(place.pattern, place.place, alternative, share);
    return better;
  }
  void race(std::uint32_t pattern, std::uint32_t place, const std::vector<std::vector<PyPlan>>& given) {
    require(given.size() <= dynamic::Probe::kMostAlternatives, "too many alternatives");
    std::vector<dynamic::PlacePlans> alternatives;
    for (const std::vector<PyPlan>& plans : given) {
      require(plans.size() == 1 || plans.size() == 2, "a place has one or two plans");
      alternatives.push_back(plans_of(plans));
      for (Plan& plan : alternatives.back()) plan.pattern = pattern;
    }
    monitor_.race({pattern, place}, std::move(alternatives));
  }
  // Edges that came and went, by labels: (of sources, of edges, of targets, numbers); forgets them.
  nb::object take_label_changes() {
    nb::object columns = label_columns(monitor_.label_changes());
    monitor_.label_changes().clear();
    return columns;
  }
  std::uint64_t num_label_changes() { return monitor_.label_changes().changes(); }
  // All edges by labels, in the same form. Updates that were put off are written.
  nb::object label_counts() {
    write_put_off();
    dynamic::FlatMap<dynamic::LabelChanges::Key, std::int64_t> counts;
    {
      const FreeGil free_gil;
      const dynamic::Rows& rows = graph().rows(dynamic::Way::kOut);
      for (Vertex vertex = 0; vertex < graph().vertices(); ++vertex)
        rows.for_each_class(vertex, [&](dynamic::Class of, sets::Span run) {
          const auto& [edge, target] = graph().relations().classes()[of];
          counts[{graph().label(vertex), edge, target}] += static_cast<std::int64_t>(run.size());
        });
    }
    return label_columns(counts);
  }
  // Vertices by label.
  nb::object vertex_counts() {
    std::vector<std::int64_t> counts;
    for (Vertex vertex = 0; vertex < graph().vertices(); ++vertex) {
      const Label label = graph().label(vertex);
      if (label >= counts.size()) counts.resize(label + std::size_t{1});
      ++counts[label];
    }
    return to_numpy(std::move(counts));
  }
  void drop_pattern(std::uint32_t pattern) { monitor_.drop_pattern(pattern); }
  // Counts the matches of a pattern at vertices, the images of `places`. `counts`: now, as two words each,
  // the low ones first. `threshold`: 0 for none.
  void tally(std::uint32_t pattern, std::vector<std::uint8_t> places, const InputArray<std::uint64_t>& counts,
             std::uint64_t threshold, bool down) {
    require(counts.size() % 2 == 0, "two words for each count expected");
    std::vector<dynamic::Amount> amounts(counts.size() / 2);
    for (std::size_t at = 0; at < amounts.size(); ++at) {
      require(counts(2 * at + 1) >> 63 == 0, "counts below 2^127 expected");
      amounts[at] = static_cast<dynamic::Amount>(counts(2 * at + 1)) << 64 | counts(2 * at);
    }
    monitor_.tallies().put(
        pattern, {std::move(places), std::move(amounts), {static_cast<dynamic::Amount>(threshold), down}});
  }
  // The counts of a pattern, in the form of tally(), of all vertices.
  nb::object tallied(std::uint32_t pattern) const {
    const dynamic::VertexTally* const tally = monitor_.tallies().of(pattern);
    require(tally != nullptr, "the pattern is not counted at vertices");
    std::vector<std::uint64_t> words(std::size_t{2} * monitor_.vertices(), 0);
    const std::size_t known = std::min<std::size_t>(tally->counts().size(), monitor_.vertices());
    for (std::size_t at = 0; at < known; ++at) {
      words[2 * at] = static_cast<std::uint64_t>(tally->counts()[at]);
      words[2 * at + 1] = static_cast<std::uint64_t>(tally->counts()[at] >> 64);
    }
    return to_numpy(std::move(words));
  }
  void prepare() { monitor_.prepare(); }
  void filter_by(int kind, std::uint32_t bits) {
    require(kind >= 0 && kind <= 2, "unknown filter");
    require(bits >= 1 && bits <= dynamic::CandidateTable::kMostBits, "1 to 8 bits expected");
    monitor_.filter_by(static_cast<dynamic::Filter>(kind), bits);
  }
  // (version, taken, columns, words): a row of the candidate table for each vertex.
  nb::object candidates() const {
    const dynamic::CandidateTable& table = graph().candidates();
    return nb::make_tuple(table.version(), table.taken(), table.columns().size(),
                          to_numpy(std::vector<std::uint64_t>(table.words().begin(), table.words().end())));
  }
  // The items of each column: (way, target, neighbours that a vertex must have).
  nb::object candidate_columns() const {
    const dynamic::CandidateTable& table = graph().candidates();
    nb::list columns;
    for (const dynamic::CandidateColumn& column : table.columns()) {
      nb::list items;
      for (const auto& [kind, least] : column.items)
        items.append(nb::make_tuple(static_cast<int>(kind.way), kind.target, std::min(least, table.bits())));
      columns.append(items);
    }
    return columns;
  }
  // A row for each vertex from `first` on, as in candidates(), with the columns that accept its label.
  nb::object labelled_candidates(Vertex first) const {
    require(first <= graph().vertices(), "no such vertex");
    const dynamic::CandidateTable& table = graph().candidates();
    std::vector<std::uint64_t> words(std::size_t{graph().vertices() - first} * table.width());
    for (std::uint32_t number = 0; number < table.columns().size(); ++number)
      for (Vertex vertex = first; vertex < graph().vertices(); ++vertex)
        if (table.columns()[number].labels.has(graph().label(vertex)))
          words[std::size_t{vertex - first} * table.width() + number / dynamic::CandidateTable::kWordBits] |=
              std::uint64_t{1} << number % dynamic::CandidateTable::kWordBits;
    return to_numpy(std::move(words));
  }
  // The column of each level in the candidate table; -1: none.
  std::vector<std::int64_t> plan_columns(std::uint32_t number) const {
    require(number < monitor_.plans().size(), "no such plan");
    const Plan& plan = monitor_.plans()[number];
    std::vector<std::int64_t> columns(plan.steps.size(), -1);
    for (std::size_t level = 0; level < plan.columns.size(); ++level)
      if (plan.columns[level] != dynamic::kNoNumber) columns[level] = plan.columns[level];
    return columns;
  }

  // Returns None after `timeout` seconds; nothing is applied then. `origins`: the positions of the updates
  // among those that the caller was given. `moments`: of each update, for a window of time. The deletions by
  // a window are applied too, unless the updates are `expanded`: they have them.
  nb::object apply(const InputArray<std::uint8_t>& inserts, const InputArray<Vertex>& sources,
                   const InputArray<Vertex>& targets, const std::optional<Labels>& labels,
                   const std::optional<InputArray<std::int64_t>>& origins,
                   const std::optional<InputArray<std::int64_t>>& moments, bool expanded, const Terms& terms,
                   const std::optional<nb::callable>& full, std::optional<double> timeout) {
    SignalWatch watch(timeout);
    if (inserts.size() > kFewUpdates) watch.free_gil();
    Applied applied{updates_of(inserts, sources, targets, labels, terms.how.threads), {}};
    if (origins) applied.origins.assign(origins->data(), origins->data() + origins->size());
    if (!expanded) add_expired(applied, as_span(moments));
    return apply_all(monitor_, std::move(applied), terms, full, watch);
  }

  // Adds the deletions by the window, if there is one.
  void add_expired(Applied& applied, std::span<const std::int64_t> moments) {
    if (!window_) return;
    check_moments(applied.updates.size(), moments);
    dynamic::Expanded expanded = expanded_of(applied.updates, moments);
    if (!applied.origins.empty())
      for (std::int64_t& origin : expanded.origins)
        origin = applied.origins[static_cast<std::size_t>(origin)];
    applied = {std::move(expanded.updates), std::move(expanded.origins), expanded.expired};
  }

  void open_window(std::int64_t span, bool timed) {
    require(span > 0, "a window has a span");
    window_.emplace(span, timed, count_copies_, graph().edges());
  }

  // Fills the window with copies that are in the graph already; `came` is the number of all copies so far,
  // earlier ones included.
  void fill_window(const InputArray<Vertex>& sources, const InputArray<Vertex>& targets, const Labels& labels,
                   const InputArray<std::int64_t>& since, std::int64_t came) {
    require(window_.has_value(), "there is no window");
    const std::vector<std::uint8_t> inserts(sources.size(), 1);
    const auto updates = updates_of(inserts, as_span(sources), as_span(targets), as_span(labels), true);
    require(since.size() == updates.size(), "columns of copies differ in length");
    std::vector<dynamic::Window::Copy> copies(updates.size());
    for (std::size_t at = 0; at < copies.size(); ++at) {
      require(at == 0 || since.data()[at - 1] <= since.data()[at], "copies are out of order");
      copies[at] = {updates[at].edge, since.data()[at]};
    }
    window_->fill(copies, came);
  }

  // Returns the updates with the deletions by the window: columns, the origin of each, and the number of
  // edges that left the window.
  nb::object expand(const InputArray<std::uint8_t>& inserts, const InputArray<Vertex>& sources,
                    const InputArray<Vertex>& targets, const std::optional<Labels>& labels,
                    const std::optional<InputArray<std::int64_t>>& moments) {
    require(window_.has_value(), "there is no window");
    check_moments(inserts.size(), as_span(moments));
    const dynamic::Updates updates = updates_of(inserts, sources, targets, labels);
    return columns_of([&] { return expanded_of(updates, as_span(moments)); });
  }

  // Returns the edges that leave the window until `moment`, in the form of `expand`.
  nb::object advance(std::int64_t moment) {
    require(window_.has_value(), "there is no window");
    return columns_of([&] { return window_->advance(moment); });
  }

  // Returns the copies in the window: columns, the start of each, and the number of all copies so far.
  nb::object window_copies() const {
    require(window_.has_value(), "there is no window");
    Columns all;
    std::vector<std::int64_t> since;
    {
      const FreeGil free_gil;
      for (const dynamic::Window::Copy& copy : window_->copies()) {
        all.add(copy.edge);
        since.push_back(copy.since);
      }
    }
    return nb::make_tuple(to_numpy(std::move(all.sources)), to_numpy(std::move(all.targets)),
                          to_numpy(std::move(all.labels)), to_numpy(std::move(since)), window_->came());
  }

  // Begins a call and returns its number. `after`: the call before can still be taken back, until settle().
  std::uint64_t begin(bool after) {
    require(!after || !window_, "calls with a window are taken back one at a time");
    if (monitor_.is_writing()) {
      const FreeGil free_gil;
      monitor_.finish_writing();
    }
    if (after) return monitor_.begin_after();
    const std::uint64_t call = monitor_.begin();
    if (window_) window_->begin();
    return call;
  }
  std::uint64_t begin_next() {
    if (window_) return 0;
    if (monitor_.is_writing()) {
      const FreeGil free_gil;
      monitor_.wait_for_rows();
    }
    return monitor_.begin_next();
  }
  void settle(std::uint64_t call) { monitor_.settle(call); }
  // Why the rows of a call could not be written; empty if they are.
  std::string finish_call(std::uint64_t call) const {
    const FreeGil free_gil;
    try {
      monitor_.finish_call(call);
      return {};
    } catch (const dynamic::RowsLost& error) {
      return error.why;
    }
  }
  void take_back(std::uint64_t call) {
    monitor_.take_back(call);
    if (window_) window_->undo();
  }
  nb::object apply_prepared(nb::handle prepared, const Terms& terms, const std::optional<nb::callable>& full,
                            std::optional<double> timeout) {
    SignalWatch watch(timeout);
    return motiflux::apply_prepared(monitor_, prepared, terms, full, watch);
  }

  std::size_t first_noop(const InputArray<std::uint8_t>& inserts, const InputArray<Vertex>& sources,
                         const InputArray<Vertex>& targets, const std::optional<Labels>& labels) {
    const dynamic::Updates updates = updates_of(inserts, sources, targets, labels);
    const FreeGil free_gil;
    monitor_.write_put_off(threads_);
    return monitor_.first_noop(updates);
  }

  void write_put_off() {
    const FreeGil free_gil;
    monitor_.write_put_off(threads_);
  }
  bool noops_awaited() const { return monitor_.noops_awaited(); }

  nb::object edges() {
    std::vector<Vertex> sources, targets;
    std::vector<Label> labels;
    std::vector<std::uint64_t> copies;
    {
      const FreeGil free_gil;
      monitor_.write_put_off(threads_);
      graph().for_each_edge([&](const Edge& edge) {
        sources.push_back(edge.source);
        targets.push_back(edge.target);
        labels.push_back(edge.label);
        copies.push_back(1 + graph().more_copies(edge));
      });
    }
    return nb::make_tuple(to_numpy(std::move(sources)), to_numpy(std::move(targets)),
                          to_numpy(std::move(labels)), to_numpy(std::move(copies)));
  }

  void match_elsewhere(std::optional<nb::callable> callback) {
    monitor_.match_elsewhere(callback ? std::make_shared<PythonMatcher>(std::move(*callback)) : nullptr);
  }
  std::uint32_t num_plans() const { return static_cast<std::uint32_t>(monitor_.plans().size()); }
  std::uint32_t num_classes() const {
    return static_cast<std::uint32_t>(monitor_.relations().classes().size());
  }
  bool one_witness(std::uint32_t target) const {
    const dynamic::Relations& relations = monitor_.relations();
    require(target < relations.targets(), "no such target");
    return relations.one_witness(relations.target(target).relation);
  }
  nb::object list(std::uint32_t number) const {
    require(number < monitor_.lists().size(), "no such list");
    return to_numpy(std::vector<Vertex>(monitor_.lists()[number]));
  }

  dynamic::Monitor& monitor() { return monitor_; }
  const dynamic::Monitor& monitor() const { return monitor_; }
  bool directed() const { return monitor_.directed(); }
  std::uint32_t num_vertices() const { return monitor_.vertices(); }
  std::uint64_t num_edges() {
    write_put_off();
    return graph().edges();
  }
  std::uint64_t written_edges() const { return graph().edges(); }
  std::size_t nbytes() const {
    return graph().bytes() + monitor_.put_off_bytes() + (window_ ? window_->bytes() : 0);
  }

 private:
  struct Columns {
    std::vector<Vertex> sources, targets;
    std::vector<Label> labels;

    void add(const Edge& edge) {
      sources.push_back(edge.source);
      targets.push_back(edge.target);
      labels.push_back(edge.label);
    }
  };

  template <class Expand>
  static nb::object columns_of(Expand&& expand) {
    dynamic::Expanded found;
    std::vector<std::uint8_t> inserts;
    Columns all;
    {
      const FreeGil free_gil;
      found = expand();
      for (const auto& [edge, comes] : found.updates) {
        inserts.push_back(comes);
        all.add(edge);
      }
    }
    return nb::make_tuple(to_numpy(std::move(inserts)), to_numpy(std::move(all.sources)),
                          to_numpy(std::move(all.targets)), to_numpy(std::move(all.labels)),
                          to_numpy(std::move(found.origins)), found.expired);
  }

  void check_moments(std::size_t updates, std::span<const std::int64_t> moments) const {
    require(!window_->timed() || moments.size() == updates, "one moment per update expected");
  }
  // Call it before any update of a call is applied.
  dynamic::Expanded expanded_of(std::span<const dynamic::Update> updates,
                                std::span<const std::int64_t> moments) {
    if (window_->absent() > kManyAbsent) {
      monitor_.write_put_off(threads_);
      window_->forget_absent();
    }
    return window_->expand(updates, moments, graph());
  }

  dynamic::Graph& graph() { return monitor_.graph(); }
  const dynamic::Graph& graph() const { return monitor_.graph(); }

  dynamic::Updates updates_of(const InputArray<std::uint8_t>& inserts, const InputArray<Vertex>& sources,
                              const InputArray<Vertex>& targets, const std::optional<Labels>& labels,
                              int threads = 1) const {
    return updates_of(as_span(inserts), as_span(sources), as_span(targets), as_span(labels),
                      labels.has_value(), threads);
  }

  dynamic::Updates updates_of(std::span<const std::uint8_t> inserts, std::span<const Vertex> sources,
                              std::span<const Vertex> targets, std::span<const Label> labels, bool labelled,
                              int threads = 1) const {
    const std::size_t size = inserts.size();
    require(sources.size() == size && targets.size() == size && (!labelled || labels.size() == size),
            "columns of updates differ in length");
    dynamic::Updates updates(size);
    parallel_for({threads, nullptr}, size, kTaken, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; ++at) {
        const Vertex source = sources[at], target = targets[at];
        require(source < graph().vertices() && target < graph().vertices(),
                "an update names an unknown vertex");
        require(source != target, "an update is a self-loop");
        const Label label = labelled ? labels[at] : 0;
        require(label < dynamic::kStandIn, "a label is too large");
        updates[at] = {graph().named(source, target, label), inserts[at] != 0};
      }
    });
    return updates;
  }

  nb::object lenders_ = nb::none();  // declared first: threads of the monitor read their memory until it ends
  dynamic::Monitor monitor_;
  bool count_copies_;
  int threads_ = 1;  // that the graph was loaded on: they write what was put off
  std::optional<dynamic::Window> window_;
};

// The matcher of runs may be a method of an engine that refers to the monitor.
const PythonMatcher* matcher_of(PyObject* self) {
  return nb::inst_ready(self)
             ? static_cast<const PythonMatcher*>(nb::inst_ptr<PyMonitor>(self)->monitor().run_matcher())
             : nullptr;
}

int visit_matcher(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const PythonMatcher* matcher = matcher_of(self)) Py_VISIT(matcher->callback().ptr());
  return 0;
}

int clear_matcher(PyObject* self) {
  if (matcher_of(self) != nullptr) nb::inst_ptr<PyMonitor>(self)->match_elsewhere(std::nullopt);
  return 0;
}

PyType_Slot monitor_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_matcher)},
                               {Py_tp_clear, reinterpret_cast<void*>(clear_matcher)},
                               {0, nullptr}};

}  // namespace

dynamic::Monitor& native_monitor_of(nb::handle monitor) {
  return nb::cast<PyMonitor&>(monitor).monitor();
}

void add_expired(nb::handle monitor, Applied& applied) {
  nb::cast<PyMonitor&>(monitor).add_expired(applied, {});
}

void bind_dynamic(nb::module_& module) {
  nb::class_<dynamic::PutOffNoops>(module, "PutOffNoops")
      .def_prop_ro("known", [](const dynamic::PutOffNoops& noops) { return noops.known.load(); })
      .def_prop_ro("count", [](const dynamic::PutOffNoops& noops) { return noops.count; });
  module.def("class_order", &PyMonitor::class_order, "vertex_labels"_a, "out"_a, "into"_a.none(),
             "threads"_a);
  nb::class_<PyMonitor>(module, "Monitor", nb::type_slots(monitor_slots))
      .def(nb::init<bool, bool>(), "directed"_a, "count_copies"_a)
      .def("load", &PyMonitor::load, "vertex_labels"_a, "out"_a, "into"_a.none(), "copies"_a.none(),
           "threads"_a)
      .def("load_lent", &PyMonitor::load_lent, "out"_a, "into"_a.none(), "copies"_a.none(), "threads"_a,
           "lenders"_a)
      .def("load_in_class_order", &PyMonitor::load_in_class_order, "vertex_labels"_a, "out"_a,
           "into"_a.none(), "copies"_a.none(), "classes"_a, "forward"_a, "reverse"_a.none(), "threads"_a,
           "lenders"_a)
      .def_prop_ro("has_lent_rows", &PyMonitor::has_lent_rows)
      .def_prop_ro("lenders", &PyMonitor::lenders)
      .def("take_over_lent_rows", &PyMonitor::take_over_lent_rows, "threads"_a)
      .def("add_vertices", &PyMonitor::add_vertices, "labels"_a)
      .def("keep_vertices", &PyMonitor::keep_vertices, "count"_a)
      .def("relation", &PyMonitor::relation, "labels"_a.none(), "either"_a, "growing"_a = 0)
      .def("accept", &PyMonitor::accept, "label"_a, "relations"_a)
      .def("target", &PyMonitor::target, "relation"_a, "labels"_a.none())
      .def("add_list", &PyMonitor::add_list, "ascending"_a)
      .def("extend_list", &PyMonitor::extend_list, "number"_a, "vertex"_a)
      .def("drop_list", &PyMonitor::drop_list, "number"_a)
      .def("add_pattern", &PyMonitor::add_pattern, "pattern"_a, "plans"_a, "listed"_a)
      .def("drop_pattern", &PyMonitor::drop_pattern, "pattern"_a)
      .def("replace_plans", &PyMonitor::replace_plans, "pattern"_a, "plans"_a, "probed"_a = false)
      .def(
          "enable_probes",
          [](PyMonitor& self, bool on, bool eager) {
            self.monitor().probe().enable(on, eager ? dynamic::Probe::eager() : dynamic::Probe::Terms{});
          },
          "on"_a, "eager"_a = false)
      .def_prop_ro("has_probe_news", [](PyMonitor& self) { return self.monitor().probe().has_news(); })
      .def("take_wanted", &PyMonitor::take_wanted)
      .def("take_better", &PyMonitor::take_better)
      .def("race", &PyMonitor::race, "pattern"_a, "place"_a, "alternatives"_a)
      .def("take_label_changes", &PyMonitor::take_label_changes)
      .def_prop_ro("num_label_changes", &PyMonitor::num_label_changes)
      .def("label_counts", &PyMonitor::label_counts)
      .def("vertex_counts", &PyMonitor::vertex_counts)
      .def("tally", &PyMonitor::tally, "pattern"_a, "places"_a, "counts"_a, "threshold"_a, "down"_a)
      .def("tallied", &PyMonitor::tallied, "pattern"_a)
      .def("prepare", &PyMonitor::prepare)
      .def("filter_by", &PyMonitor::filter_by, "kind"_a, "bits"_a)
      .def("candidates", &PyMonitor::candidates)
      .def("candidate_columns", &PyMonitor::candidate_columns)
      .def("labelled_candidates", &PyMonitor::labelled_candidates, "first"_a)
      .def("plan_columns", &PyMonitor::plan_columns, "number"_a)
      .def("apply", &PyMonitor::apply, "inserts"_a, "sources"_a, "targets"_a, "labels"_a.none(),
           "origins"_a.none(), "moments"_a.none(), "expanded"_a, "terms"_a, "full"_a.none(),
           "timeout"_a.none())
      .def("write_put_off", &PyMonitor::write_put_off)
      .def_prop_ro("noops_awaited", &PyMonitor::noops_awaited)
      // Of the last call: the update at which it was stopped, and the seconds of searches by pattern.
      .def("progress",
           [](PyMonitor& self) {
             const dynamic::Monitor::Progress& progress = self.monitor().progress();
             return nb::make_tuple(progress.origin, progress.searched);
           })
      .def("first_noop", &PyMonitor::first_noop, "inserts"_a, "sources"_a, "targets"_a, "labels"_a.none())
      .def("edges", &PyMonitor::edges)
      .def("open_window", &PyMonitor::open_window, "span"_a, "timed"_a)
      .def("fill_window", &PyMonitor::fill_window, "sources"_a, "targets"_a, "labels"_a, "since"_a, "came"_a)
      .def("expand", &PyMonitor::expand, "inserts"_a, "sources"_a, "targets"_a, "labels"_a.none(),
           "moments"_a.none())
      .def("advance", &PyMonitor::advance, "moment"_a)
      .def("window_copies", &PyMonitor::window_copies)
      .def("match_elsewhere", &PyMonitor::match_elsewhere, "callback"_a.none())
      .def(
          "plan",
          [](const PyMonitor& self, std::uint32_t number) { return describe_plan(self.monitor(), number); },
          "number"_a)
      .def(
          "shared_levels",
          [](const PyMonitor& self, std::uint32_t number) { return shared_levels(self.monitor(), number); },
          "number"_a)
      .def_prop_ro("num_plans", &PyMonitor::num_plans)
      .def_prop_ro("plans_version", [](const PyMonitor& self) { return self.monitor().plans_version(); })
      .def("list", &PyMonitor::list, "number"_a)
      .def_prop_ro("lists_version", [](const PyMonitor& self) { return self.monitor().lists_version(); })
      .def(
          "target_classes",
          [](const PyMonitor& self, std::uint32_t target) { return classes_of(self.monitor(), target); },
          "target"_a)
      .def_prop_ro("num_classes", &PyMonitor::num_classes)
      .def("one_witness", &PyMonitor::one_witness, "target"_a)
      .def(
          "target_rows",
          [](const PyMonitor& self, std::uint32_t target, int way, int threads, bool with_room) {
            return rows_of_target(self.monitor(), target, way, threads, with_room);
          },
          "target"_a, "way"_a, "threads"_a, "with_room"_a = false)
      .def(
          "has_own_rows",
          [](const PyMonitor& self, std::uint32_t target, int way) {
            return has_own_rows(self.monitor(), target, way);
          },
          "target"_a, "way"_a)
      .def(
          "places_of_rows",
          [](const PyMonitor& self, std::uint32_t target, int way, const InputArray<std::uint32_t>& vertices,
             int threads) { return places_of_own_rows(self.monitor(), target, way, vertices, threads); },
          "target"_a, "way"_a, "vertices"_a, "threads"_a)
      .def(
          "places_in_rows",
          [](const PyMonitor& self, std::uint32_t target, int way, std::uint32_t first, std::uint32_t last) {
            return places_in_own_rows(self.monitor(), target, way, first, last);
          },
          "target"_a, "way"_a, "first"_a, "last"_a)
      .def(
          "sums_of_rows",
          [](const PyMonitor& self, std::uint32_t target, int way, int threads) {
            return sums_of_own_rows(self.monitor(), target, way, threads);
          },
          "target"_a, "way"_a, "threads"_a)
      .def(
          "changed_rows",
          [](const PyMonitor& self, const nb::handle run, std::uint32_t target, int way,
             std::uint32_t piece) {
            require(has_own_rows(self.monitor(), target, way), "rows of the monitor expected");
            return changed_own_rows(self.monitor(), run, target, way, piece);
          },
          nb::keep_alive<0, 2>(), "run"_a, "target"_a, "way"_a, "piece"_a)
      .def(
          "reader", [](PyMonitor& self) { return reader_of(self.monitor()); }, nb::keep_alive<0, 1>())
      .def(
          "estimate_accesses",
          [](const PyMonitor& self, dynamic::AccessEstimator& estimator, PyRun& run,
             const std::vector<std::pair<std::uint32_t, int>>& names, int method, std::uint64_t seed,
             std::optional<std::uint64_t> walks, std::uint64_t most_walks, double alpha, double delta,
             std::uint64_t top, std::optional<double> seconds, int threads) {
            require(method >= 0 && method <= 2, "unknown method");
            return estimate_accesses(self.monitor(), estimator, run, names,
                                     {static_cast<dynamic::AccessMethod>(method), seed, walks.value_or(0),
                                      !walks, most_walks, alpha, delta, top, seconds, threads});
          },
          "estimator"_a, "run"_a, "names"_a, "method"_a = 0, "seed"_a = 0, "walks"_a.none() = 0,
          "most_walks"_a = 0, "alpha"_a = 1., "delta"_a = .9, "top"_a = 0, "seconds"_a.none() = .01,
          "threads"_a = 1)
      .def("begin", &PyMonitor::begin, "after"_a = false)
      .def("begin_next", &PyMonitor::begin_next)
      .def_prop_ro("last_call", [](const PyMonitor& self) { return self.monitor().last_call(); })
      .def_prop_ro("final_call", [](const PyMonitor& self) { return self.monitor().final_call(); })
      .def("settle", &PyMonitor::settle, "call"_a)
      .def("finish_call", &PyMonitor::finish_call, "call"_a)
      .def("take_back", &PyMonitor::take_back, "call"_a)
      .def("apply_prepared", &PyMonitor::apply_prepared, "prepared"_a, "terms"_a, "full"_a.none(),
           "timeout"_a.none())
      .def(
          "may_write_put_off",
          [](const PyMonitor& self, std::size_t updates) {
            const FreeGil free_gil;  // rows may still be written
            return self.monitor().may_write_put_off(updates);
          },
          "updates"_a)
      .def(
          "limit_runs", [](PyMonitor& self, std::size_t updates) { self.monitor().limit_runs(updates); },
          "updates"_a)
      .def_prop_ro("directed", &PyMonitor::directed)
      .def_prop_ro("num_vertices", &PyMonitor::num_vertices)
      .def_prop_ro("num_edges", &PyMonitor::num_edges)
      .def_prop_ro("final_edges",
                   [](PyMonitor& self) {
                     const FreeGil free_gil;
                     return self.monitor().final_edges();
                   })
      .def_prop_ro("written_edges", &PyMonitor::written_edges)
      .def_prop_ro("typical_row", [](const PyMonitor& self) { return self.monitor().graph().typical_row(); })
      .def_prop_ro("nbytes", &PyMonitor::nbytes);
}

}  // namespace motiflux
