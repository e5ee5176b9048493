// Rows that change hold what they should, and a stream matched by several threads gives what one gives.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
#include "common/parallel.hpp"
#include "dynamic/changed_rows.hpp"
#include "dynamic/divided_roots.hpp"
#include "dynamic/flat_map.hpp"
#include "dynamic/monitor.hpp"

namespace {

namespace dynamic = motiflux::dynamic;
using dynamic::Class;
using dynamic::Edge;
using dynamic::Found;
using dynamic::Vertex;
using dynamic::Way;

struct Always : dynamic::Watch {
  bool keep_going() override { return true; }
};

// Stops after so many looks.
struct Tired : dynamic::Watch {
  explicit Tired(int left) : left(left) {}
  bool keep_going() override { return left-- > 0; }
  int left;
};

// The neighbours that a row should have, in its order.
using Neighbor = std::pair<Class, Vertex>;
struct InOrder {
  bool operator()(const Neighbor& a, const Neighbor& b) const {
    const auto key = [](const Neighbor& one) { return std::tuple(one.first % 64, one.first, one.second); };
    return key(a) < key(b);
  }
};
using Expected = std::set<Neighbor, InOrder>;

void check_row(const dynamic::Rows& rows, Vertex vertex, const Expected& expected, Class classes) {
  CHECK(rows.degree(vertex) == expected.size());
  auto at = expected.begin();
  for (Vertex found : rows.all(vertex)) CHECK(found == at++->second);
  at = expected.begin();
  rows.for_each_class(vertex, [&](Class of, motiflux::sets::Span run) {
    CHECK(run.size() > 0);
    for (Vertex found : run) CHECK(*at++ == Neighbor(of, found));
    CHECK(at == expected.end() || at->first != of);
  });
  CHECK(at == expected.end());
  std::uint64_t present = 0;
  std::map<Class, std::vector<Vertex>> by_class;
  for (const auto& [of, id] : expected) {
    by_class[of].push_back(id);
    present |= dynamic::Rows::bit(of);
  }
  for (Class number = 0; number < classes + 2; ++number)  // two that no row was told of
    CHECK(std::ranges::equal(rows.of_class(vertex, number), by_class[number]));
  CHECK(rows.present(vertex) == (rows.classed() ? present : ~std::uint64_t{0}));
}

// Classes come to be known little by little, rows are changed one neighbour at a time or several at once.
void rows_hold_what_was_put_there(Class classes) {
  constexpr Vertex kVertices = 5, kNeighbors = 400;
  constexpr int kRounds = 40'000;
  std::mt19937 draw(classes);
  dynamic::Rows rows;
  rows.add_vertices(kVertices);
  std::array<Expected, kVertices> model;
  for (int round = 0; round < kRounds; ++round) {
    const Vertex vertex = draw() % kVertices, neighbor = draw() % kNeighbors;
    const Class known = std::min<Class>(classes, 1 + static_cast<Class>(round) * 2 * classes / kRounds);
    const Class of = draw() % known;
    auto& expected = model[vertex];
    const bool there = expected.contains({of, neighbor});
    CHECK(rows.contains(vertex, of, neighbor) == there);
    // Waves, so that rows grow and shrink.
    const bool comes = draw() % 8 < (round / 5000 % 2 == 0 ? 6u : 2u);
    if (comes) rows.admit(of);
    if (round % 16 == 0) {
      Expected changed;
      for (std::size_t size = draw() % 40; changed.size() < size;)
        changed.insert({draw() % known, draw() % kNeighbors});
      rows.admit(known - 1);
      std::vector<dynamic::Rows::Change> changes;
      std::size_t place = 0;
      for (const auto& [one, id] : changed) {
        const bool had = expected.contains({one, id});
        if (had && draw() % 4 == 0) continue;
        place = rows.place(vertex, place, one, id);
        CHECK(rows.is_at(vertex, place, one, id) == had);
        changes.push_back({one, id, !had, place});
        if (had)
          expected.erase({one, id});
        else
          expected.insert({one, id});
      }
      if (!changes.empty()) rows.change(vertex, changes);
    } else if (comes) {
      const std::size_t at = rows.place(vertex, of, neighbor);
      CHECK(rows.is_at(vertex, at, of, neighbor) == there);
      if (!there) rows.insert(vertex, at, of, neighbor);
      expected.insert({of, neighbor});
    } else {
      CHECK(rows.erase(vertex, of, neighbor) == there);
      expected.erase({of, neighbor});
    }
    if (round % 97 == 0) check_row(rows, vertex, expected, classes);
  }
}

// Rows that are filled, and become so long that the starts of their runs need more bits, and short again.
void long_rows_hold_what_was_put_there(Class classes) {
  constexpr Vertex kNeighbors = 200'000;
  std::mt19937 draw(classes);
  Expected expected;
  for (Vertex neighbor = 0; neighbor < 40'000; ++neighbor) expected.insert({draw() % classes, neighbor});
  dynamic::Rows rows;
  rows.add_vertices(2);
  rows.admit(classes - 1);
  std::vector<dynamic::Rows::Change> first;
  for (const auto& [of, id] : expected) first.push_back({of, id, true, 0});
  rows.change(1, first);
  check_row(rows, 1, expected, classes);
  for (const bool grow : {true, false}) {
    std::vector<dynamic::Rows::Change> changes;
    Expected changed;
    if (grow)
      while (changed.size() < 60'000) changed.insert({draw() % classes, 40'000 + draw() % kNeighbors});
    else
      for (const Neighbor& one : expected)
        if (draw() % 10 > 0) changed.insert(one);
    for (const auto& [of, id] : changed) {
      changes.push_back({of, id, grow, rows.place(1, of, id)});
      if (grow)
        expected.insert({of, id});
      else
        expected.erase({of, id});
    }
    rows.change(1, changes);
    check_row(rows, 1, expected, classes);
    for (int round = 0; round < 200; ++round) {
      const Neighbor one{draw() % classes, draw() % kNeighbors};
      if (expected.contains(one)) {
        CHECK(rows.erase(1, one.first, one.second));
        expected.erase(one);
      } else {
        rows.insert(1, rows.place(1, one.first, one.second), one.first, one.second);
        expected.insert(one);
      }
    }
    check_row(rows, 1, expected, classes);
  }
  CHECK(rows.degree(0) == 0 && rows.degree(1) < 20'000);
}

struct Key {
  std::uint64_t word = 0;
  bool operator==(const Key&) const = default;
  std::uint64_t hash() const { return word % 7; }  // so that entries push each other on
};

void a_map_forgets_only_what_is_erased() {
  std::mt19937 draw(5);
  dynamic::FlatMap<Key, int> map;
  std::map<std::uint64_t, int> model;
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t key = draw() % 60;
    if (draw() % 2 == 0) {
      map[{key}] = round;
      model[key] = round;
    } else {
      map.erase({key});
      model.erase(key);
    }
    CHECK(map.size() == model.size());
    for (const auto& [one, value] : model) {
      const int* found = map.find({one});
      CHECK(found != nullptr && *found == value);
    }
    CHECK(map.find({61}) == nullptr);
  }
}

// Triangles of an undirected graph, from each edge that comes or goes.
dynamic::Plan triangles(dynamic::Graph& graph) {
  const auto relation = graph.relations().relation({{}, false});
  const auto target = graph.relations().target(relation, {});
  dynamic::Plan plan;
  plan.pair = {{Way::kEither, relation}};
  plan.steps.resize(3);
  plan.steps[2].sources = {{0, Way::kEither, target, relation, false},
                           {1, Way::kEither, target, relation, false}};
  plan.steps[2].anchor = 1;
  plan.tail.start = 3;
  plan.tail.blocks.emplace_back();
  plan.images = {{0, 1, 2}};
  return plan;
}

// Cliques, each as often as it has orders of vertices that begin with the edge.
dynamic::Plan cliques(dynamic::Graph& graph, int size) {
  dynamic::Plan plan = triangles(graph);
  plan.steps.resize(static_cast<std::size_t>(size));
  plan.images.assign(1, {});
  for (int level = 0; level < size; ++level) {
    dynamic::Step& step = plan.steps[static_cast<std::size_t>(level)];
    plan.images[0].push_back(static_cast<std::uint8_t>(level));
    if (level < 2) continue;
    step.sources.clear();
    for (int from = 0; from < level; ++from)
      step.sources.push_back({from, Way::kEither, triangles(graph).steps[2].sources[0].target, 0, false});
    step.anchor = level - 1;
  }
  plan.tail.start = size;
  return plan;
}

std::vector<dynamic::Update> stream(std::uint32_t vertices, int size, std::uint32_t labels) {
  std::mt19937 draw(11);
  std::vector<dynamic::Update> updates;
  while (static_cast<int>(updates.size()) < size) {
    Vertex a = draw() % vertices, b = draw() % vertices;
    if (a == b) continue;
    if (a > b) std::swap(a, b);
    updates.push_back({{a, b, static_cast<dynamic::Label>(draw() % labels)}, draw() % 5 < 3});
  }
  return updates;
}

Found matched(dynamic::Monitor& monitor, int threads, bool listed) {
  constexpr std::uint32_t kVertices = 40;
  for (Vertex vertex = 0; vertex < kVertices; ++vertex) monitor.graph().add_vertex(0);
  monitor.add_pattern(0, {triangles(monitor.graph())}, listed);
  Found found;
  Always watch;
  for (const int size : {300, 5000})  // the second in several runs
    monitor.apply_sequence(stream(kVertices, size, 2), threads, {dynamic::AtOnce::kOn}, found, watch,
                           SIZE_MAX, [] {});
  return found;
}

void check_same(const Found& expected, const Found& found) {
  const auto &a = expected.patterns[0], &b = found.patterns[0];
  CHECK(a.positive > 0 && a.negative > 0);
  CHECK(a.positive == b.positive && a.negative == b.negative && expected.noops == found.noops);
  const auto alike = [](const auto& one, const auto& other) {
    return std::ranges::equal(one.all(), other.all());
  };
  CHECK(alike(a.rows, b.rows) && a.runs == b.runs);
  CHECK(a.changes.size() == b.changes.size());
  for (std::size_t at = 0; at < a.changes.size(); ++at)
    CHECK(a.changes[at].update == b.changes[at].update && a.changes[at].matches == b.changes[at].matches);
}

void threads_find_what_one_finds(bool listed) {
  dynamic::Monitor alone(false, true), together(false, true);
  check_same(matched(alone, 1, listed), matched(together, 4, listed));
  std::vector<Edge> edges, others;
  alone.graph().for_each_edge([&](const Edge& edge) { edges.push_back(edge); });
  together.graph().for_each_edge([&](const Edge& edge) { others.push_back(edge); });
  CHECK(edges == others);
}

// Matches triangles with rows of its own, which it knows from lifetimes only; the graph was empty at first.
class Elsewhere : public dynamic::RunMatcher {
 public:
  explicit Elsewhere(bool listed) : listed_(listed) {}

  void match(const std::shared_ptr<const dynamic::Run>& given, dynamic::Watch& watch,
             const std::function<void()>& write,
             const std::function<void(const dynamic::RunMatches&)>& use) override {
    const dynamic::Run& run = *given;
    if (++runs_ % 2 == 0) write();  // else the monitor does it afterwards
    const std::span<const dynamic::RunEnd> ends = run.all_ends();
    CHECK(std::ranges::is_sorted(ends, {}, [](const dynamic::RunEnd& end) {
      return std::tuple(end.vertex, end.of, end.neighbor, end.first);
    }));
    const std::span<const dynamic::Root> roots = run.all_roots();
    CHECK(roots.size() == run.positive.size());
    CHECK(std::ranges::is_sorted(roots, {}, &dynamic::Root::moment));
    lives_.clear();
    for (const dynamic::RunEnd& end : ends) {
      CHECK(end.first <= end.last && (end.first < run.updates));
      lives_[end.vertex].push_back(end);
      if (end.fresh == 0) CHECK(--rows_[end.vertex][end.neighbor] >= 0);
    }
    plan_rows(given, watch);
    std::vector<std::uint64_t> totals;
    std::vector<Vertex> rows;
    for (std::uint32_t number = 0; number < roots.size(); ++number) {
      if (!watch.keep_going()) throw dynamic::Stopped();
      const auto& [plan, first, second, moment] = roots[number];
      std::vector<Vertex> common;
      std::ranges::set_intersection(row(first, moment), row(second, moment), std::back_inserter(common));
      totals.insert(totals.end(), {common.size(), 0});
      for (const Vertex third : common) rows.insert(rows.end(), {number, first, second, third});
    }
    for (const dynamic::RunEnd& end : ends)
      if (end.last == dynamic::Lifetimes::kForever) ++rows_[end.vertex][end.neighbor];
    for (const auto& [vertex, neighbors] : rows_) {
      std::int64_t size = 0;
      for (const auto& [neighbor, edges] : neighbors) size += edges;
      CHECK(sizes_[vertex] == size && size <= capacities_[vertex]);
    }
    if (listed_)
      use({{}, {}, rows, 4});
    else
      use({totals, {}, {}, 1});
  }

 private:
  // Plans the run as for a device.
  void plan_rows(const std::shared_ptr<const dynamic::Run>& run, dynamic::Watch& watch) {
    const std::size_t vertices = run->all_ends().back().vertex + std::size_t{1};
    if (sizes_.size() < vertices)
      for (auto* column : {&sizes_, &capacities_}) column->resize(vertices);
    addresses_.resize(sizes_.size());
    const dynamic::PlacesOfRows places{addresses_, sizes_, capacities_};
    dynamic::ChangedRows changed(run, {Way::kEither, false, {}, true}, places, 64, watch);
    CHECK(changed.sums().changes == run->ends.size());
    std::vector<std::byte> block(changed.layout().size);
    changed.write({block.data(), 1 << 20, 1 << 30, 1 << 10}, places, watch);
    const dynamic::Manner manner = listed_ ? dynamic::Manner::kListed : dynamic::Manner::kCounted;
    dynamic::DividedRoots divided(run, std::vector(1, manner), {}, watch);
    CHECK((listed_ ? divided.listed().size() : divided.counted()) == run->roots.size());
    std::size_t shared_out = 0;
    for (const std::uint32_t share : {0U, 1U, 2U}) {
      dynamic::DividedRoots part(run, std::vector(1, manner), {share, 3}, watch);
      shared_out += listed_ ? part.listed().size() : part.counted();
    }
    CHECK(shared_out == run->roots.size());
    std::vector<dynamic::SearchRoot> counted(divided.counted()), listed(divided.listed().size());
    divided.write_counted(counted, watch);
    divided.write_listed(listed);
    const auto& all = listed_ ? listed : counted;
    for (std::size_t number = 0; number < all.size(); ++number)
      CHECK(all[number].moment == run->all_roots()[number].moment + 1);
  }

  std::set<Vertex> row(Vertex vertex, dynamic::Moment moment) {
    std::set<Vertex> found;
    for (const auto& [neighbor, edges] : rows_[vertex])
      if (edges > 0) found.insert(neighbor);
    for (const dynamic::RunEnd& end : lives_[vertex])
      if (end.first <= moment && moment <= end.last) found.insert(end.neighbor);
    return found;
  }

  bool listed_;
  int runs_ = 0;
  std::map<Vertex, std::map<Vertex, int>> rows_;
  std::vector<std::uint64_t> addresses_;
  std::vector<std::int64_t> sizes_, capacities_;
  std::map<Vertex, std::vector<dynamic::RunEnd>> lives_;
};

void runs_are_matched_elsewhere(bool listed, int threads) {
  dynamic::Monitor here(false, true), there(false, true);
  there.match_elsewhere(std::make_unique<Elsewhere>(listed));
  check_same(matched(here, 1, listed), matched(there, threads, listed));
}

// Batches of insertions and deletions. With several labels, edges are replaced, so stand-ins are needed.
Found matched_in_batches(dynamic::Monitor& monitor, int threads, bool listed, dynamic::Label labels = 3) {
  constexpr std::uint32_t kVertices = 40;
  for (Vertex vertex = 0; vertex < kVertices; ++vertex) monitor.graph().add_vertex(0);
  monitor.add_pattern(0, {triangles(monitor.graph())}, listed);
  Found found;
  Always watch;
  const auto updates = stream(kVertices, 9000, labels);
  for (const auto& [first, size] :
       {std::pair<std::size_t, std::size_t>{0, 400}, {400, 600}, {1000, 3000}, {4000, 5000}})
    monitor.apply_batch(std::span(updates).subspan(first, size), threads, {dynamic::AtOnce::kOn}, found,
                        watch, SIZE_MAX, [] {});
  return found;
}

void threads_find_in_batches_what_one_finds(bool listed) {
  dynamic::Monitor alone(false, true), together(false, true), in_turn(false, true);
  const Found expected = matched_in_batches(alone, 1, listed);
  check_same(expected, matched_in_batches(together, 4, listed));
  Found sequence;
  Always watch;
  for (Vertex vertex = 0; vertex < 40; ++vertex) in_turn.graph().add_vertex(0);
  in_turn.add_pattern(0, {triangles(in_turn.graph())}, false);
  in_turn.apply_sequence(stream(40, 9000, 3), 1, {}, sequence, watch, SIZE_MAX, [] {});
  CHECK(sequence.patterns[0].positive - sequence.patterns[0].negative ==
        expected.patterns[0].positive - expected.patterns[0].negative);
  for (const dynamic::Monitor* other : {&together, &in_turn}) {
    std::vector<Edge> edges;
    other->graph().for_each_edge([&](const Edge& edge) { edges.push_back(edge); });
    std::size_t at = 0;
    alone.graph().for_each_edge([&](const Edge& edge) {
      CHECK(at < edges.size() && edges[at++] == edge &&
            alone.graph().copies(edge) == other->graph().copies(edge));
    });
    CHECK(at == edges.size());
  }
}

void batches_are_matched_elsewhere(bool listed, int threads, dynamic::Label labels) {
  dynamic::Monitor here(false, true), there(false, true);
  there.match_elsewhere(std::make_unique<Elsewhere>(listed));
  Found expected = matched_in_batches(here, 1, listed, labels);
  Found found = matched_in_batches(there, threads, listed, labels);
  // Stand-ins shift the moments, but not the order of the changes.
  check_same(expected, found);
}

// A search of so many vertices that threads share it.
void threads_split_long_searches(bool listed) {
  constexpr std::uint32_t kVertices = 100;  // of degree 60: a search is estimated to visit 60^3 vertices
  std::vector<Found> all;
  for (const int threads : {1, 3}) {
    dynamic::Monitor monitor(false, true);
    for (Vertex vertex = 0; vertex < kVertices; ++vertex) monitor.graph().add_vertex(0);
    Found& found = all.emplace_back();
    Always watch;
    const auto updates = stream(kVertices, 12'000, 1);
    monitor.apply_sequence(std::span(updates).first(11'950), 1, {}, found, watch, SIZE_MAX, [] {});
    monitor.add_pattern(0, {cliques(monitor.graph(), listed ? 5 : 6)}, listed);
    monitor.apply_sequence(std::span(updates).last(50), threads, {dynamic::AtOnce::kOn}, found, watch,
                           SIZE_MAX, [] {});
    monitor.apply_batch(std::span(updates).first(50), threads, {dynamic::AtOnce::kOn}, found, watch, SIZE_MAX,
                        [] {});
  }
  check_same(all[0], all[1]);
}

std::vector<Edge> edges_of(const dynamic::Graph& graph) {
  std::vector<Edge> edges;
  graph.for_each_edge([&](const Edge& edge) { edges.push_back(edge); });
  std::ranges::sort(edges, {}, [](const Edge& one) { return std::tuple(one.source, one.target, one.label); });
  return edges;
}

std::vector<Vertex> sorted(motiflux::sets::Span row) {
  std::vector<Vertex> ids(row.begin(), row.end());
  std::ranges::sort(ids);
  return ids;
}

// Ascends by class and neighbour, and the bits say which classes there are.
bool is_sound(const dynamic::Rows& rows, Vertex vertex) {
  std::vector<Neighbor> row;
  std::uint64_t present = 0;
  rows.for_each_class(vertex, [&](Class of, motiflux::sets::Span run) {
    present |= dynamic::Rows::bit(of);
    for (Vertex found : run) row.emplace_back(of, found);
  });
  if (!std::ranges::is_sorted(row, InOrder{}) || row.size() != rows.degree(vertex)) return false;
  return !rows.classed() || present == rows.present(vertex);
}

// A hub and many others, with labels of which the pattern concerns a few edges only.
struct World {
  static constexpr Vertex kVertices = 3000;

  explicit World(bool directed, dynamic::Label edge_labels = 3)
      : monitor(directed, true), edge_labels(edge_labels) {
    for (Vertex vertex = 0; vertex < kVertices; ++vertex) monitor.graph().add_vertex(vertex % 3);
    dynamic::Plan plan = triangles(monitor.graph());
    plan.pair[0].way = Way::kOut;
    plan.first.codes = plan.second.codes = std::vector<dynamic::Label>{1};
    const auto target = monitor.graph().relations().target(plan.pair[0].relation, plan.first);
    for (dynamic::Source& source : plan.steps[2].sources) {
      source.way = Way::kOut;
      source.target = target;  // of no vertices but those of edges that the plan concerns
    }
    monitor.add_pattern(0, {plan}, false);
  }
  void apply(int size, unsigned seed, int threads, bool put_off, dynamic::Watch& watch) {
    std::mt19937 draw(seed);
    std::vector<dynamic::Update> updates;
    while (static_cast<int>(updates.size()) < size) {
      const Vertex a = draw() % 2 == 0 ? 7 : draw() % kVertices, b = draw() % kVertices;
      if (a == b) continue;
      const bool turned = draw() % 2 == 0;
      updates.push_back(
          {monitor.graph().named(turned ? b : a, turned ? a : b, draw() % edge_labels), draw() % 8 < 5});
    }
    const auto at_once = threads > 1 ? dynamic::AtOnce::kOn : dynamic::AtOnce::kOff;
    monitor.apply_sequence(updates, threads, {at_once, put_off}, found, watch, SIZE_MAX, [] {});
    if (found.put_off != nullptr) later.push_back(found.put_off);
  }
  // Once all is written.
  std::uint64_t noops() const {
    std::uint64_t all = found.noops;
    for (const auto& one : later) all += one->count;
    return all;
  }

  dynamic::Monitor monitor;
  dynamic::Label edge_labels;
  Found found;
  std::vector<std::shared_ptr<dynamic::PutOffNoops>> later;
};

void what_is_put_off_comes_to_the_same(bool directed, int threads, dynamic::Label edge_labels) {
  World in_turn(directed, edge_labels), put_off(directed, edge_labels);
  Always watch;
  for (const int size : {500, 20'000, 40'000}) {
    in_turn.apply(size, static_cast<unsigned>(size), 1, false, watch);
    put_off.apply(size, static_cast<unsigned>(size), threads, true, watch);
    // In part while it waits, and in part at once; the next call may come between.
    for (int few = 0; few < size / 100 && put_off.monitor.write_some_put_off(); ++few) continue;
    in_turn.apply(50, static_cast<unsigned>(size + 1), 1, false, watch);
    put_off.apply(50, static_cast<unsigned>(size + 1), threads, true, watch);
    put_off.monitor.write_some_put_off();
    put_off.monitor.write_put_off(threads);
    const auto &a = in_turn.monitor.graph(), &b = put_off.monitor.graph();
    const std::vector<Edge> edges = edges_of(a);
    CHECK(edges == edges_of(b) && a.edges() == b.edges() && edges.size() == a.edges());
    for (const Edge& edge : edges) CHECK(a.copies(edge) == b.copies(edge));
    for (Vertex vertex = 0; vertex < World::kVertices; ++vertex)
      for (const Way way : {Way::kOut, Way::kIn}) {
        CHECK(sorted(a.rows(way).all(vertex)) == sorted(b.rows(way).all(vertex)));
        CHECK(is_sound(b.rows(way), vertex));
      }
  }
  CHECK(in_turn.noops() == put_off.noops());
  CHECK(in_turn.found.patterns[0].positive > 0);
  CHECK(in_turn.found.patterns[0].positive == put_off.found.patterns[0].positive);
  CHECK(in_turn.found.patterns[0].negative == put_off.found.patterns[0].negative);
}

// The edges of a graph with their copies, and both rows of each vertex.
struct State {
  explicit State(const dynamic::Graph& graph) : edges(edges_of(graph)), number(graph.edges()) {
    for (const Edge& edge : edges) copies.push_back(graph.copies(edge));
    for (Vertex vertex = 0; vertex < graph.vertices(); ++vertex)
      for (const Way way : {Way::kOut, Way::kIn}) {
        CHECK(is_sound(graph.rows(way), vertex));
        rows.push_back(sorted(graph.rows(way).all(vertex)));
      }
  }
  bool operator==(const State&) const = default;

  std::vector<Edge> edges;
  std::vector<std::uint64_t> copies;
  std::uint64_t number;
  std::vector<std::vector<Vertex>> rows;
};

// Few changes are taken back one by one, many row by row.
void what_is_applied_is_taken_back(bool directed, int threads, dynamic::Label edge_labels) {
  World world(directed, edge_labels);
  Always always;
  world.apply(20'000, 1, threads, false, always);
  const State before(world.monitor.graph());
  for (const int size : {1, 30, 200, 300, 3'000, 60'000}) {
    for (const bool put_off : {false, true}) {
      world.apply(size, static_cast<unsigned>(size), threads, put_off, always);
      if (put_off) world.monitor.write_put_off(threads);
      CHECK(size < 30 || !(State(world.monitor.graph()) == before));
      world.monitor.take_back();
      CHECK(State(world.monitor.graph()) == before);
    }
  }
}

// Wherever it is cut short: while updates are taken, or while those that were put off are written.
void what_is_put_off_is_taken_back(bool directed, int threads) {
  World world(directed);
  Always always;
  world.apply(20'000, 1, 1, true, always);
  world.monitor.write_put_off();
  const State before(world.monitor.graph());
  int stopped = 0, done = 0;
  for (const int looks : {1, 13, 25, 37, 49, 61, 141, 221, 301, 381, 1 << 20}) {
    world.apply(100, 3, 1, true, always);
    world.monitor.take_back();
    Tired watch(looks);
    try {
      world.apply(300'000, 2, threads, true, watch);
      world.monitor.take_back();
      ++done;
    } catch (const dynamic::Stopped&) {
      ++stopped;
    }
    world.monitor.write_put_off();
    CHECK(State(world.monitor.graph()) == before);
  }
  CHECK(stopped > 4 && done > 0);
}

// A path of two edges over a hub: each edge of the hub is in a match with each earlier one, in two orders.
dynamic::Plan paths(dynamic::Graph& graph) {
  const auto relation = graph.relations().relation({{}, false});
  dynamic::Plan plan;
  plan.pair = {{Way::kEither, relation}};
  plan.steps.resize(3);
  plan.steps[2].sources = {{0, Way::kEither, graph.relations().target(relation, {}), relation, false}};
  plan.steps[2].distinct = 1 << 1;
  plan.tail.start = 3;
  plan.tail.blocks.emplace_back();
  plan.images = {{1, 0, 2}, {2, 0, 1}};
  return plan;
}

struct Star {
  explicit Star(Vertex leaves) : monitor(false, false) {
    for (Vertex vertex = 0; vertex < leaves + 2; ++vertex) monitor.graph().add_vertex(0);
    monitor.add_pattern(0, {paths(monitor.graph())}, false);
    std::vector<dynamic::Update> updates;
    for (Vertex leaf = 1; leaf <= leaves; ++leaf) updates.push_back({{0, leaf, 0}, true});
    Found none;
    Always watch;
    monitor.apply_sequence(updates, 1, {}, none, watch, SIZE_MAX, [] {});
    monitor.drop_pattern(0);
    monitor.add_pattern(0, {paths(monitor.graph())}, true);
  }
  dynamic::Monitor monitor;
};

// Rows of one update are handed over in parts of about the size asked for, and are all there.
void many_rows_of_an_update_come_in_parts() {
  constexpr Vertex kLeaves = 20'000;
  constexpr std::size_t kMost = 30'000, kBlockWords = 3 * 4096;
  Star star(kLeaves);
  Found found;
  Always watch;
  std::set<std::vector<Vertex>> rows;
  std::size_t calls = 0;
  const auto take = [&] {
    const auto words = found.patterns[0].rows.all();
    CHECK(words.size() < kMost + kBlockWords);
    std::uint64_t counted = 0;
    for (const Found::Run& run : found.patterns[0].runs) {
      CHECK(run.update == 0 && run.positive);
      counted += run.rows;
    }
    CHECK(counted * 3 == words.size());
    for (std::size_t at = 0; at < words.size(); at += 3)
      rows.insert({words[at], words[at + 1], words[at + 2]});
    found.patterns[0].rows.clear();
    found.patterns[0].runs.clear();
    ++calls;
  };
  const std::vector<dynamic::Update> update{{{0, kLeaves + 1, 0}, true}};
  star.monitor.apply_sequence(update, 1, {}, found, watch, kMost, take);
  take();
  CHECK(calls > 2);
  CHECK(rows.size() == 2 * kLeaves && found.patterns[0].positive == 2 * kLeaves);
  for (Vertex leaf = 1; leaf <= kLeaves; ++leaf)
    CHECK(rows.contains({kLeaves + 1, 0, leaf}) && rows.contains({leaf, 0, kLeaves + 1}));
}

// Looked at every few thousand rows, also while the rows of one update are written.
void an_update_with_many_rows_can_be_stopped() {
  Star star(300'000);
  const std::vector<Edge> before = edges_of(star.monitor.graph());
  const std::vector<dynamic::Update> update{{{0, 300'001, 0}, true}};
  for (const int looks : {0, 1, 10, 20}) {
    Found found;
    Tired watch(looks);
    bool stopped = false;
    try {
      star.monitor.apply_sequence(update, 1, {}, found, watch, SIZE_MAX, [] {});
    } catch (const dynamic::Stopped&) {
      stopped = true;
    }
    CHECK(stopped && found.patterns[0].rows.size() <= 3u * 20'480 * (static_cast<unsigned>(looks) + 1));
    CHECK(edges_of(star.monitor.graph()) == before);
  }
}

// Each width, the varied vertex at each place and at the last level or another one, few rows and many.
void rows_are_written_as_images() {
  std::mt19937 draw(3);
  for (std::size_t width = 2; width <= 12; ++width)
    for (std::size_t size : {1, 2, 7, 100}) {
      std::vector<Vertex> value(width), last(size);
      for (Vertex& one : value) one = draw();
      for (Vertex& one : last) one = draw();
      std::vector<dynamic::Image> images;
      for (std::size_t turn = 0; turn < width; ++turn) {
        dynamic::Image image(width);
        for (std::size_t query = 0; query < width; ++query)
          image[query] = static_cast<std::uint8_t>((query + turn) % width);
        images.push_back(image);
      }
      for (const std::size_t varied : {width - 1, std::size_t{0}}) {
        std::vector<Vertex> expected;
        for (const dynamic::Image& image : images)
          for (Vertex vertex : last)
            for (std::uint8_t level : image) expected.push_back(level == varied ? vertex : value[level]);
        constexpr Vertex kGuard = 77;
        std::vector<Vertex> found(expected.size() + 16, kGuard);
        dynamic::write_rows(value.data(), width, static_cast<std::uint8_t>(varied), images,
                            {last.data(), last.data() + size}, found.data());
        expected.resize(found.size(), kGuard);
        CHECK(found == expected);
      }
    }
}

// From a few bytes to several large pages, several columns at once so that they are in each other's way.
void a_column_keeps_what_it_holds() {
  std::mt19937 draw(9);
  std::array<motiflux::Column<Vertex>, 3> columns;
  std::array<Vertex, 3> sizes{};
  while (sizes[0] < 6'000'000) {
    const std::size_t at = draw() % columns.size();
    const std::size_t more = 1 + draw() % (1 + sizes[at] / 2);
    Vertex* first = columns[at].extend(more);
    for (std::size_t one = 0; one < more; ++one) first[one] = sizes[at]++;
    if (draw() % 16 == 0) columns[at] = motiflux::Column<Vertex>(std::move(columns[at]));
  }
  for (std::size_t at = 0; at < columns.size(); ++at) {
    CHECK(columns[at].size() == sizes[at]);
    Vertex expected = 0;
    for (Vertex value : columns[at].all()) CHECK(value == expected++);
  }
}

// Threads that reuse each other's memory do not share it.
void columns_of_threads_are_apart() {
  motiflux::on_threads(4, [](int index) {
    for (Vertex round = 0; round < 40; ++round) {
      motiflux::Column<Vertex> column;
      const Vertex value = static_cast<Vertex>(index) * 100 + round;
      for (int part = 0; part < 4; ++part) std::fill_n(column.extend(400'000), 400'000, value);
      CHECK(std::ranges::all_of(column.all(), [&](Vertex one) { return one == value; }));
    }
  });
}

void what_is_cut_short_leaves_the_graph_as_it_was(int threads, bool batch, bool elsewhere) {
  int stopped = 0, done = 0;
  for (int looks = 1; done == 0; looks += looks < 20 ? 1 : 200) {
    dynamic::Monitor monitor(false, true);
    if (elsewhere) monitor.match_elsewhere(std::make_unique<Elsewhere>(false));
    matched(monitor, 1, false);
    const std::vector<Edge> before = edges_of(monitor.graph());
    Found found;
    Tired watch(looks);
    try {
      const auto updates = stream(40, 20'000, 3);
      if (batch)
        monitor.apply_batch(updates, threads, {dynamic::AtOnce::kOn}, found, watch, SIZE_MAX, [] {});
      else
        monitor.apply_sequence(updates, threads, {dynamic::AtOnce::kOn}, found, watch, SIZE_MAX, [] {});
      ++done;
      monitor.take_back();
    } catch (const dynamic::Stopped&) {
      ++stopped;
    }
    CHECK(edges_of(monitor.graph()) == before);
  }
  CHECK(stopped > 0);
}

// A graph that is loaded, and the same graph built edge by edge.
struct Loaded {
  bool directed;
  std::uint32_t vertex_labels, edge_labels;
  int threads;
  bool turned;  // whether its arcs are given by their last vertices too
};

using Rows =
    std::vector<std::vector<std::tuple<Vertex, dynamic::Label, std::uint32_t>>>;  // neighbour, label, copies

// Arcs in the form in which they are loaded.
struct Columns {
  std::vector<std::uint64_t> offsets{0};
  std::vector<Vertex> neighbors;
  std::vector<dynamic::Label> labels;
  std::vector<std::uint32_t> copies;

  Columns(Rows rows, bool labelled) {
    for (auto& row : rows) {
      std::ranges::sort(row);
      for (const auto& [neighbor, label, more] : row) {
        neighbors.push_back(neighbor);
        if (labelled) labels.push_back(label);
        copies.push_back(more);
      }
      offsets.push_back(neighbors.size());
    }
  }
  dynamic::Arcs arcs() const { return {offsets, neighbors, labels}; }
};

void a_loaded_graph_is_as_if_built_edge_by_edge(const Loaded& how) {
  constexpr Vertex kVertices = 700, kArcs = 25'000, kHub = 5;
  std::mt19937 draw(how.vertex_labels + how.edge_labels);
  dynamic::Graph built(how.directed), loaded(how.directed);
  std::vector<dynamic::Label> labels;
  for (Vertex vertex = 0; vertex < kVertices; ++vertex) {
    labels.push_back(draw() % how.vertex_labels);
    built.add_vertex(labels.back());
  }
  std::map<std::tuple<Vertex, Vertex, dynamic::Label>, std::uint32_t> copies;
  for (Vertex at = 0; at < kArcs; ++at) {
    // Some vertices have no edges, one has most neighbours.
    const Vertex a = at % 3 == 0 ? kHub : draw() % (kVertices - 50), b = draw() % (kVertices - 50);
    if (a == b) continue;
    const Edge edge = built.named(a, b, draw() % how.edge_labels);
    const std::uint32_t more = copies[{edge.source, edge.target, edge.label}]++;
    built.insert(edge);
    built.set_more_copies(edge, more);
  }
  Rows forward(kVertices), backward(kVertices);
  for (const auto& [edge, number] : copies) {
    const auto [source, target, label] = edge;
    forward[source].emplace_back(target, label, number);
    (how.directed ? backward : forward)[target].emplace_back(source, label, number);
  }
  const bool labelled = how.edge_labels > 1;
  const Columns out(forward, labelled), in(backward, labelled);
  loaded.load(labels, out.arcs(), how.turned ? in.arcs() : dynamic::Arcs{}, out.copies, {how.threads});
  const auto same = [&] {
    CHECK(edges_of(loaded) == edges_of(built) && loaded.edges() == built.edges());
    for (const Edge& edge : edges_of(built)) CHECK(loaded.copies(edge) == built.copies(edge));
    for (Vertex vertex = 0; vertex < kVertices; ++vertex)
      for (const Way way : {Way::kOut, Way::kIn}) {
        CHECK(sorted(loaded.rows(way).all(vertex)) == sorted(built.rows(way).all(vertex)));
        CHECK(is_sound(loaded.rows(way), vertex));
      }
  };
  CHECK(loaded.vertices() == kVertices && loaded.label(kHub) == built.label(kHub));
  CHECK(loaded.rows(Way::kOut).classed() == (how.vertex_labels * how.edge_labels > 1));
  same();
  for (int round = 0; round < 4'000; ++round) {
    const Vertex a = draw() % kVertices, b = draw() % 3 == 0 ? kHub : draw() % kVertices;
    if (a == b) continue;
    const Edge edge = built.named(a, b, draw() % (how.edge_labels + 1));
    if (draw() % 2 == 0)
      CHECK(built.insert(edge) == loaded.insert(edge));
    else
      CHECK(built.erase(edge) == loaded.erase(edge));
  }
  same();
}

void graphs_are_loaded() {
  for (const int threads : {1, 3})
    for (const bool directed : {false, true})
      for (const bool turned : {false, true}) {
        if (turned && !directed) continue;
        for (const auto& [vertex_labels, edge_labels] :
             {std::pair{1u, 1u}, {2u, 1u}, {90u, 1u}, {1u, 7u}, {60u, 20u}, {700u, 300u}})
          a_loaded_graph_is_as_if_built_edge_by_edge({directed, vertex_labels, edge_labels, threads, turned});
      }
}

void loading_stops_when_asked_to() {
  const Columns columns(Rows{{{1, 0, 1}}, {{0, 0, 1}}}, false);
  const std::atomic<bool> stop{true};
  dynamic::Graph graph(false);
  bool stopped = false;
  try {
    graph.load(std::vector<dynamic::Label>{0, 0}, columns.arcs(), {}, {}, {2, &stop});
  } catch (const motiflux::Cancelled&) {
    stopped = true;
  }
  CHECK(stopped);
}

}  // namespace

int main() {
  graphs_are_loaded();
  loading_stops_when_asked_to();
  for (const Class classes : {1u, 5u, 70u, 200u}) {
    rows_hold_what_was_put_there(classes);
    long_rows_hold_what_was_put_there(classes);
  }
  a_map_forgets_only_what_is_erased();
  for (const bool listed : {false, true}) {
    threads_find_what_one_finds(listed);
    threads_find_in_batches_what_one_finds(listed);
    threads_split_long_searches(listed);
    for (const int threads : {1, 4}) {
      runs_are_matched_elsewhere(listed, threads);
      for (const dynamic::Label labels : {1u, 3u}) batches_are_matched_elsewhere(listed, threads, labels);
    }
  }
  for (const bool directed : {false, true}) {
    for (const int threads : {1, 3})
      for (const dynamic::Label edge_labels : {3u, 50u})  // so that there are 150 classes
      {
        what_is_put_off_comes_to_the_same(directed, threads, edge_labels);
        what_is_applied_is_taken_back(directed, threads, edge_labels);
      }
    for (const int threads : {1, 3}) what_is_put_off_is_taken_back(directed, threads);
  }
  for (const int threads : {1, 4})
    for (const bool batch : {false, true})
      for (const bool elsewhere : {false, true})
        what_is_cut_short_leaves_the_graph_as_it_was(threads, batch, elsewhere);
  rows_are_written_as_images();
  many_rows_of_an_update_come_in_parts();
  an_update_with_many_rows_can_be_stopped();
  a_column_keeps_what_it_holds();
  columns_of_threads_are_apart();
}
