// Updates of a graph whose rows are lent, where memory fails at any allocation: all are made, or none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "check.hpp"
#include "dynamic/bulk.hpp"
#include "dynamic/graph.hpp"

namespace {

// The so-many-th allocation from now on fails; with 0, none.
int left = 0;

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

using namespace motiflux;
using dynamic::Arcs;
using dynamic::Arena;
using dynamic::Bulk;
using dynamic::Edge;
using dynamic::Graph;
using dynamic::Vertex;

// All vertices are neighbours; each row takes a block of its own, so that each moves by an allocation.
constexpr Vertex kHubs = 4, kVertices = 20'000;

// Vertices have one label, or several: their rows are sorted by class then.
struct Lender {
  explicit Lender(dynamic::Label labels) {
    for (Vertex vertex = 0; vertex < kVertices; ++vertex) vertex_labels.push_back(vertex % labels);
    for (Vertex vertex = 0; vertex < kVertices; ++vertex) {
      const bool is_hub = vertex < kHubs;
      for (Vertex other = is_hub ? kHubs : 0; other < (is_hub ? kVertices : kHubs); ++other)
        neighbors.push_back(other);
      offsets.push_back(neighbors.size());
    }
    ordered = dynamic::class_order(vertex_labels, {offsets, neighbors, {}}, {}, {});
  }
  void lend(Graph& graph) const {
    const Arcs arcs{offsets, neighbors, {}};
    const auto arena_of = [](const std::vector<std::uint32_t>& words) {
      return std::make_shared<const Arena>(words.data(), sizeof(std::uint32_t) * words.size());
    };
    if (ordered.classes.size() == 2) return graph.load_lent(arcs, {}, {}, {arena_of(neighbors), nullptr}, {});
    const dynamic::LentRows lent{ordered.rows[0], arena_of(ordered.rows[0])};
    CHECK(graph.load_in_class_order(vertex_labels, arcs, {}, {}, ordered.classes, {lent, {}}, {}).empty());
  }

  std::vector<std::uint64_t> offsets{0};
  std::vector<Vertex> neighbors;
  std::vector<dynamic::Label> vertex_labels;
  dynamic::ClassOrder ordered;
};

// One edge of each hub.
std::vector<Edge> deleted() {
  std::vector<Edge> edges;
  for (Vertex hub = 0; hub < kHubs; ++hub) edges.push_back({hub, kVertices - 1 - hub, 0});
  return edges;
}

bool is_whole(const Graph& graph, bool with_deleted) {
  std::uint64_t entries = 0;
  for (Vertex vertex = 0; vertex < kVertices; ++vertex)
    entries += graph.rows(dynamic::Way::kOut).degree(vertex);
  for (const Edge& edge : deleted())
    if (graph.has(edge) != with_deleted || graph.has({edge.target, edge.source, 0}) != with_deleted)
      return false;
  const std::uint64_t edges = std::uint64_t{kHubs} * (kVertices - kHubs) - (with_deleted ? 0 : kHubs);
  return graph.edges() == edges && entries == 2 * edges;
}

// A run whose deleted edges were seen until its end.
void a_run_is_taken_back_as_a_whole(const Lender& lender) {
  for (int count = 1, made = 0; made == 0; ++count) {
    Graph graph(false);
    lender.lend(graph);
    const std::uint64_t edges = graph.edges();
    Bulk bulk(graph, false);
    const std::vector<Edge> gone = deleted();
    bulk.start(1, 1, gone.size());
    const auto class_of = [&](Vertex vertex) {
      return *graph.relations().known_class(0, lender.vertex_labels[vertex]);
    };
    for (std::uint32_t number = 0; number < gone.size(); ++number) {
      const Edge& edge = gone[number];
      bulk.add(0, number, edge, class_of(edge.target), class_of(edge.source), false, true);
    }
    bulk.admit();
    const auto goes_on = [] { return true; };
    bulk.forward(0, goes_on);
    bulk.backward(0, goes_on);
    left = count;
    try {
      bulk.take_gone(0);
      left = 0;
      ++made;
      bulk.finish();
      CHECK(is_whole(graph, false));
      CHECK(count > static_cast<int>(kHubs));
    } catch (const std::bad_alloc&) {
      left = 0;
    }
    bulk.take_back();
    graph.count_edges(edges);
    CHECK(is_whole(graph, true));
  }
}

// A deletion alone changes the rows of both ends, or neither.
void a_deletion_is_made_as_a_whole(const Lender& lender) {
  const Edge edge = deleted()[0];
  for (int count = 1, made = 0; made == 0; ++count) {
    Graph graph(false);
    lender.lend(graph);
    const std::uint64_t edges = graph.edges();
    left = count;
    try {
      made += graph.erase(edge);
    } catch (const std::bad_alloc&) {
    }
    left = 0;
    CHECK(graph.has(edge) == (made == 0) && graph.has({edge.target, edge.source, 0}) == (made == 0));
    CHECK(graph.edges() == edges - static_cast<std::uint64_t>(made));
  }
}

// Rows that are taken over are moved as a whole, or stay where they are.
void rows_are_taken_over_as_a_whole(const Lender& lender) {
  for (int count = 1, made = 0; made == 0; ++count) {
    Graph graph(false);
    lender.lend(graph);
    left = count;
    try {
      graph.take_over_lent_rows({});
      left = 0;
      ++made;
      CHECK(count > static_cast<int>(kHubs));
    } catch (const std::bad_alloc&) {
      left = 0;
    }
    CHECK(graph.has_lent_rows() == (made == 0));
    CHECK(is_whole(graph, true));
    CHECK(graph.erase(deleted()[0]) && graph.insert(deleted()[0]));
    CHECK(is_whole(graph, true));
  }
}

}  // namespace

int main() {
  for (const dynamic::Label labels : {1u, 5u, 100u}) {
    const Lender lender(labels);
    a_run_is_taken_back_as_a_whole(lender);
    a_deletion_is_made_as_a_whole(lender);
    rows_are_taken_over_as_a_whole(lender);
  }
}
