// Rows are what they were at each moment of a run, and threads that match runs find what one thread finds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
#include "dynamic/local_vertices.hpp"
#include "dynamic/monitor.hpp"

namespace {

namespace dynamic = motiflux::dynamic;
using dynamic::Edge;
using dynamic::End;
using dynamic::Found;
using dynamic::Moment;
using dynamic::Vertex;
using dynamic::Way;

struct Always : dynamic::Watch {
  bool keep_going() override { return true; }
};

// A graph with all edges of a run, and their lifetimes. Some edges have several.
struct Run {
  static constexpr std::uint32_t kVertices = 130;
  static constexpr Moment kMoments = 400;

  Run(unsigned seed, int partitions) : graph(false), lifetimes(graph), ends(kVertices) {
    std::mt19937 draw(seed);
    for (Vertex vertex = 0; vertex < kVertices; ++vertex) graph.add_vertex(0);
    target = graph.relations().target(graph.relations().relation({{}, false}), {});
    std::vector<std::vector<End>> parts(static_cast<std::size_t>(partitions));
    for (int count = 0; count < 3'000; ++count) {
      const Vertex a = draw() % kVertices, b = draw() % 4 == 0 ? 5 : draw() % kVertices;
      if (a == b || !graph.insert(graph.named(a, b, 0)) || draw() % 3 == 0) continue;
      const bool there = draw() % 2 == 0;
      for (Moment at = there ? 0 : 1 + draw() % kMoments; at < kMoments; at += 1 + draw() % kMoments) {
        const Moment last = draw() % 3 == 0 ? dynamic::Lifetimes::kForever : at + draw() % 90;
        for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
          ends[from].push_back({from, 0, to, at, last});
          parts[dynamic::owner(from, partitions)].push_back(ends[from].back());
        }
        if (last == dynamic::Lifetimes::kForever) break;
        at = last + 1;
      }
    }
    lifetimes.start(partitions);
    for (int part = 0; part < partitions; ++part) {
      auto& own = parts[static_cast<std::size_t>(part)];
      std::ranges::sort(own, {},
                        [](const End& one) { return std::tuple(one.vertex, one.neighbor, one.first); });
      lifetimes.fill(part, own);
    }
  }

  std::vector<Vertex> row(Vertex vertex, Moment moment) const {
    std::set<Vertex> found;
    for (const Vertex neighbor : graph.rows(Way::kOut).all(vertex)) found.insert(neighbor);
    for (const End& end : ends[vertex]) found.erase(end.neighbor);
    for (const End& end : ends[vertex])
      if (end.has(moment)) found.insert(end.neighbor);
    return {found.begin(), found.end()};
  }

  dynamic::Graph graph;
  dynamic::Lifetimes lifetimes;
  std::vector<std::vector<End>> ends;
  std::uint32_t target = 0;
};

// With room for `most` words of copies.
void rows_are_those_of_the_moment(unsigned seed, int partitions, std::size_t most) {
  const Run run(seed, partitions);
  dynamic::RowsAtMoment rows(run.lifetimes, most);
  std::mt19937 draw(seed);
  std::vector<Vertex> scratch;
  for (int round = 0; round < 3; ++round) {
    rows.start();
    for (Moment moment = 0; moment < Run::kMoments; moment += draw() % 5) {
      const Moment at = draw() % 20 == 0 ? draw() % Run::kMoments : moment;  // mostly ascending
      rows.make_room();
      const dynamic::AtMoment view{run.graph, run.lifetimes, rows, 10, at};
      for (int asked = 0; asked < 4; ++asked) {
        const Vertex vertex = asked == 0 ? 5 : draw() % Run::kVertices;
        const auto found = view.neighbors(vertex, Way::kEither, run.target, scratch);
        CHECK(std::ranges::equal(found, run.row(vertex, at)));
        const std::uint64_t changed = view.changed(vertex, Way::kEither, run.target, scratch);
        if (!run.lifetimes.touches(vertex)) continue;
        CHECK(changed >= 10 && changed <= view.now());
        for (std::uint64_t before = std::max<std::uint64_t>(changed, 11); before < view.now(); ++before)
          CHECK(run.row(vertex, static_cast<Moment>(before - 11)) == run.row(vertex, at));
      }
    }
  }
}

// Marked for several updates with one end.
void marks_are_of_the_moment(unsigned seed, int partitions) {
  const Run run(seed, partitions);
  dynamic::MarkedRows marked(run.lifetimes);
  std::mt19937 draw(seed);
  std::vector<Vertex> all(Run::kVertices);
  std::iota(all.begin(), all.end(), 0);
  const motiflux::sets::Policy policy;
  for (int round = 0; round < 40; ++round) {
    if (round % 8 == 0) marked.start();
    const Vertex vertex = round % 3 == 0 ? 5 : draw() % Run::kVertices;
    marked.keep(vertex, 4);
    for (Moment moment = draw() % 50; moment < Run::kMoments; moment += draw() % 30) {
      const Moment at = draw() % 20 == 0 ? draw() % Run::kMoments : moment;  // mostly ascending
      const dynamic::WithHoles view{run.graph, run.lifetimes, at, &marked};
      const dynamic::MarkedRow* const row = view.marked_row(vertex, Way::kEither, run.target);
      CHECK(row != nullptr);
      const std::vector<Vertex> there = run.row(vertex, at);
      for (const Vertex other : all) CHECK(row->has(other) == std::ranges::binary_search(there, other));
      CHECK(row->count({all.data(), all.data() + all.size()}, policy) == there.size());
      CHECK(view.marked_row((vertex + 1) % Run::kVertices, Way::kEither, run.target) == nullptr);
      std::vector<Vertex> absent;
      view.for_each_absent(vertex, Way::kEither, run.target, [&](Vertex one) { absent.push_back(one); });
      std::vector<Vertex> rest;
      std::ranges::set_difference(run.graph.rows(Way::kOut).all(vertex), there, std::back_inserter(rest));
      CHECK(absent == rest);
    }
  }
}

dynamic::LabelSet only(dynamic::Label label) {
  return {std::vector<dynamic::Label>{label}};
}

// A cycle or a path of `size` vertices, where vertex v has the label v % labels.
struct Ring {
  int size;
  bool closed;

  bool joined(int a, int b) const {
    const int apart = std::abs(a - b);
    return apart == 1 || (closed && apart == size - 1);
  }
};

// The search from the edge of two of its vertices.
dynamic::Plan plan_from(dynamic::Graph& graph, const Ring& ring, dynamic::Label labels, int first,
                        int second) {
  const auto relation = graph.relations().relation({{}, false});
  const auto label = [&](int vertex) { return only(static_cast<dynamic::Label>(vertex) % labels); };
  std::vector<int> order{first, second};
  dynamic::Plan plan;
  plan.pair = {{Way::kEither, relation}};
  plan.first = label(first);
  plan.second = label(second);
  plan.steps.resize(2);
  while (static_cast<int>(order.size()) < ring.size)
    for (int vertex = 0; vertex < ring.size; ++vertex) {
      if (std::ranges::count(order, vertex) > 0) continue;
      dynamic::Step step;
      for (int level = 0; level < static_cast<int>(order.size()); ++level) {
        if (!ring.joined(order[static_cast<std::size_t>(level)], vertex)) continue;
        const auto target = graph.relations().target(relation, label(vertex));
        step.sources.push_back({level, Way::kEither, target, relation, false});
        step.anchor = level;
      }
      if (step.sources.empty()) continue;
      step.distinct = (1u << order.size()) - 1;
      order.push_back(vertex);
      plan.steps.push_back(step);
    }
  plan.images.assign(1, {});
  for (int vertex = 0; vertex < ring.size; ++vertex)
    plan.images[0].push_back(static_cast<std::uint8_t>(std::ranges::find(order, vertex) - order.begin()));
  plan.tail.start = ring.size;
  plan.tail.blocks.emplace_back();
  return plan;
}

std::vector<dynamic::Plan> plans_of(dynamic::Graph& graph, const Ring& ring, dynamic::Label labels) {
  std::vector<dynamic::Plan> plans;
  for (int first = 0; first < ring.size; ++first)
    for (int second = 0; second < ring.size; ++second)
      if (ring.joined(first, second)) plans.push_back(plan_from(graph, ring, labels, first, second));
  return plans;
}

Found matched(int threads, const std::vector<Ring>& rings, dynamic::Label labels, bool batch, bool listed,
              bool sums = false, dynamic::Filter filter = dynamic::Filter::kMask) {
  constexpr std::uint32_t kVertices = 90;
  dynamic::Monitor monitor(false, true);
  for (Vertex vertex = 0; vertex < kVertices; ++vertex) monitor.graph().add_vertex(vertex % (labels + 1));
  monitor.filter_by(filter, 2);
  std::uint32_t number = 0;
  for (const Ring& ring : rings) {
    std::vector<dynamic::Plan> plans = plans_of(monitor.graph(), ring, labels);
    for (dynamic::Plan& plan : plans) {
      plan.symmetries = sums ? 1 : 0;
      plan.always_sums = sums;
      plan.injective = true;
    }
    monitor.add_pattern(number++, std::move(plans), listed);
  }
  std::mt19937 draw(3);
  Found found;
  Always watch;
  for (const std::size_t size : {200u, 1500u, 40u, 600u}) {  // memories meet changes by one and by several
    std::vector<dynamic::Update> updates;
    while (updates.size() < size) {
      const Vertex a = draw() % kVertices, b = draw() % 5 == 0 ? 7 : draw() % kVertices;
      if (a != b) updates.push_back({monitor.graph().named(a, b, 0), draw() % 5 < 3});
    }
    const dynamic::Switches how{size == 40 ? dynamic::AtOnce::kOff : dynamic::AtOnce::kOn, true};
    if (batch)
      monitor.apply_batch(updates, threads, how, found, watch, SIZE_MAX, [] {});
    else
      monitor.apply_sequence(updates, threads, how, found, watch, SIZE_MAX, [] {});
  }
  return found;
}

void check_equal(const Found& one, const Found& other) {
  CHECK(one.patterns.size() == other.patterns.size());
  for (std::size_t number = 0; number < one.patterns.size(); ++number) {
    const auto &a = one.patterns[number], &b = other.patterns[number];
    CHECK(a.positive > 0 && a.negative > 0);
    CHECK(a.positive == b.positive && a.negative == b.negative);
    CHECK(a.runs == b.runs && std::ranges::equal(a.rows.all(), b.rows.all()));
    CHECK(a.changes.size() == b.changes.size());
    for (std::size_t at = 0; at < a.changes.size(); ++at)
      CHECK(a.changes[at].update == b.changes[at].update && a.changes[at].matches == b.changes[at].matches);
  }
}

const std::vector<Ring> kRings{{4, true}, {4, false}, {5, true}, {5, false}};
const std::vector<Ring> kSmall{{3, true}, {3, false}};  // whose rows may be marked

void threads_find_what_one_finds(const std::vector<Ring>& rings, dynamic::Label labels, bool batch,
                                 bool listed) {
  const Found alone = matched(1, rings, labels, batch, listed);
  for (const int threads : {2, 4}) check_equal(alone, matched(threads, rings, labels, batch, listed));
}

void filters_lose_no_match(dynamic::Label labels, bool batch, bool listed) {
  const Found masked = matched(1, kRings, labels, batch, listed);
  for (const auto filter : {dynamic::Filter::kTable, dynamic::Filter::kNone})
    for (const int threads : {1, 3})
      check_equal(masked, matched(threads, kRings, labels, batch, listed, false, filter));
}

void sums_are_what_searches_find(dynamic::Label labels, bool batch) {
  std::vector<Ring> rings = kRings;
  rings.push_back({3, true});
  const Found searched = matched(1, rings, labels, batch, false);
  for (const int threads : {1, 3}) check_equal(searched, matched(threads, rings, labels, batch, false, true));
}

// Merged rows are ascending; a table has the numbers that were added, and counts.
void tables_hold_what_was_added(unsigned seed) {
  std::mt19937 draw(seed);
  dynamic::LocalVertices local, scratch;
  std::map<Vertex, std::uint64_t> flags;
  std::map<Vertex, std::uint32_t> counts;
  std::vector<std::vector<Vertex>> rows;
  for (int row = 0; row < 5; ++row) {
    std::set<Vertex> members;
    for (std::size_t size = draw() % 300; members.size() < size;) members.insert(draw() % 500 * 64);
    rows.emplace_back(members.begin(), members.end());
    const motiflux::sets::Span span{rows.back().data(), rows.back().data() + rows.back().size()};
    local.merge(span, std::uint64_t{1} << row, scratch);
    for (const Vertex vertex : members) {
      flags[vertex] |= std::uint64_t{1} << row;
      ++counts[vertex];
    }
  }
  CHECK(local.size() == flags.size());
  std::size_t at = 0;
  for (const auto& [vertex, flag] : flags) {
    CHECK(local.vertices[at] == vertex && local.flags[at] == flag);
    ++at;
  }
  dynamic::VertexTable positions, counted;
  for (int round = 0; round < 2; ++round) {
    positions.start(local.size());
    for (std::uint32_t place = 0; place < local.size(); ++place)
      if (place % 2 == 0) positions.add(local.vertices[place], place);
    std::vector<std::uint32_t> found(local.size());
    const motiflux::sets::Span all{local.vertices.data(), local.vertices.data() + local.size()};
    CHECK(positions.find(all, found.data()) == (local.size() + 1) / 2);
    for (std::size_t number = 0; 2 * number < local.size(); ++number) CHECK(found[number] == 2 * number);
    counted.start(5 * 300);
    std::uint64_t sum = 0;
    for (const auto& row : rows) {
      counted.count({row.data(), row.data() + row.size()});
      sum += row.size();
    }
    CHECK(counted.sum(all) == sum);
    for (const auto& [vertex, count] : counts) CHECK(counted.sum({&vertex, &vertex + 1}) == count);
    const Vertex absent = 7;
    CHECK(counted.sum({&absent, &absent + 1}) == 0);
  }
}

}  // namespace

int main() {
  for (const int partitions : {1, 3})
    for (const std::size_t most : {std::size_t{0}, std::size_t{300}, std::size_t{1} << 16})
      rows_are_those_of_the_moment(static_cast<unsigned>(most) + 1, partitions, most);
  for (const int partitions : {1, 3})
    for (const unsigned seed : {1u, 2u}) marks_are_of_the_moment(seed, partitions);
  for (const dynamic::Label labels : {1u, 3u})
    for (const bool batch : {false, true})
      for (const bool listed : {false, true})
        if (!listed || labels > 1) threads_find_what_one_finds(kRings, labels, batch, listed);
  for (const dynamic::Label labels : {1u, 2u, 3u})
    for (const bool batch : {false, true})
      for (const bool listed : {false, true}) threads_find_what_one_finds(kSmall, labels, batch, listed);
  for (const bool batch : {false, true})
    for (const bool listed : {false, true}) filters_lose_no_match(3, batch, listed);
  for (const dynamic::Label labels : {1u, 2u, 3u})
    for (const bool batch : {false, true}) sums_are_what_searches_find(labels, batch);
  for (const unsigned seed : {1u, 2u, 3u}) tables_hold_what_was_added(seed);
}
