// Sequences of updates, several of them matched at once: the multithreaded part of Monitor.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>

#include "common/parallel.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// The seconds per update from which matching several at once pays, and the most updates matched one by one to
// measure them: after the first, 4 and 16 before.
constexpr double kWorthThreads = 6e-7;
constexpr std::size_t kTrial = 64;

// A first update that takes as long needs no further trial. Few updates are matched at once if they will take
// this long: on a graph of a million vertices, preparing for lifetimes takes 3 ms.
constexpr double kLongUpdate = 1e-4, kLongRest = 1e-2;

// The intended seconds of a run per thread and its words of rows; the least, the first and the greatest
// number of updates of a run, in a sequence and in a batch. In a long run, rows are written less often, but
// more neighbours in them are absent at the moment of a search: a tenth of the edges of R-MAT 20 inserted as
// one batch take 3.4 s in runs of 2^15, 3.1 s in runs of 2^17, 3.9 s in one run.
constexpr double kRunSeconds = 0.03;
constexpr std::size_t kRunWords = std::size_t{1} << 22;
constexpr std::size_t kLeastRun = 256, kFirstRun = 1024, kMostRun = std::size_t{1} << 15;
constexpr std::size_t kMostBatchRun = std::size_t{1} << 17;

// The fewest updates whose rows are marked if there is one thread; and the vertices of the graph for each:
// preparing for lifetimes takes some nanoseconds a vertex.
constexpr std::size_t kLeastByRow = 2048, kVerticesByRow = 64;

// The most updates of a call whose memory of lifetimes is kept.
constexpr std::size_t kFewUpdates = 1024;

// The first updates, whose classes and gates are made at once: mostly there are no others.
constexpr std::size_t kFewMade = 16;

// Updates whose labels are prefetched; and updates between checks for a stop.
constexpr std::size_t kAhead = 8;
constexpr std::size_t kLook = 4096;

}  // namespace

void Monitor::apply_sequence(std::span<const Update> updates, int threads, Switches switches, Found& found,
                             Watch& watch, std::size_t most, const std::function<void()>& full) {
  found.patterns.resize(listed_.size());
  Pass pass{found,   watch, {allowed_, watch, memory_, naming_.sets()},    most, full,
            threads, false, std::ranges::none_of(listed_, std::identity())};
  all_or_none([&] {
    bulk_.start(1);
    apply_in_order(updates, threads, switches, pass);
    settle_tallies(found);
  });
  found.put_off = put_off_.noops();
  forget_runs();
}

// Applies updates one after another, or runs of them at once.
void Monitor::apply_in_order(std::span<const Update> updates, int threads, Switches switches, Pass& pass) {
  if (run_matcher_ != nullptr) {
    apply_runs(updates, threads, switches.put_off, pass);
    return;
  }
  if (pass.one_change && negates()) {
    // Matches are compared with the graph before the batch and after it, so it is one run.
    if (!updates.empty()) run_at_once(updates, 0, threads, switches.put_off, pass);
    return;
  }
  using Clock = std::chrono::steady_clock;
  const bool by_row = in_runs_by_row(updates.size(), pass);
  const bool alone = (threads == 1 && !by_row) || switches.at_once == AtOnce::kOff;
  bool together = !alone && (by_row || switches.at_once == AtOnce::kOn);
  if (switches.put_off) put_off_.reserve(updates.size());
  std::size_t length = pass.one_change && pass.counts_only ? kMostBatchRun : kFirstRun;
  std::size_t trial = 0;
  for (std::size_t first = 0, size; first < updates.size(); first += size) {
    const Clock::time_point start = Clock::now();
    trial = first == 0 ? 1 : std::min(4 * trial, kTrial);
    size = std::min(together ? length : alone ? updates.size() : trial, updates.size() - first);
    if (together)
      run_at_once(updates.subspan(first, size), first, threads, switches.put_off, pass);
    else
      one_by_one(updates, first, first + size, switches.put_off, pass);
    if (alone) break;
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    const double each = taken / static_cast<double>(size);
    if (together) length = next_length(size, each, pass);
    if (by_row || switches.at_once == AtOnce::kOn) continue;
    // About the time of one thread: matching at once must pay for its overhead.
    const double alone_each = (together ? threads : 1) * each;
    // Of few, that one is longer than others decides little: they must take as long as a whole trial.
    const double few = static_cast<double>(kTrial) / static_cast<double>(std::min(size, kTrial));
    const double worth = first == 0 ? kLongUpdate : kWorthThreads * few;
    const std::size_t left = updates.size() - first - size;
    const bool many = left > 2 * kLeastRun || static_cast<double>(left) * alone_each > kLongRest;
    together = many && alone_each > worth;
  }
}

// Whether so many updates are matched in runs in any case, also by one thread: their order does not matter
// if they are one change, which is counted, and rows are then written and marked once for many of them.
bool Monitor::in_runs_by_row(std::size_t updates, const Pass& pass) const {
  // Rows of plans that do not intersect any are not marked, and their absent neighbours are only counted.
  const auto intersects = [](const Plan& plan) { return plan.steps.back().sources.size() > 1; };
  return pass.one_change && pass.counts_only && reads_rows_once() &&
         std::ranges::any_of(plans_, intersects) &&
         updates >= std::max<std::size_t>(kLeastByRow, graph_.vertices() / kVerticesByRow);
}

// Applies updates in runs that are matched elsewhere. One change is one run if that is not too long: as it
// begins with the deletions, no match of its runs vanishes after it has appeared.
void Monitor::apply_runs(std::span<const Update> updates, int threads, bool puts_off, Pass& pass) {
  if (puts_off) put_off_.reserve(updates.size());
  std::size_t length = pass.one_change ? updates.size() : pass.counts_only ? kMostBatchRun : kFirstRun;
  for (std::size_t first = 0, size; first < updates.size(); first += size) {
    size = std::min({length, most_run_, updates.size() - first});
    run_at_once(updates.subspan(first, size), first, threads, puts_off, pass);
    if (!pass.one_change) length = next_length(size, 0, pass);
  }
}

void Monitor::forget_runs() {
  // Every call with an engine has lifetimes, and making them ready takes 2 ms on a graph of a million
  // vertices.
  const bool few = lifetimes_.partitions() == 1 && lifetimes_.of_partition(0).size() <= 2 * kFewUpdates;
  if (run_matcher_ == nullptr || !few) lifetimes_.clear();
  for (Worker& worker : workers_) {
    worker.share = {};
    worker.rows.clear();
    worker.marked.clear();
  }
}

// The number of updates of the next run, after a run of `size` updates that took `each` seconds per update.
std::size_t Monitor::next_length(std::size_t size, double each, const Pass& pass) const {
  const bool timed = !pass.one_change && run_matcher_ == nullptr;
  double length = timed ? kRunSeconds / each : static_cast<double>(kMostBatchRun);
  if (pass.run_words > 0)
    length = std::min(length, static_cast<double>(std::min(kRunWords, pass.most)) *
                                  static_cast<double>(size) / static_cast<double>(pass.run_words));
  // At most twice as many: the next updates may take longer.
  const auto most = static_cast<double>(std::min(timed ? kMostRun : kMostBatchRun, 2 * size));
  return static_cast<std::size_t>(
      std::clamp(length, static_cast<double>(kLeastRun), std::max(most, 2.0 * kLeastRun)));
}

// Applies the updates of a run, which begins with number `first`, and matches each at its moment.
void Monitor::run_at_once(std::span<const Update> run, std::size_t first, int threads, bool puts_off,
                          Pass& pass) {
  progress_.update = first;
  if (!pass.watch.keep_going()) throw Stopped();
  write_run(run, threads, puts_off, pass);
  if (run_matcher_ == nullptr)
    match_run(run, threads, pass);
  else
    match_elsewhere(run, threads, pass);
  gather(first, {}, threads, pass);
  graph_.advance(1);
  for_each_partition(bulk_.partitions(), threads, pass.watch,
                     [&](int partition, Watch&) { bulk_.take_gone(partition); });
  bulk_.finish();
  note_bulk();
}

// Adds the updates of a slice, those that concern no plan to `later` unless it is null; false if one has a
// class or a gate that is not known yet.
bool Monitor::add_slice(std::span<const Update> updates, int slice, int slices, PutOff::Part* later,
                        const AddToSlice& add, Watch& watch) const {
  const Relations& relations = graph_.relations();
  const std::size_t end = begin_of_slice(updates.size(), slice + 1, slices);
  for (std::size_t number = begin_of_slice(updates.size(), slice, slices); number < end; ++number) {
    if (number % kLook == kLook - 1 && !watch.keep_going()) throw Stopped();
    if (number + kAhead < updates.size()) graph_.prefetch_labels(updates[number + kAhead].edge);
    const Edge& edge = updates[number].edge;
    const Label source = graph_.label(edge.source);
    const auto to = relations.known_class(edge.label, graph_.label(edge.target));
    const auto from = relations.known_class(edge.label, source);
    if (!to || !from) return false;
    const std::uint32_t gate = known_gate(source, *to);
    if (gate == kUnknown) return false;
    if (later != nullptr && !watched(gate)) {
      later->add(edge, *to, *from, updates[number].inserts);
      continue;
    }
    add(slice, {static_cast<Moment>(number), updates[number], *to, *from, gate});
  }
  return true;
}

// Calls start(), then add(slice, update) for each update, on a thread for each slice. Those that concern no
// plan are put off instead, if `puts_off`.
void Monitor::add_in_slices(std::span<const Update> updates, int slices, bool puts_off, Pass& pass,
                            const std::function<void()>& start, const AddToSlice& add) {
  later_.resize(std::max(later_.size(), static_cast<std::size_t>(slices)));
  const std::span<PutOff::Part> later(later_.data(), static_cast<std::size_t>(slices));
  if (classes_seen_ != graph_.relations().classes().size()) see_classes();
  const auto make = [&](std::span<const Update> some) {  // threads cannot make classes and gates
    for (const Update& one : some) {
      graph_.relations().class_of(one.edge.label, graph_.label(one.edge.source));
      gate_of(one.edge);
    }
  };
  make(updates.first(std::min(updates.size(), kFewMade)));
  for (std::atomic<bool> all{false}; !all;) {
    all = true;
    start();
    for (PutOff::Part& part : later) part.clear();
    for_each_partition(slices, slices, pass.watch, [&](int slice, Watch& watch) {
      PutOff::Part* const part = puts_off ? &later[static_cast<std::size_t>(slice)] : nullptr;
      if (!add_slice(updates, slice, slices, part, add, watch)) all = false;
    });
    if (!all) make(updates);
  }
  for (PutOff::Part& part : later) {
    for (std::size_t next = 0; next < part.entries.size();) {
      next = put_off_.add(part, next);
      if (put_off_.is_full()) write_put_off(pass.threads, pass.watch);
    }
    part.clear();
  }
}

// Inserts every edge that exists at any time of the run and concerns a plan.
void Monitor::write_run(std::span<const Update> run, int threads, bool puts_off, Pass& pass) {
  threads = threads_for(run.size(), threads);
  run_gates_.assign(run.size(), 0);
  add_in_slices(
      run, threads, puts_off, pass, [&] { bulk_.start(threads, threads, run.size()); },
      [&](int slice, const Classified& one) {
        run_gates_[one.number] = one.gate;
        bulk_.add(slice, one.number, one.update.edge, one.to, one.from, one.update.inserts,
                  watched(one.gate));
      });
  bulk_.admit();
  if (classes_seen_ != graph_.relations().classes().size()) see_classes();
  run_start_ = graph_.now();
  graph_.advance(run.size() + 1);  // a number for each update, then one for writing them
  lifetimes_.start(threads);
  for_each_partition(threads, threads, pass.watch, [&](int partition, Watch& watch) {
    bulk_.forward(partition, [&] { return watch.keep_going(); });
  });
  for_each_partition(threads, threads, pass.watch, [&](int partition, Watch& watch) {
    bulk_.backward(partition, [&] { return watch.keep_going(); });
    lifetimes_.fill(partition, bulk_.ends(partition));
  });
  bulk_.finish();
  pass.found.noops += bulk_.noops();
}

}  // namespace motiflux::dynamic
