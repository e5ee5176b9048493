// Probes look at every update, race plans and have them replaced: what is found is the same as without them.
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "check.hpp"
#include "dynamic/monitor.hpp"

namespace {

namespace dynamic = motiflux::dynamic;
using dynamic::Found;
using dynamic::Vertex;
using dynamic::Way;

struct Always : dynamic::Watch {
  bool keep_going() override { return true; }
};

constexpr std::uint32_t kVertices = 60;

// Cliques of four vertices with a neighbour of the one at level 2, each as often as it has orders that begin
// with the edge. `late`: the neighbour is matched last, else before the last vertex of the clique.
dynamic::Plan tailed_cliques(dynamic::Graph& graph, bool late) {
  const auto relation = graph.relations().relation({{}, false});
  const auto target = graph.relations().target(relation, {});
  const auto from = [&](int level) { return dynamic::Source{level, Way::kEither, target, relation, false}; };
  dynamic::Plan plan;
  plan.pair = {{Way::kEither, relation}};
  plan.steps.resize(5);
  const int clique = late ? 3 : 4, tail = late ? 4 : 3;
  plan.steps[2].sources = {from(0), from(1)};
  plan.steps[2].anchor = 1;
  plan.steps[static_cast<std::size_t>(clique)].sources = {from(0), from(1), from(2)};
  plan.steps[static_cast<std::size_t>(clique)].anchor = 2;
  plan.steps[static_cast<std::size_t>(tail)].sources = {from(2)};
  plan.steps[static_cast<std::size_t>(tail)].anchor = 2;
  for (std::uint32_t level = 2; level < 5; ++level)
    plan.steps[level].distinct = (std::uint32_t{1} << level) - 1;
  plan.tail.start = 5;
  plan.tail.blocks.emplace_back();
  plan.images = {{0, 1, 2, static_cast<std::uint8_t>(clique), static_cast<std::uint8_t>(tail)}};
  return plan;
}

struct Result {
  Found found;
  int replaced = 0;
};

Result matched(bool probes, bool listed, int threads, bool batch) {
  dynamic::Monitor monitor(false, true);
  for (Vertex vertex = 0; vertex < kVertices; ++vertex) monitor.graph().add_vertex(0);
  monitor.probe().enable(probes, dynamic::Probe::eager());
  bool late = true;
  monitor.add_pattern(0, {tailed_cliques(monitor.graph(), late)}, listed);
  Result result;
  Always watch;
  std::mt19937 draw(5);
  for (int call = 0; call < 30; ++call) {
    monitor.begin();
    dynamic::Probe& probe = monitor.probe();
    for (const dynamic::Probe::Better& better : probe.take_better()) {
      CHECK(better.place == (dynamic::Probe::Place{0, 0}) && better.alternative == 0);
      late = !late;
      monitor.replace_plans(0, {tailed_cliques(monitor.graph(), late)}, true);
      ++result.replaced;
    }
    for (const dynamic::Probe::Place& place : probe.take_wanted())
      monitor.race(place, {{tailed_cliques(monitor.graph(), !late)}});
    std::vector<dynamic::Update> updates;
    while (updates.size() < 60) {
      const Vertex a = draw() % kVertices, b = draw() % kVertices;
      // New classes come from time to time.
      const auto label = static_cast<dynamic::Label>(draw() % (1 + static_cast<unsigned>(call) / 8));
      if (a != b) updates.push_back({monitor.graph().named(a, b, label), draw() % 5 < 3});
    }
    const dynamic::How how{batch, threads, {threads > 1 ? dynamic::AtOnce::kOn : dynamic::AtOnce::kOff}};
    monitor.apply(updates, how, result.found, watch, SIZE_MAX, [] {});
    if (call % 7 == 6) {  // what was probed is undone
      monitor.begin();
      Found undone;
      monitor.apply(updates, how, undone, watch, SIZE_MAX, [] {});
      monitor.take_back();
    }
  }
  return result;
}

void probes_change_nothing_that_is_found(bool listed, int threads, bool batch) {
  const Result with = matched(true, listed, threads, batch), without = matched(false, listed, 1, batch);
  CHECK(with.replaced > 3 && without.replaced == 0);
  const auto &a = with.found.patterns[0], &b = without.found.patterns[0];
  CHECK(a.positive > 0 && a.negative > 0);
  CHECK(a.positive == b.positive && a.negative == b.negative);
  CHECK(a.rows.size() == b.rows.size() && a.changes.size() == b.changes.size());
}

}  // namespace

int main() {
  for (const bool listed : {false, true})
    for (const int threads : {1, 3})
      for (const bool batch : {false, true}) probes_change_nothing_that_is_found(listed, threads, batch);
}
