// Rows that change hold what they should, and a stream matched by several threads gives what one gives.
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
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
    monitor.apply_sequence(stream(kVertices, size, 2), threads, dynamic::AtOnce::kOn, found, watch, SIZE_MAX, [] {});
  return found;
}

void threads_find_what_one_finds(bool listed) {
  dynamic::Monitor alone(false, true), together(false, true);
  const Found expected = matched(alone, 1, listed), found = matched(together, 4, listed);
  const auto &a = expected.patterns[0], &b = found.patterns[0];
  CHECK(a.positive > 0 && a.negative > 0);
  CHECK(a.positive == b.positive && a.negative == b.negative && expected.noops == found.noops);
  CHECK(a.rows == b.rows && a.updates == b.updates && a.positives == b.positives);
  CHECK(a.changes.size() == b.changes.size());
  for (std::size_t at = 0; at < a.changes.size(); ++at)
    CHECK(a.changes[at].update == b.changes[at].update && a.changes[at].matches == b.changes[at].matches);
  std::vector<Edge> edges, others;
  alone.graph().for_each_edge([&](const Edge& edge) { edges.push_back(edge); });
  together.graph().for_each_edge([&](const Edge& edge) { others.push_back(edge); });
  CHECK(edges == others);
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
    monitor.apply_sequence(stream(40, 20'000, 3), threads, dynamic::AtOnce::kOn, found, watch, SIZE_MAX, [] {});
  } catch (const dynamic::Stopped&) {
    stopped = true;
  }
  CHECK(stopped);
  monitor.graph().for_each_edge([&](const Edge& edge) { after.push_back(edge); });
  CHECK(before == after);
}

}  // namespace

int main() {
  for (const Class classes : {1u, 3u, 70u}) rows_hold_what_was_put_there(classes);
  a_map_forgets_only_what_is_erased();
  for (const bool listed : {false, true}) threads_find_what_one_finds(listed);
  for (const int threads : {1, 4}) what_is_cut_short_leaves_the_graph_as_it_was(threads);
}
