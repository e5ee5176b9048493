// The net changes of a batch, matched by another engine before they are written.
//
// An edge changes at most once in them, so its lifetime is known without its rows. If the same is true of the
// searches that there are to do, the engine gets the run at once, and rows are written while a device
// searches.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "dynamic/by_vertex.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/sort_by.hpp"
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// Fewer ends are sorted by comparison; more than the other number, in a block, vertex by vertex: the rows of
// hubs are often near each other, and one thread took 30 ms for the first block of a batch of R-MAT 20.
constexpr std::size_t kFew = 256, kMany = 4096;

using RunEnds = std::vector<RunEnd, UnclearedPages<RunEnd>>;

// Sorts ends of a block of vertices by vertex, class and neighbour.
void order(std::span<RunEnd> ends, const Graph& graph, RunEnds& sorted, RunEnds& scratch) {
  if (ends.size() < kFew) {
    std::ranges::sort(ends, {},
                      [](const RunEnd& one) { return std::tuple(one.vertex, one.of, one.neighbor); });
    return;
  }
  sorted.assign(ends.begin(), ends.end());
  const auto classes = static_cast<std::uint32_t>(graph.relations().classes().size());
  sort_by(sorted, scratch, graph.vertices() - 1, [](const RunEnd& one) { return one.neighbor; });
  if (classes > 1)
    sort_by(sorted, scratch, classes - 1, [](const RunEnd& one) { return one.of & ~End::kBack; });
  if (graph.directed()) sort_by(sorted, scratch, 1, [](const RunEnd& one) { return one.of / End::kBack; });
  const auto [least, most] = std::ranges::minmax(ends, {}, &RunEnd::vertex);
  const Vertex first = least.vertex;
  sort_by(sorted, scratch, most.vertex - first, [&](const RunEnd& one) { return one.vertex - first; });
  std::ranges::copy(sorted, ends.begin());
}

// Puts the ends of a block in the order of vertices, and adds those of each vertex to `parts`.
void divide(std::span<RunEnd> ends, RunEnds& sorted, std::vector<std::span<RunEnd>>& parts) {
  const auto [least, most] = std::ranges::minmax(ends, {}, &RunEnd::vertex);
  const Vertex first = least.vertex;
  std::vector<std::size_t> starts(most.vertex - first + std::size_t{2});
  for (const RunEnd& one : ends) ++starts[one.vertex - first + 1];
  for (std::size_t vertex = 1; vertex < starts.size(); ++vertex) starts[vertex] += starts[vertex - 1];
  for (std::size_t vertex = 0; vertex + 1 < starts.size(); ++vertex)
    if (const std::size_t size = starts[vertex + 1] - starts[vertex]; size > 1)
      parts.push_back(ends.subspan(starts[vertex], size));
  sorted.resize(ends.size());
  for (const RunEnd& one : ends) sorted[starts[one.vertex - first]++] = one;
  std::ranges::copy(sorted, ends.begin());
}

}  // namespace

// Matches net changes and writes them; or does nothing and returns false, if rows have to be written first.
bool Monitor::match_before_writing(std::span<const Update> net, int threads, Pass& pass) {
  if (!pass.watch.keep_going()) throw Stopped();
  if (net.empty()) return true;
  const int writers = threads_for(net.size(), threads);
  run_gates_.assign(net.size(), 0);
  add_in_slices(
      net, writers, false, pass, [&] { bulk_.start(1, 1, net.size()); },
      [&](int, const Classified& one) {
        run_gates_[one.number] = one.gate;
        bulk_.foresee(one.number, one.update.inserts);
      });
  if (classes_seen_ != graph_.relations().classes().size()) see_classes();
  if (reads_rows_for_roots()) return false;
  set_workers(1);
  const auto given = std::make_shared<Run>();
  given->one_change = true;
  given->updates = net.size();
  given->threads = writers;
  given->ends = ends_of_net(net, writers, pass.watch);
  bool is_written = false;
  const auto write = [&] {
    if (!std::exchange(is_written, true)) write_net(net, writers, pass);
  };
  if (given->ends.size() > 0) {
    find_roots(net, *given, pass);
    run_matcher_->match(given, pass.watch, write, [&](const RunMatches& matches) {
      take_matches(given->all_roots(), matches, given->threads, pass);
    });
  }
  write();
  gather(0, threads, pass);
  note_bulk();
  return true;
}

// Whether rows tell which updates can have matches of a plan (Matcher::fits).
bool Monitor::reads_rows_for_roots() const {
  const bool classed =
      graph_.rows(Way::kOut).classed() || graph_.rows(Way::kIn).classed() || graph_.candidates().is_used();
  return std::ranges::any_of(plans_, [&](const Plan& plan) {
    const auto asks = [&](std::size_t level) { return plan.needs[level].any(); };
    return plan.pair.size() != 1 || !graph_.relations().one_witness(plan.pair[0].relation) ||
           (classed && (asks(0) || asks(1)));
  });
}

// The lifetimes of the edges that change, in both rows of each.
Unwritten<RunEnd> Monitor::ends_of_net(std::span<const Update> net, int threads, Watch& watch) const {
  const Relations& relations = graph_.relations();
  const bool one_class = relations.classes().size() == 1;
  const auto class_of = [&](const Edge& edge, Vertex vertex) {
    return one_class ? 0 : *relations.known_class(edge.label, graph_.label(vertex));
  };
  const std::uint32_t back = graph_.directed() ? End::kBack : 0;
  ByVertex<RunEnd> ends;
  ends.distribute(2 * net.size(), graph_.vertices(), threads, threads, watch, [&](int slice, auto&& put) {
    const std::size_t end = begin_of_slice(net.size(), slice + 1, threads);
    for (std::size_t number = begin_of_slice(net.size(), slice, threads); number < end; ++number) {
      if (!watched(run_gates_[number])) continue;
      const auto& [edge, inserts] = net[number];
      const auto moment = static_cast<Moment>(number);
      const Moment first = inserts ? moment : 0, last = inserts ? Lifetimes::kForever : moment;
      put(edge.source, RunEnd{edge.source, class_of(edge, edge.target), edge.target, first, last, inserts});
      put(edge.target,
          RunEnd{edge.target, class_of(edge, edge.source) | back, edge.source, first, last, inserts});
    }
  });
  std::vector<std::span<RunEnd>> parts;
  std::mutex adding;
  const auto order_all = [&](std::size_t count, auto&& part_of, bool divides) {
    std::atomic<std::size_t> next{0};
    with_others(threads, watch, [&](int, Watch& guarded) {
      RunEnds sorted, scratch;
      std::vector<std::span<RunEnd>> mine;
      for (std::size_t at; (at = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
        const std::span<RunEnd> part = part_of(at);
        if (divides && part.size() > kMany)
          divide(part, sorted, mine);
        else
          order(part, graph_, sorted, scratch);
        if (!guarded.keep_going()) throw Stopped();
      }
      const std::lock_guard lock(adding);
      parts.insert(parts.end(), mine.begin(), mine.end());
    });
  };
  order_all(ends.blocks(), [&](std::size_t block) { return ends.of_block(block); }, true);
  if (!parts.empty()) {
    const auto divided = std::exchange(parts, {});
    order_all(divided.size(), [&](std::size_t number) { return divided[number]; }, false);
  }
  return ends.take();
}

// Writes net changes into rows; lifetimes are not needed here.
void Monitor::write_net(std::span<const Update> net, int threads, Pass& pass) {
  add_in_slices(
      net, threads, false, pass, [&] { bulk_.start(threads, threads, net.size()); },
      [&](int slice, const Classified& one) {
        bulk_.foresee(one.number, one.update.inserts);
        bulk_.add(slice, one.number, one.update.edge, one.to, one.from, one.update.inserts, false);
      });
  bulk_.admit();
  graph_.advance(1);
  for_each_partition(threads, threads, pass.watch, [&](int partition, Watch& watch) {
    bulk_.forward(partition, [&] { return watch.keep_going(); });
  });
  for_each_partition(threads, threads, pass.watch, [&](int partition, Watch& watch) {
    bulk_.backward(partition, [&] { return watch.keep_going(); });
  });
  bulk_.finish();
}

}  // namespace motiflux::dynamic
