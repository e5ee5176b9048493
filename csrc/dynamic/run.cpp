// Sequences of updates, several of them matched at once: the multithreaded part of Monitor.
#include <algorithm>
#include <atomic>
#include <chrono>

#include "common/parallel.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// The seconds per update from which matching several at once pays, and the number of updates matched one by
// one to measure them.
constexpr double kWorthThreads = 6e-7;
constexpr std::size_t kTrial = 64;

// The intended seconds of a run per thread and its words of rows; the least, the first and the greatest
// number of updates of a run. A thread takes kTaken updates at a time.
constexpr double kRunSeconds = 0.03;
constexpr std::size_t kRunWords = std::size_t{1} << 22;
constexpr std::size_t kLeastRun = 256, kFirstRun = 1024, kMostRun = std::size_t{1} << 15;
constexpr std::size_t kTaken = 8;

// Up to these numbers of updates to write and words to copy, one thread is as fast as several.
constexpr std::size_t kFewUpdates = 1024;
constexpr std::size_t kFewWords = std::size_t{1} << 16;

}  // namespace

void Monitor::apply_sequence(std::span<const Update> updates, int threads, Switches switches, Found& found,
                             Watch& watch, std::size_t most, const std::function<void()>& full) {
  found.patterns.resize(listed_.size());
  Pass pass{found, watch, {allowed_, watch, &memory_}, most, full};
  all_or_none([&] {
    bulk_.start(1);
    apply_in_order(updates, threads, switches, pass);
  });
  found.put_off = put_off_.noops();
  forget_runs();
}

// Applies updates one after another, or runs of them at once.
void Monitor::apply_in_order(std::span<const Update> updates, int threads, Switches switches, Pass& pass) {
  using Clock = std::chrono::steady_clock;
  const bool alone = threads == 1 || switches.at_once == AtOnce::kOff;
  bool together = !alone && switches.at_once == AtOnce::kOn;
  std::size_t length = kFirstRun;
  for (std::size_t first = 0, size; first < updates.size(); first += size) {
    const Clock::time_point start = Clock::now();
    size = std::min(together ? length : alone ? updates.size() : kTrial, updates.size() - first);
    if (together)
      run_at_once(updates.subspan(first, size), first, threads, switches.put_off, pass);
    else
      one_by_one(updates, first, first + size, switches.put_off, pass);
    if (alone) break;
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    const double each = taken / static_cast<double>(size);
    if (together) length = next_length(size, each, pass);
    // About the time of one thread: matching at once must pay for its overhead.
    if (switches.at_once != AtOnce::kOn)
      together = (together ? threads : 1) * each > kWorthThreads && updates.size() - first > 2 * kLeastRun;
  }
}

void Monitor::forget_runs() {
  lifetimes_.clear();
  shares_.clear();
}

// The number of updates of the next run, after a run of `size` updates that took `each` seconds per update.
std::size_t Monitor::next_length(std::size_t size, double each, const Pass& pass) const {
  double length = kRunSeconds / each;
  if (pass.run_words > 0)
    length = std::min(length, static_cast<double>(std::min(kRunWords, pass.most)) *
                                  static_cast<double>(size) / static_cast<double>(pass.run_words));
  // At most twice as many: the next updates may take longer.
  const auto most = static_cast<double>(std::min(kMostRun, 2 * size));
  return static_cast<std::size_t>(
      std::clamp(length, static_cast<double>(kLeastRun), std::max(most, 2.0 * kLeastRun)));
}

// Applies the updates of a run, which begins with number `first`, and matches each at its moment.
void Monitor::run_at_once(std::span<const Update> run, std::size_t first, int threads, bool puts_off,
                          Pass& pass) {
  if (!pass.watch.keep_going()) throw Stopped();
  write_run(run, threads, puts_off, pass);
  match_run(run, threads, pass);
  gather(first, threads, pass);
  for_each_partition(threads, run.size() < kFewUpdates ? 1 : threads, pass.watch,
                     [&](int partition, Watch&) { bulk_.take_gone(partition); });
  bulk_.finish();
  note_bulk();
}

// Inserts every edge that exists at any time of the run and concerns a plan.
void Monitor::write_run(std::span<const Update> run, int threads, bool puts_off, Pass& pass) {
  bulk_.start(threads);
  run_gates_.clear();
  for (std::size_t number = 0; number < run.size(); ++number) {
    if (number + kTaken < run.size()) graph_.prefetch_labels(run[number + kTaken].edge);
    const auto& [edge, inserts] = run[number];
    const Class to = graph_.relations().class_of(edge.label, graph_.label(edge.target));
    const std::uint32_t gate = gate_of(edge, to);
    run_gates_.push_back(gate);
    if (puts_off && !watched(gate))
      defer(edge, inserts, pass);
    else
      bulk_.add(static_cast<Moment>(number), edge, to, inserts, watched(gate));
  }
  if (classes_seen_ != graph_.relations().classes().size()) find_needs();
  lifetimes_.start(threads);
  const int writers = run.size() < kFewUpdates ? 1 : threads;
  for_each_partition(threads, writers, pass.watch, [&](int partition, Watch& watch) {
    bulk_.forward(partition, [&] { return watch.keep_going(); });
  });
  for_each_partition(threads, writers, pass.watch, [&](int partition, Watch& watch) {
    bulk_.backward(partition, [&] { return watch.keep_going(); });
    lifetimes_.fill(partition, bulk_.ends(partition));
  });
  bulk_.finish();
  pass.found.noops += bulk_.noops();
}

// Matches all updates of the run on `threads` threads.
void Monitor::match_run(std::span<const Update> run, int threads, Pass& pass) {
  shares_.resize(static_cast<std::size_t>(threads));
  takers_.assign((run.size() + kTaken - 1) / kTaken, 0);
  std::atomic<std::size_t> next{0};
  with_others(threads, pass.watch, [&](int index, Watch& watch) {
    Matcher<AtMoment> matcher(allowed_, watch);
    Share& share = shares_[static_cast<std::size_t>(index)];
    share.matched.clear();
    share.rows.resize(listed_.size());
    for (Column<Vertex>& rows : share.rows) rows.clear();
    for (std::size_t taken; (taken = next.fetch_add(1, std::memory_order_relaxed)) < takers_.size();) {
      takers_[taken] = static_cast<std::uint16_t>(index);
      const std::size_t last = std::min((taken + 1) * kTaken, run.size());
      for (std::size_t number = taken * kTaken; number < last; ++number) {
        graph_.prefetch(run[number].edge);
        lifetimes_.prefetch(run[number].edge);
      }
      for (std::size_t number = taken * kTaken; number < last; ++number)
        graph_.prefetch_rows(run[number].edge);
      for (std::size_t number = taken * kTaken; number < last; ++number)
        match_task(run[number], static_cast<Moment>(number), matcher, share);
      if (!watch.keep_going()) throw Stopped();
    }
  });
}

void Monitor::match_task(const Update& update, Moment number, Matcher<AtMoment>& matcher,
                         Share& share) const {
  const std::uint32_t gate = run_gates_[number];
  if (!watched(gate) || bulk_.effect(number) == Effect::kNone) return;
  const AtMoment view{graph_, lifetimes_, number};
  const Edge& edge = update.edge;
  for (std::uint32_t at : gated_[gate]) {
    const Plan& plan = plans_[at];
    auto& rows = share.rows[plan.pattern];
    const std::size_t first_word = rows.size();
    Total matches = 0;
    if (listed_[plan.pattern]) {
      matcher.list(plan, view, edge, edge.source, edge.target, rows,
                   [&](std::size_t count) { matches += count; });
    } else {
      matches = matcher.count(plan, view, edge, edge.source, edge.target);
    }
    if (matches > 0)
      share.matched.push_back({number, plan.pattern, matches, first_word, rows.size() - first_word});
  }
}

// Puts the results of threads in the order of the updates, rows aside; returns the destinations of rows.
std::vector<Monitor::Place> Monitor::places_of_run(std::size_t first, Pass& pass) const {
  Found& found = pass.found;
  std::vector<std::size_t> words;
  for (const Found::OfPattern& one : found.patterns) words.push_back(one.rows.size());
  std::vector<Place> places;
  std::vector<std::size_t> next(shares_.size());
  for (std::size_t taken = 0; taken < takers_.size(); ++taken) {
    const Share& share = shares_[takers_[taken]];
    std::size_t& at = next[takers_[taken]];
    for (; at < share.matched.size() && share.matched[at].task / kTaken == taken; ++at) {
      const Share::Matched& matched = share.matched[at];
      Found::OfPattern& one = found.patterns[matched.pattern];
      const bool positive = bulk_.effect(matched.task) == Effect::kAppear;
      one.add(pass.number(first + matched.task), positive, matched.matches);
      if (matched.words == 0) continue;
      one.add_rows(pass.number(first + matched.task), positive, static_cast<std::uint64_t>(matched.matches));
      places.push_back({&share, &matched, words[matched.pattern]});
      words[matched.pattern] += matched.words;
    }
  }
  return places;
}

void Monitor::gather(std::size_t first, int threads, Pass& pass) {
  const std::vector<Place> places = places_of_run(first, pass);
  pass.run_words = 0;
  for (const Place& place : places) {
    pass.found.patterns[place.matched->pattern].rows.extend(place.matched->words);
    pass.run_words += place.matched->words;
  }
  const Workers workers{pass.run_words < kFewWords ? 1 : threads, nullptr};
  parallel_for(workers, places.size(), kTaken, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto& [share, matched, first_word] = places[at];
      std::copy_n(share->rows[matched->pattern].data() + matched->first_word, matched->words,
                  pass.found.patterns[matched->pattern].rows.data() + first_word);
    }
  });
  pass.count_words(pass.run_words);
}

}  // namespace motiflux::dynamic
