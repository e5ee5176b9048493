// The net changes of a batch, matched by another engine before they are written.
//
// An edge changes at most once in them, so its lifetime is known without its rows. If the same is true of the
// searches that there are to do, but for the classes that rows have and those that the run brings, the engine
// gets the run at once. Rows are written by other threads, while a device searches and, if this takes longer,
// after the matches were returned.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "dynamic/by_vertex.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// Ends whose rows a thread writes at a time: of a few thousand, most of the work is in the rows of hubs.
constexpr std::size_t kTaken = 256;

// The rows of fewer changes are written by the calling thread, which takes less time than to start another.
constexpr std::size_t kFew = 4096;

// Of ends that are fewer than the vertices between the first and the last one by this factor, vertices are
// not counted.
constexpr std::size_t kSparse = 8;

// In Entry::of, of a row of incoming edges.
constexpr std::uint32_t kBack = Entry::kWatched;

RunEnd end_of(const Entry& one) {
  const std::uint32_t of = one.to() | ((one.of & kBack) != 0 ? End::kBack : 0);
  const bool comes = one.comes();
  return {one.row, of, one.neighbor, comes ? one.number : 0, comes ? Lifetimes::kForever : one.number, comes};
}

// Puts the ends of a vertex in the order of classes and neighbours. Those of edges that vanish are in this
// order mostly, and so are those of edges that appear, which follow.
void order(std::span<RunEnd> ends) {
  const auto less = [](const RunEnd& a, const RunEnd& b) {
    return std::tie(a.of, a.neighbor) < std::tie(b.of, b.neighbor);
  };
  const auto middle = std::is_sorted_until(ends.begin(), ends.end(), less);
  if (middle == ends.end()) return;
  if (std::is_sorted(middle, ends.end(), less))
    std::inplace_merge(ends.begin(), middle, ends.end(), less);
  else
    std::sort(ends.begin(), ends.end(), less);
}

// Writes the ends of some vertices, by vertex, class and neighbour.
void write_ends(Entries& items, RunEnd* ends, std::vector<std::size_t>& starts) {
  if (items.empty()) return;
  const auto [least, most] = std::ranges::minmax(items, {}, &Entry::row);
  const Vertex first = least.row;
  const std::size_t vertices = most.row - first + std::size_t{1};
  if (vertices / kSparse > items.size()) {
    std::ranges::stable_sort(items, {}, &Entry::row);
    std::ranges::transform(items, ends, end_of);
  } else {
    starts.assign(vertices + 1, 0);
    for (const Entry& one : items) ++starts[one.row - first + 1];
    for (std::size_t vertex = 1; vertex <= vertices; ++vertex) starts[vertex] += starts[vertex - 1];
    for (const Entry& one : items) ends[starts[one.row - first]++] = end_of(one);
  }
  for (std::size_t begin = 0, end; begin < items.size(); begin = end) {
    for (end = begin + 1; end < items.size() && ends[end].vertex == ends[begin].vertex;) ++end;
    order({ends + begin, end - begin});
  }
}

// Holds a flag while an engine matches.
class Matching {
 public:
  explicit Matching(bool& flag) : flag_(flag) { flag_ = true; }
  Matching(const Matching&) = delete;
  Matching& operator=(const Matching&) = delete;
  ~Matching() { flag_ = false; }

 private:
  bool& flag_;
};

// The number of edges that vanish, which come first.
std::size_t vanishing(std::span<const Update> net) {
  return static_cast<std::size_t>(
      std::ranges::partition_point(net, [](const Update& one) { return !one.inserts; }) - net.begin());
}

}  // namespace

// Writes down what an engine gets of a batch; or does nothing, if rows have to be written first.
void Monitor::prepare_run(PreparedBatch& batch, int threads, Pass& pass) {
  if (!pass.watch.keep_going()) throw Stopped();
  const std::span<const Update> changes = batch.net.all();
  const int writers = threads_for(changes.size(), threads);
  const Gates gates = changes.empty() ? Gates{true, 0} : find_gates(changes, writers, pass);
  if (!changes.empty() && (graph_.candidates().is_used() || reads_rows_for_roots())) return;
  batch.is_run = true;
  batch.run = std::make_shared<Run>();
  batch.all = std::make_shared<Unwritten<RunEnd>>(0);
  if (changes.empty()) return;
  bulk_.admit(gates.most);  // so that rows tell their classes, and have room for these
  Run& given = *batch.run;
  given.one_change = true;
  given.updates = changes.size();
  given.threads = writers;
  given.ends = ends_of_net(changes, writers, true, pass.watch);
  if (given.ends.size() > 0) find_net_roots(changes, given, pass);
  if (!gates.all_watched) *batch.all = ends_of_net(changes, writers, false, pass.watch);
}

// Matches the net changes of a batch, which it takes over, and writes them; there is an engine.
void Monitor::match_before_writing(PreparedBatch& batch, int threads, Pass& pass) {
  if (!pass.watch.keep_going()) throw Stopped();
  if (batch.net.empty()) return;
  set_workers(1, pass);
  const std::shared_ptr<const Run> given = batch.run;
  const std::shared_ptr<const Unwritten<RunEnd>> all = batch.all;
  const std::span<const Update> changes = batch.net.all();
  const int writers = given->threads;
  const std::size_t vanish = vanishing(changes), more = changes.size() - 2 * vanish;
  const bool few = changes.size() < kFew;
  log_.written = std::move(batch.net);  // to be taken back, if the call fails
  bulk_.start(writers);
  has_begun_writing_ = false;
  const auto write = [&] {
    if (std::exchange(has_begun_writing_, true)) return;
    const auto work = [this, given, all, writers, more](Watch& watch) {
      write_net(all->size() > 0 ? std::span<const RunEnd>(all->data(), all->size()) : given->all_ends(), more,
                writers, watch);
    };
    if (few)
      work(pass.watch);
    else
      writing_.start(work);
  };
  if (given->ends.size() > 0) {
    const Matching matching(matches_net_);
    const std::shared_ptr<RunMatcher> matcher = run_matcher_;
    matcher->match(given, pass.watch, write,
                   [&](const RunMatches& matches) { take_matches(*given, matches, pass); });
  }
  write();
  gather(0, changes, threads, pass);
  writing_.check();
}

// Finds the gate of each change.
Monitor::Gates Monitor::find_gates(std::span<const Update> net, int threads, Pass& pass) {
  run_gates_.resize(net.size());
  std::atomic<bool> all{true};
  std::vector<Class> most;  // by slice
  add_in_slices(
      net, threads, false, pass,
      [&] {
        most.assign(static_cast<std::size_t>(threads), 0);
        all = true;
      },
      [&](int slice, const Classified& one) {
        run_gates_[one.number] = one.gate;
        Class& greatest = most[static_cast<std::size_t>(slice)];
        if (one.update.inserts) greatest = std::max({greatest, one.to, one.from});
        if (!watched(one.gate)) all.store(false, std::memory_order_relaxed);
      });
  if (classes_seen_ != graph_.relations().classes().size()) see_classes();
  return {all.load(), *std::ranges::max_element(most)};
}

// Whether rows tell which updates can have matches of a plan: other edges may witness the same
// (Matcher::fits).
bool Monitor::reads_rows_for_roots() const {
  return std::ranges::any_of(plans_, [&](const Plan& plan) {
    return plan.pair.size() != 1 || !graph_.relations().one_witness(plan.pair[0].relation);
  });
}

// Whether a vertex has neighbours of the classes that it needs, by edges from before the run or of the run.
// `ends`: of all edges of the run that concern a plan. Those of a class that the vertex had no neighbours of
// are insertions.
bool Monitor::serves_in_run(Vertex vertex, const Needs& needs, std::span<const RunEnd> ends) const {
  std::uint64_t out = needs.out & ~graph_.rows(Way::kOut).present(vertex);
  std::uint64_t in = needs.in & ~graph_.rows(Way::kIn).present(vertex);
  if ((out | in) == 0) return true;
  const auto own = std::ranges::equal_range(ends, vertex, {}, &RunEnd::vertex);
  for (auto at = own.begin(); at != own.end();
       at = std::ranges::upper_bound(at, own.end(), at->of, {}, &RunEnd::of)) {
    const bool back = (at->of & End::kBack) != 0;
    const std::uint64_t bit = Rows::bit(at->of & ~End::kBack);
    if (!back) out &= ~bit;
    if (back || !graph_.directed()) in &= ~bit;
    if ((out | in) == 0) return true;
  }
  return false;
}

// Whether a plan may have matches with the edge, if no other edge between its ends may witness the same.
bool Monitor::may_match(const Plan& plan, const Edge& edge, std::span<const RunEnd> ends) const {
  const auto allows = [&](std::size_t level, Vertex vertex) {
    const int list = plan.steps[level].allowed;
    return list == kNone || std::ranges::binary_search(allowed_[static_cast<std::size_t>(list)], vertex);
  };
  return allows(0, edge.source) && allows(1, edge.target) &&
         serves_in_run(edge.source, plan.needs[0], ends) && serves_in_run(edge.target, plan.needs[1], ends);
}

// Writes the roots of all changes: the threads count those of their slices first.
void Monitor::find_net_roots(std::span<const Update> net, Run& given, Pass& pass) const {
  const auto for_each_root = [&](int slice, auto&& visit) {
    const std::size_t end = begin_of_slice(net.size(), slice + 1, given.threads);
    for (std::size_t number = begin_of_slice(net.size(), slice, given.threads); number < end; ++number) {
      if (!watched(run_gates_[number])) continue;
      const Edge& edge = net[number].edge;
      for (const std::uint32_t plan : gated_[run_gates_[number]].plans)
        if (may_match(plans_[plan], edge, given.all_ends())) visit(plan, edge, number);
    }
  };
  std::vector<std::size_t> before(static_cast<std::size_t>(given.threads) + 1);
  for_each_partition(given.threads, given.threads, pass.watch, [&](int slice, Watch&) {
    std::size_t count = 0;
    for_each_root(slice, [&](std::uint32_t, const Edge&, std::size_t) { ++count; });
    before[static_cast<std::size_t>(slice) + 1] = count;
  });
  for (std::size_t slice = 1; slice < before.size(); ++slice) before[slice] += before[slice - 1];
  given.roots = Unwritten<Root>(before.back());
  given.positive = Unwritten<std::uint8_t>(before.back());
  for_each_partition(given.threads, given.threads, pass.watch, [&](int slice, Watch&) {
    std::size_t at = before[static_cast<std::size_t>(slice)];
    for_each_root(slice, [&](std::uint32_t plan, const Edge& edge, std::size_t number) {
      given.roots.data()[at] = {plan, edge.source, edge.target, static_cast<Moment>(number)};
      given.positive.data()[at++] = net[number].inserts;
    });
  });
}

// The lifetimes of the edges that change, of all or of those that concern a plan, in both rows of each.
Unwritten<RunEnd> Monitor::ends_of_net(std::span<const Update> net, int threads, bool only_watched,
                                       Watch& watch) const {
  const Relations& relations = graph_.relations();
  const bool one_class = relations.classes().size() == 1;
  const std::uint32_t back = graph_.directed() ? kBack : 0;
  // visit(vertex, end) for either end; end() makes it.
  const auto for_each_end = [&](int slice, auto&& visit) {
    const std::size_t last = begin_of_slice(net.size(), slice + 1, threads);
    for (std::size_t number = begin_of_slice(net.size(), slice, threads); number < last; ++number) {
      if (only_watched && !watched(run_gates_[number])) continue;
      const auto& [edge, inserts] = net[number];
      const auto end = [&](Vertex vertex, Vertex other, std::uint32_t way) {
        const Class of = one_class ? 0 : *relations.known_class(edge.label, graph_.label(other));
        return Entry{vertex, other, of | way | (inserts ? Entry::kComes : 0), static_cast<Moment>(number)};
      };
      visit(edge.source, [&] { return end(edge.source, edge.target, 0); });
      visit(edge.target, [&] { return end(edge.target, edge.source, back); });
    }
  };
  ByVertex<Entry> items;
  items.start(2 * net.size(), graph_.vertices(), threads);
  for_each_partition(threads, threads, watch, [&](int slice, Watch&) {
    for_each_end(slice, [&](Vertex vertex, auto&&) { items.count(slice, vertex); });
  });
  items.place();
  for_each_partition(threads, threads, watch, [&](int slice, Watch&) {
    for_each_end(slice, [&](Vertex vertex, auto&& end) { items.put(slice, vertex, end()); });
  });
  Unwritten<RunEnd> ends(items.size());
  const auto pieces = items.pieces();
  std::atomic<std::size_t> next{0};
  with_others(threads, watch, [&](int, Watch& guarded) {
    std::vector<std::size_t> starts;
    Entries own;
    for (std::size_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < pieces.size();) {
      const std::size_t first = items.take(pieces[number], own);
      write_ends(own, ends.data() + first, starts);
      if (!guarded.keep_going()) throw Stopped();
    }
  });
  return ends;
}

// Writes net changes into rows, each of which is written once; the graph then has `more` more edges, modulo
// 2^64.
void Monitor::write_net(std::span<const RunEnd> ends, std::uint64_t more, int threads, Watch& watch) {
  graph_.advance(1);
  const auto first_of = [&](std::size_t part) {
    std::size_t first = std::min(part * kTaken, ends.size());
    while (first > 0 && first < ends.size() && ends[first].vertex == ends[first - 1].vertex) ++first;
    return first;
  };
  const bool in_order = graph_.relations().classes().size() <= Rows::kRuns;
  std::atomic<std::size_t> next{0};
  with_others(threads, watch, [&](int thread, Watch& guarded) {
    std::array<Entries, 2> entries;  // of outgoing edges, or all; of incoming ones
    Entries scratch;
    for (std::size_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) * kTaken < ends.size();) {
      for (Entries& some : entries) some.clear();
      const std::size_t last = first_of(part + 1);
      for (std::size_t at = first_of(part); at < last; ++at) {
        const auto& [vertex, of, neighbor, begins, goes, fresh] = ends[at];
        const std::uint32_t comes = fresh != 0 ? Entry::kComes : 0;
        entries[of / End::kBack].push_back({vertex, neighbor, (of & ~End::kBack) | comes, 0});
      }
      for (const Way way : {Way::kOut, Way::kIn}) {
        Entries& some = entries[way == Way::kIn ? 1 : 0];
        if (!in_order) sort_entries(graph_, some, scratch, false);
        bulk_.write(thread, way, some, [&] { return guarded.keep_going(); });
      }
    }
  });
  bulk_.finish();
  graph_.count_edges(graph_.edges() + more);
}

}  // namespace motiflux::dynamic
