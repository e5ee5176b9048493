// Rows that change hold what they should, and a stream matched by several threads gives what one gives.
#include <algorithm>
#include <array>
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
  std::vector<Vertex> ids;
  std::vector<Class> numbers;
  for (const auto& [of, id] : expected) {
    ids.push_back(id);
    numbers.push_back(of);
  }
  dynamic::Rows rows;
  rows.add_vertices(2);
  rows.fill(1, ids, numbers);
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

  explicit World(bool directed, dynamic::Label edge_labels = 3) : monitor(directed, true), edge_labels(edge_labels) {
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
      updates.push_back({monitor.graph().named(turned ? b : a, turned ? a : b, draw() % edge_labels), draw() % 8 < 5});
    }
    const auto at_once = threads > 1 ? dynamic::AtOnce::kOn : dynamic::AtOnce::kOff;
    monitor.apply_sequence(updates, threads, {at_once, put_off}, found, watch, SIZE_MAX, [] {});
  }

  dynamic::Monitor monitor;
  dynamic::Label edge_labels;
  Found found;
};

void what_is_put_off_comes_to_the_same(bool directed, int threads, dynamic::Label edge_labels) {
  World in_turn(directed, edge_labels), put_off(directed, edge_labels);
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

}  // namespace

int main() {
  for (const Class classes : {1u, 5u, 70u, 200u}) {
    rows_hold_what_was_put_there(classes);
    long_rows_hold_what_was_put_there(classes);
  }
  a_map_forgets_only_what_is_erased();
  for (const bool listed : {false, true}) threads_find_what_one_finds(listed);
  for (const bool directed : {false, true}) {
    for (const int threads : {1, 3})
      for (const dynamic::Label edge_labels : {3u, 50u})  // so that there are 150 classes
        what_is_put_off_comes_to_the_same(directed, threads, edge_labels);
    what_is_put_off_is_taken_back(directed);
  }
  for (const int threads : {1, 4}) what_is_cut_short_leaves_the_graph_as_it_was(threads);
}
