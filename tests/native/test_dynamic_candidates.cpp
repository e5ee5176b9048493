// The candidate table is that of a recount of the neighbours, however rows came to change.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
#include "dynamic/monitor.hpp"

namespace {

// The so-many-th allocation of this thread from now on fails; with 0, none.
thread_local int left = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (left > 0 && --left == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

namespace dynamic = motiflux::dynamic;
using dynamic::CandidateColumn;
using dynamic::Edge;
using dynamic::Label;
using dynamic::LabelSet;
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

// Edges by an independent count: of a vertex, the neighbours of a kind.
struct Counted {
  const dynamic::Graph& graph;
  std::set<std::tuple<Vertex, Vertex, Label>> edges;

  std::uint64_t neighbors(Vertex vertex, const CandidateColumn::Kind& kind) const {
    const dynamic::Target& target = graph.relations().target(kind.target);
    std::uint64_t found = 0;
    const auto count = [&](Vertex other, Label label) {
      found += graph.relations().accepts(target.relation, label) && target.vertices.has(graph.label(other));
    };
    for (const auto& [source, to, label] : edges) {
      const bool out = !graph.directed() || kind.way != Way::kIn,
                 in = !graph.directed() || kind.way != Way::kOut;
      if (source == vertex && out) count(to, label);
      if (to == vertex && in) count(source, label);
    }
    return found;
  }
  bool is_candidate(Vertex vertex, const CandidateColumn& column, std::uint32_t bits) const {
    return column.labels.has(graph.label(vertex)) && std::ranges::all_of(column.items, [&](const auto& item) {
             return neighbors(vertex, item.kind) >= std::min(item.least, bits);
           });
  }
  void check(std::uint32_t bits) const {
    const dynamic::CandidateTable& table = graph.candidates();
    for (Vertex vertex = 0; vertex < graph.vertices(); ++vertex)
      for (std::uint32_t number = 0; number < table.columns().size(); ++number)
        CHECK(table.has(vertex, number / 64, std::uint64_t{1} << number % 64) ==
              is_candidate(vertex, table.columns()[number], bits));
  }
};

std::vector<CandidateColumn> drawn_columns(dynamic::Graph& graph, std::mt19937& draw, std::size_t count) {
  std::vector<CandidateColumn> columns;
  const auto drawn_labels = [&]() -> LabelSet {
    if (draw() % 4 == 0) return {};
    if (draw() % 3 == 0) return {std::vector<Label>{0, 2}};
    return {std::vector<Label>{static_cast<Label>(draw() % 3)}};
  };
  while (columns.size() < count) {
    CandidateColumn column{drawn_labels(), {}};
    for (std::size_t items = 1 + draw() % 3; column.items.size() < items;) {
      const bool either = graph.directed() && draw() % 3 == 0;
      const auto relation = graph.relations().relation({drawn_labels(), either});
      const auto way = either ? Way::kEither : graph.directed() && draw() % 2 == 0 ? Way::kIn : Way::kOut;
      column.items.push_back(
          {{way, graph.relations().target(relation, drawn_labels())}, 1 + std::uint32_t(draw() % 4)});
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

// Classes come to be known and vertices come while edges come and go; more columns than a word has.
void tables_follow_single_changes(bool directed, std::uint32_t bits, unsigned seed) {
  std::mt19937 draw(seed);
  dynamic::Graph graph(directed);
  for (Vertex vertex = 0; vertex < 12; ++vertex) graph.add_vertex(draw() % 3);
  graph.set_candidates(drawn_columns(graph, draw, seed % 2 == 0 ? 5 : 130), bits);
  Counted counted{graph, {}};
  std::vector<std::uint64_t> known(graph.candidates().words().begin(), graph.candidates().words().end());
  for (int round = 0; round < 300; ++round) {
    const Vertex a = draw() % graph.vertices(), b = draw() % 4;
    if (round % 50 == 49) graph.add_vertex(draw() % 3);
    if (a == b) continue;
    const Edge edge = graph.named(a, b, draw() % 3);
    const std::tuple key(edge.source, edge.target, edge.label);
    if (draw() % 5 < 3) {
      CHECK(graph.insert(edge) == counted.edges.insert(key).second);
    } else {
      CHECK(graph.erase(edge) == (counted.edges.erase(key) == 1));
    }
    if (round % 10 == 0) counted.check(bits);
  }
  counted.check(bits);
  // Whose words have changed, whatever came between.
  known.resize(graph.candidates().words().size());
  const std::vector<Vertex> changed = graph.candidates().take_changed();
  const std::uint32_t width = graph.candidates().width();
  CHECK(std::ranges::is_sorted(changed));
  for (std::size_t at = 0; at < known.size(); ++at)
    CHECK(known[at] == graph.candidates().words()[at] ||
          std::ranges::binary_search(changed, static_cast<Vertex>(at / width)));
  CHECK(graph.candidates().take_changed().empty());
}

// New vertices that a call adds may be taken back once they have become candidates.
void removed_vertices_have_not_changed() {
  dynamic::Graph graph(false);
  for (Vertex vertex = 0; vertex < 5; ++vertex) graph.add_vertex(0);
  const auto relation = graph.relations().relation({{}, false});
  graph.set_candidates({{{}, {{{Way::kOut, graph.relations().target(relation, {})}, 1}}}}, 1);
  graph.add_vertex(0);
  CHECK(graph.insert({2, 5, 0}));
  CHECK(graph.erase({2, 5, 0}));
  graph.keep_vertices(5);
  for (const Vertex vertex : graph.candidates().take_changed()) CHECK(vertex < graph.vertices());
  graph.add_vertex(0);
  CHECK(!graph.candidates().has(5, 0, 1));
}

// A table that could not be made is made by the next call, of the same columns too.
void a_table_whose_memory_failed_is_made_again() {
  dynamic::Graph graph(false);
  for (Vertex vertex = 0; vertex < 100; ++vertex) graph.add_vertex(0);
  CHECK(graph.insert({2, 5, 0}));
  const auto relation = graph.relations().relation({{}, false});
  const std::vector<CandidateColumn> columns{
      {{}, {{{Way::kOut, graph.relations().target(relation, {})}, 1}}}};
  for (int count = 1, made = 0; made == 0; ++count) {
    std::vector<CandidateColumn> given = columns;
    left = count;
    try {
      graph.set_candidates(std::move(given), 1);
      ++made;
    } catch (const std::bad_alloc&) {
    }
    left = 0;
    if (made == 1) CHECK(count > 3);
  }
  CHECK(graph.candidates().words().size() == 100);
  CHECK(graph.candidates().has(2, 0, 1) && !graph.candidates().has(3, 0, 1));
}

// An insertion that fails changes nothing, and one that is made does not fail afterwards.
void an_insertion_is_made_as_a_whole_if_memory_fails() {
  for (int count = 1; count < 20; ++count) {
    dynamic::Graph graph(false);
    for (Vertex vertex = 0; vertex < 4; ++vertex) graph.add_vertex(0);
    const auto relation = graph.relations().relation({{}, false});
    graph.set_candidates({{{}, {{{Way::kOut, graph.relations().target(relation, {})}, 1}}}}, 1);
    left = count;
    bool failed = false;
    try {
      graph.insert({0, 1, 0});
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    left = 0;
    CHECK(graph.has({0, 1, 0}) == !failed && graph.edges() == (failed ? 0 : 1));
  }
}

// A star with two leaves of one label, in whose middle the search begins or ends.
std::vector<dynamic::Plan> stars(dynamic::Graph& graph) {
  const LabelSet middle{std::vector<Label>{0}}, leaf{std::vector<Label>{1}};
  const auto relation = graph.relations().relation({{}, false});
  std::vector<dynamic::Plan> plans;
  for (const int level : {0, 1}) {
    dynamic::Plan plan;
    plan.pair = {{graph.directed() ? level == 0 ? Way::kOut : Way::kIn : Way::kEither, relation}};
    plan.first = level == 0 ? middle : leaf;
    plan.second = level == 0 ? leaf : middle;
    plan.steps.resize(3);
    plan.steps[2].sources = {{level, graph.directed() ? Way::kOut : Way::kEither,
                              graph.relations().target(relation, leaf), relation, false}};
    plan.steps[2].anchor = level;
    plan.steps[2].distinct = 0b11;
    plan.images = {{static_cast<std::uint8_t>(level), static_cast<std::uint8_t>(1 - level), 2}};
    plan.injective = true;
    plan.tail.start = 3;
    plan.tail.blocks.emplace_back();
    plans.push_back(std::move(plan));
  }
  return plans;
}

// Runs on several threads, batches, calls that are stopped, updates that are put off.
void tables_follow_a_monitor(bool directed, int threads, bool batch) {
  constexpr std::uint32_t kVertices = 200, kBits = 2;
  dynamic::Monitor monitor(directed, true);
  dynamic::Graph& graph = monitor.graph();
  for (Vertex vertex = 0; vertex < kVertices; ++vertex) graph.add_vertex(vertex % 3);
  monitor.filter_by(dynamic::Filter::kTable, kBits);
  monitor.add_pattern(0, stars(graph), false);
  std::mt19937 draw(static_cast<unsigned>(threads));
  std::size_t stopped = 0;
  for (int call = 0; call < 40; ++call) {
    std::vector<dynamic::Update> updates;
    const bool tires = call % 5 == 4;
    while (updates.size() < (tires ? 9000u : call % 3 == 0 ? 40u : 700u)) {
      const Vertex a = draw() % kVertices, b = draw() % 7 == 0 ? 6 : draw() % kVertices;
      if (a != b) updates.push_back({graph.named(a, b, 0), draw() % 5 < 2});
    }
    dynamic::Found found;
    const dynamic::How how{
        batch, threads, {call % 2 == 0 ? dynamic::AtOnce::kOn : dynamic::AtOnce::kAuto, call % 4 < 2}};
    Always always;
    Tired tired(static_cast<int>(draw() % 4));
    dynamic::Watch& watch = tires ? static_cast<dynamic::Watch&>(tired) : always;
    try {
      monitor.apply(updates, how, found, watch, SIZE_MAX, [] {});
    } catch (const dynamic::Stopped&) {
      ++stopped;
    }
    if (call % 7 == 6) monitor.write_put_off();
    if (call % 11 == 10) {
      monitor.begin();
      graph.add_vertex(0);
      graph.keep_vertices(kVertices);
    }
    Counted counted{graph, {}};
    graph.for_each_edge(
        [&](const Edge& edge) { counted.edges.insert({edge.source, edge.target, edge.label}); });
    const auto& columns = graph.candidates().columns();
    CHECK(columns.size() == 1 && columns[0].items.size() == 1 && columns[0].items[0].least == 2);
    counted.check(kBits);
  }
  CHECK(stopped > 0);
}

}  // namespace

int main() {
  removed_vertices_have_not_changed();
  a_table_whose_memory_failed_is_made_again();
  an_insertion_is_made_as_a_whole_if_memory_fails();
  for (const bool directed : {false, true}) {
    for (const std::uint32_t bits : {1u, 2u, 3u})
      for (const unsigned seed : {1u, 2u, 3u, 4u}) tables_follow_single_changes(directed, bits, seed);
    for (const int threads : {1, 3})
      for (const bool batch : {false, true}) tables_follow_a_monitor(directed, threads, batch);
  }
}
