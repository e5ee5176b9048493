// Rows that change hold what they should, and a stream matched by several threads gives what one gives.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
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

void rows_hold_what_was_put_there(Class classes) {
  constexpr Vertex kVertices = 5, kNeighbors = 400;
  std::mt19937 draw(classes);
  dynamic::Rows rows;
  rows.add_vertices(kVertices);
  std::array<std::set<std::pair<Class, Vertex>>, kVertices> model;
  for (int round = 0; round < 40'000; ++round) {
    const Vertex vertex = draw() % kVertices, neighbor = draw() % kNeighbors;
    const Class of = draw() % classes;
    rows.admit(of);
    auto& expected = model[vertex];
    const bool there = expected.contains({of, neighbor});
    CHECK(rows.contains(vertex, of, neighbor) == there);
    // Waves, so that rows grow and shrink.
    if (draw() % 8 < (round / 5000 % 2 == 0 ? 6u : 2u)) {
      const std::size_t at = rows.place(vertex, of, neighbor);
      CHECK(rows.is_at(vertex, at, of, neighbor) == there);
      if (!there) rows.insert(vertex, at, of, neighbor);
      expected.insert({of, neighbor});
    } else {
      CHECK(rows.erase(vertex, of, neighbor) == there);
      expected.erase({of, neighbor});
    }
    if (round % 97 != 0) continue;
    CHECK(rows.degree(vertex) == expected.size());
    auto at = expected.begin();
    for (Vertex found : rows.all(vertex)) CHECK(found == at++->second);
    for (Class number = 0; number < classes; ++number) {
      std::set<Vertex> of_class;
      for (const auto& [one, id] : expected)
        if (one == number) of_class.insert(id);
      const auto run = rows.of_class(vertex, number);
      CHECK(std::set<Vertex>(run.begin(), run.end()) == of_class);
      CHECK(of_class.empty() || (rows.present(vertex) & dynamic::Rows::bit(number)) != 0);
    }
  }
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
  plan.steps[2].sources = {{0, Way::kEither, target, relation, false}, {1, Way::kEither, target, relation, false}};
  plan.steps[2].anchor = 1;
  plan.tail.start = 3;
  plan.tail.blocks.emplace_back();
  plan.images = {{0, 1, 2}};
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
    monitor.apply_sequence(stream(kVertices, size, 2), threads, {dynamic::AtOnce::kOn}, found, watch, SIZE_MAX, [] {});
  return found;
}

void threads_find_what_one_finds(bool listed) {
  dynamic::Monitor alone(false, true), together(false, true);
  const Found expected = matched(alone, 1, listed), found = matched(together, 4, listed);
  const auto &a = expected.patterns[0], &b = found.patterns[0];
  CHECK(a.positive > 0 && a.negative > 0);
  CHECK(a.positive == b.positive && a.negative == b.negative && expected.noops == found.noops);
  const auto alike = [](const auto& one, const auto& other) { return std::ranges::equal(one.all(), other.all()); };
  CHECK(alike(a.rows, b.rows) && alike(a.updates, b.updates) && alike(a.positives, b.positives));
  CHECK(a.changes.size() == b.changes.size());
  for (std::size_t at = 0; at < a.changes.size(); ++at)
    CHECK(a.changes[at].update == b.changes[at].update && a.changes[at].matches == b.changes[at].matches);
  std::vector<Edge> edges, others;
  alone.graph().for_each_edge([&](const Edge& edge) { edges.push_back(edge); });
  together.graph().for_each_edge([&](const Edge& edge) { others.push_back(edge); });
  CHECK(edges == others);
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
  const auto row = rows.all(vertex);
  const Class* classes = rows.classes(vertex);
  if (classes == nullptr) return std::is_sorted(row.begin(), row.end());
  std::uint64_t present = 0;
  for (std::size_t at = 0; at < row.size(); ++at) {
    present |= dynamic::Rows::bit(classes[at]);
    if (at > 0 && std::pair(classes[at - 1], row.first[at - 1]) >= std::pair(classes[at], row.first[at])) return false;
  }
  return present == rows.present(vertex);
}

// A hub and many others, with labels of which the pattern concerns a few edges only.
struct World {
  static constexpr Vertex kVertices = 3000;

  explicit World(bool directed) : monitor(directed, true) {
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
      updates.push_back({monitor.graph().named(turned ? b : a, turned ? a : b, draw() % 3), draw() % 8 < 5});
    }
    const auto at_once = threads > 1 ? dynamic::AtOnce::kOn : dynamic::AtOnce::kOff;
    monitor.apply_sequence(updates, threads, {at_once, put_off}, found, watch, SIZE_MAX, [] {});
  }

  dynamic::Monitor monitor;
  Found found;
};

void what_is_put_off_comes_to_the_same(bool directed, int threads) {
  World in_turn(directed), put_off(directed);
  Always watch;
  for (const int size : {500, 20'000, 40'000}) {
    in_turn.apply(size, static_cast<unsigned>(size), 1, false, watch);
    put_off.apply(size, static_cast<unsigned>(size), threads, true, watch);
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
  CHECK(in_turn.found.noops == put_off.found.noops);
  CHECK(in_turn.found.patterns[0].positive > 0);
  CHECK(in_turn.found.patterns[0].positive == put_off.found.patterns[0].positive);
  CHECK(in_turn.found.patterns[0].negative == put_off.found.patterns[0].negative);
}

// Wherever it is cut short.
void what_is_put_off_is_taken_back(bool directed) {
  World world(directed);
  Always always;
  world.apply(20'000, 1, 1, true, always);
  const std::vector<Edge> before = edges_of(world.monitor.graph());
  const std::uint64_t edges = world.monitor.graph().edges();
  int stopped = 0;
  for (int looks = 1; looks < 14; ++looks) {
    Tired watch(looks);
    try {
      world.apply(20'000, 2, 1, true, watch);
      world.monitor.take_back();
    } catch (const dynamic::Stopped&) {
      ++stopped;
    }
    CHECK(edges_of(world.monitor.graph()) == before && world.monitor.graph().edges() == edges);
  }
  CHECK(stopped > 4 && stopped < 13);
}

void what_is_cut_short_leaves_the_graph_as_it_was(int threads) {
  dynamic::Monitor monitor(false, true);
  matched(monitor, 1, false);
  std::vector<Edge> before, after;
  monitor.graph().for_each_edge([&](const Edge& edge) { before.push_back(edge); });
  Found found;
  Tired watch(1);
  bool stopped = false;
  try {
    monitor.apply_sequence(stream(40, 20'000, 3), threads, {dynamic::AtOnce::kOn}, found, watch, SIZE_MAX, [] {});
  } catch (const dynamic::Stopped&) {
    stopped = true;
  }
  CHECK(stopped);
  monitor.graph().for_each_edge([&](const Edge& edge) { after.push_back(edge); });
  CHECK(before == after);
}

// A graph that is loaded, and the same graph built edge by edge.
struct Loaded {
  bool directed;
  std::uint32_t vertex_labels, edge_labels;
  int threads;
  bool turned;  // whether its arcs are given by their last vertices too
};

using Rows = std::vector<std::vector<std::tuple<Vertex, dynamic::Label, std::uint32_t>>>;  // neighbour, label, copies

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
  CHECK((loaded.rows(Way::kOut).classes(kHub) == nullptr) == (how.vertex_labels * how.edge_labels == 1));
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
  for (const Class classes : {1u, 3u, 70u}) rows_hold_what_was_put_there(classes);
  a_map_forgets_only_what_is_erased();
  for (const bool listed : {false, true}) threads_find_what_one_finds(listed);
  for (const bool directed : {false, true}) {
    for (const int threads : {1, 3}) what_is_put_off_comes_to_the_same(directed, threads);
    what_is_put_off_is_taken_back(directed);
  }
  for (const int threads : {1, 4}) what_is_cut_short_leaves_the_graph_as_it_was(threads);
}
