// Batches: the multithreaded sequence of the net changes. Another engine may have them before they are
// written (dynamic/net_run.cpp).
#include <algorithm>
#include <functional>
#include <utility>

#include "dynamic/monitor.hpp"
#include "dynamic/net_changes.hpp"
#include "dynamic/sort_by.hpp"
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// Fewer changes are sorted by comparison, or found by one thread.
constexpr std::size_t kFew = 1024;

// Updates between checks for a stop.
constexpr std::size_t kLook = 4096;

// Makes some edges live from before the first update until after the last one.
void enclose(Column<Update>& updates, const std::vector<Edge>& edges) {
  if (edges.empty()) return;
  Column<Update> all;
  for (const Edge& edge : edges) all.push_back({edge, true});
  all.append(updates.all());
  for (const Edge& edge : edges) all.push_back({edge, false});
  updates = std::move(all);
}

}  // namespace

std::vector<Edge> Monitor::between(Vertex a, Vertex b) const {
  std::vector<Edge> found;
  const auto add = [&](Vertex from, Vertex to) {
    for (Class of : graph_.relations().classes_to(graph_.label(to))) {
      const Edge edge = graph_.named(from, to, graph_.relations().classes()[of].edge);
      if (graph_.has(edge)) found.push_back(edge);
    }
  };
  add(std::min(a, b), std::max(a, b));
  if (graph_.directed()) add(std::max(a, b), std::min(a, b));
  return found;
}

// Whether an edge may vanish while another one between the same vertices appears. `net`: first all deletions.
bool Monitor::may_replace(std::span<const Update> net) const {
  if (net.empty() || net.front().inserts || !net.back().inserts) return false;
  const Label label = net.front().edge.label;
  return graph_.directed() ||
         std::ranges::any_of(net, [&](const Update& one) { return one.edge.label != label; });
}

// If a query edge has a witness before and after the batch but none throughout, its matches must not change:
// an edge that only its relation accepts is inserted while the others change.
std::vector<Edge> Monitor::stand_ins(std::span<const Update> net) const {
  if (!may_replace(net)) return {};
  struct Change {
    Vertex low, high;
    const Update* net;
  };
  std::vector<Change> changes, scratch;
  changes.reserve(net.size());
  for (const Update& one : net) {
    const auto [low, high] = std::minmax(one.edge.source, one.edge.target);
    changes.push_back({low, high, &one});
  }
  if (changes.size() < kFew) {
    std::ranges::sort(changes, {}, [](const Change& one) { return std::pair(one.low, one.high); });
  } else {
    sort_by(changes, scratch, graph_.vertices() - 1, [](const Change& one) { return one.high; });
    sort_by(changes, scratch, graph_.vertices() - 1, [](const Change& one) { return one.low; });
  }
  std::vector<Edge> needed;
  const auto& relations = graph_.relations().all();
  for (std::size_t first = 0, last; first < changes.size(); first = last) {
    last = first + 1;
    const auto [low, high, unused] = changes[first];
    while (last < changes.size() && changes[last].low == low && changes[last].high == high) ++last;
    if (last - first < 2) continue;
    std::vector<Edge> kept = between(low, high), lost, gained;
    for (std::size_t at = first; at < last; ++at) {
      const auto& [edge, inserts] = *changes[at].net;
      (inserts ? gained : lost).push_back(edge);
      std::erase(kept, edge);
    }
    for (std::uint32_t number = 0; number < relations.size(); ++number) {
      const bool directions = graph_.directed() && !relations[number].either;
      for (const bool forward : {true, false}) {
        if (!forward && !directions) continue;
        const Vertex from = forward ? low : high;
        const auto serves = [&](const Edge& edge) {
          return graph_.relations().accepts(number, edge.label) && (!directions || edge.source == from);
        };
        const auto any = [&](const std::vector<Edge>& edges) {
          return std::any_of(edges.begin(), edges.end(), serves);
        };
        if (any(lost) && any(gained) && !any(kept))
          needed.push_back(graph_.named(from, forward ? high : low, kStandIn + number));
      }
    }
  }
  return needed;
}

// The edges that vanish, then those that appear, each by source; numbers of copies are set already. Updates
// that no plan can match are put off.
Column<Update> Monitor::net_changes(std::span<const Update> updates, int threads, bool put_off, Pass& pass) {
  NetChanges net(graph_, count_copies_);
  const int workers = threads_for(updates.size(), threads);
  add_in_slices(
      updates, workers, put_off, pass, [&] { net.start(updates.size(), workers); },
      [&](int slice, const Classified& one) {
        net.add(slice, one.number, one.update.edge, one.to, one.update.inserts);
      });
  // Other threads may have done all, so that this one has not looked.
  if (!pass.watch.keep_going()) throw Stopped();
  net.find(workers, pass.watch);
  if (!pass.watch.keep_going()) throw Stopped();
  pass.found.noops += net.noops();
  std::size_t looked = 0;
  net.for_each_copies([&](const Edge& edge, std::uint64_t more) {
    if (++looked % kLook == 0 && !pass.watch.keep_going()) throw Stopped();
    set_more_copies(edge, more);
  });
  return net.changes(workers, pass.watch);
}

Monitor::Pass Monitor::pass_of_batch(Found& found, Watch& watch, int threads, std::size_t most,
                                     const std::function<void()>& full) {
  found.patterns.resize(listed_.size());
  return {found,   watch, {allowed_, watch, memory_, naming_.sets()},    most, full,
          threads, true,  std::ranges::none_of(listed_, std::identity())};
}

void Monitor::apply_batch(std::span<const Update> updates, int threads, Switches switches, Found& found,
                          Watch& watch, std::size_t most, const std::function<void()>& full) {
  const How how{true, threads, switches, {}};
  Pass pass = pass_of_batch(found, watch, threads, most, full);
  all_or_none([&] {
    bulk_.start(1);
    PreparedBatch batch;
    prepare(updates, how, batch, pass);
    match_batch(batch, how, pass);
    settle_tallies(found);
  });
}

// Finds the net changes, and what another engine gets of them, if it can have them before they are written.
void Monitor::prepare(std::span<const Update> updates, const How& how, PreparedBatch& batch, Pass& pass) {
  batch.net = net_changes(updates, how.threads, how.switches.put_off, pass);
  batch.standing = stand_ins(batch.net.all());
  batch.noops = pass.found.noops;
  const bool is_one_run = batch.standing.empty() && batch.net.all().size() <= most_run_;
  if (run_matcher_ != nullptr && is_one_run) prepare_run(batch, how.threads, pass);
}

// Matches a batch and writes its changes. There may be no engine any more since it was prepared.
void Monitor::match_batch(PreparedBatch& batch, const How& how, Pass& pass) {
  if (batch.is_run && run_matcher_ != nullptr) {
    pass.found.put_off = put_off_.noops();  // of this batch: the next one may be prepared meanwhile
    match_before_writing(batch, how.threads, pass);
    forget_runs();
    return;
  }
  // Another engine learns of these edges from the run.
  if (run_matcher_ != nullptr)
    enclose(batch.net, batch.standing);
  else
    for (const Edge& edge : batch.standing) insert(edge);
  // A lost match is found with the first edge it loses, a gained match with the last edge it gains.
  apply_in_order(batch.net.all(), how.threads, {how.switches.at_once, false}, pass);
  if (run_matcher_ == nullptr)
    for (const Edge& edge : batch.standing) erase(edge);
  pass.found.put_off = put_off_.noops();
  forget_runs();
}

}  // namespace motiflux::dynamic
