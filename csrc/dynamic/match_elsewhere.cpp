// Runs that are matched by another engine (dynamic/run_matcher.hpp).
#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <utility>

#include "common/parallel.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/run_matcher.hpp"
#include "dynamic/threads.hpp"
#include "dynamic/write_rows.hpp"

namespace motiflux::dynamic {
namespace {

// Updates whose roots a thread finds at a time, and rows that it writes at a time.
constexpr std::size_t kTaken = 1024;
constexpr std::size_t kRowsTaken = 1 << 13;

// Consecutive vertices whose rows are in one partition (owner()).
constexpr std::size_t kTogether = 64;

void expect(bool holds, const char* what) {
  if (!holds) throw WrongMatches(what);
}

Total total_of(std::span<const std::uint64_t> words, std::size_t number) {
  return Total{words[2 * number + 1]} << 64 | words[2 * number];
}

Total times(Total found, std::uint64_t multiplier) {
  if (__builtin_mul_overflow(found, Total{multiplier}, &found))
    throw std::overflow_error("the count exceeds 2^128 - 1");
  return found;
}

}  // namespace

// Has the run matched elsewhere; the matches come into one share.
void Monitor::match_elsewhere(std::span<const Update> run, int threads, Pass& pass) {
  set_workers(1, pass);
  const auto given = std::make_shared<Run>();
  given->ends = ends_of_run(run, threads, pass);
  if (given->ends.size() == 0) return;
  given->candidates = candidate_changes();
  given->one_change = pass.one_change;
  given->is_written = true;
  given->updates = run.size();
  given->threads = threads_for(run.size(), threads);
  find_roots(run, *given, pass);
  const auto written = [] {};  // is it already
  const std::shared_ptr<RunMatcher> matcher = run_matcher_;
  matcher->match(given, pass.watch, written,
                 [&](const RunMatches& matches) { take_matches(*given, matches, pass); });
}

CandidateChanges Monitor::candidate_changes() {
  CandidateTable& table = graph_.candidates();
  CandidateChanges found{table.is_used(), table.version(), table.taken(), {}, {}};
  if (!found.is_used) return found;
  found.vertices = table.take_changed();
  found.words.reserve(found.vertices.size() * table.width());
  for (const Vertex vertex : found.vertices) {
    const auto words = table.words().subspan(std::size_t{vertex} * table.width(), table.width());
    found.words.insert(found.words.end(), words.begin(), words.end());
  }
  return found;
}

// The lifetimes of the run, by vertex: those of each partition are sorted already, and a block of vertices is
// in one partition.
Unwritten<RunEnd> Monitor::ends_of_run(std::span<const Update> run, int threads, Pass& pass) const {
  // Only the edge of update 0 can have a lifetime that began with it.
  const Edge& opening = run[0].edge;
  const bool opened = watched(run_gates_[0]) && bulk_.effect(0) == Effect::kAppear;
  const auto is_fresh = [&](const End& end) {
    if (end.first > 0 || !opened) return end.first > 0;
    const bool forward = end.vertex == opening.source && end.neighbor == opening.target;
    const bool backward = end.vertex == opening.target && end.neighbor == opening.source;
    if ((end.of & End::kBack) != 0 ? !backward : !forward && (graph_.directed() || !backward)) return false;
    return graph_.relations().classes()[end.of & ~End::kBack].edge == opening.label;
  };
  const auto run_end = [&](const End& end) {
    return RunEnd{end.vertex, end.of, end.neighbor, end.first, end.last, is_fresh(end)};
  };
  const auto partitions = static_cast<int>(lifetimes_.partitions());
  if (partitions == 1) {
    const std::span<const End> lived = lifetimes_.of_partition(0);
    Unwritten<RunEnd> ends(lived.size());
    std::ranges::transform(lived, ends.data(), run_end);
    return ends;
  }
  std::vector<std::size_t> starts(graph_.vertices() / kTogether + 2);
  for_each_partition(partitions, threads, pass.watch, [&](int partition, Watch&) {
    for (const End& end : lifetimes_.of_partition(partition)) ++starts[end.vertex / kTogether + 1];
  });
  for (std::size_t block = 1; block < starts.size(); ++block) starts[block] += starts[block - 1];
  Unwritten<RunEnd> ends(starts.back());
  for_each_partition(partitions, threads, pass.watch, [&](int partition, Watch&) {
    for (const End& end : lifetimes_.of_partition(partition))
      ends.data()[starts[end.vertex / kTogether]++] = run_end(end);
  });
  return ends;
}

// Adds the roots that can have matches.
void Monitor::find_roots(std::span<const Update> run, Run& given, Pass& pass) {
  std::vector<std::vector<Root>> parts((run.size() + kTaken - 1) / kTaken);
  std::atomic<std::size_t> next{0};
  with_others(given.threads, pass.watch, [&](int, Watch& watch) {
    Memory memory;
    Matcher<WithHoles> matcher(allowed_, watch, memory, naming_.sets());
    for (std::size_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < parts.size();) {
      const std::size_t last = std::min(run.size(), (part + 1) * kTaken);
      for (std::size_t at = part * kTaken; at < last; ++at)
        add_roots(run[at].edge, static_cast<Moment>(at), matcher, parts[part]);
      if (!watch.keep_going()) throw Stopped();
    }
  });
  std::vector<std::size_t> before{0};
  for (const std::vector<Root>& part : parts) before.push_back(before.back() + part.size());
  given.roots = Unwritten<Root>(before.back());
  given.positive = Unwritten<std::uint8_t>(before.back());
  parallel_for({given.threads, nullptr}, parts.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t part = first; part < last; ++part) {
      std::ranges::copy(parts[part], given.roots.data() + before[part]);
      std::ranges::transform(parts[part], given.positive.data() + before[part],
                             [&](const Root& root) { return bulk_.effect(root.moment) == Effect::kAppear; });
    }
  });
}

void Monitor::add_roots(const Edge& edge, Moment number, Matcher<WithHoles>& matcher,
                        std::vector<Root>& roots) const {
  if (!watched(run_gates_[number]) || bulk_.effect(number) == Effect::kNone) return;
  const WithHoles view{graph_, lifetimes_, number};
  matcher.begin(view, edge, plans_);
  for (std::uint32_t plan : gated_[run_gates_[number]].plans)
    if (matcher.fits(plans_[plan])) roots.push_back({plan, edge.source, edge.target, number});
}

// Takes the matches of a run over, each with the images of its plan.
void Monitor::take_matches(const Run& run, const RunMatches& matches, Pass& pass) {
  const std::span<const Root> roots = run.all_roots();
  const auto counted = [&](const Root& root) { return !listed_[plans_[root.plan].pattern]; };
  if (!matches.totals.empty()) {
    expect(matches.totals.size() == 2 * roots.size(), "totals of each root expected");
    for (std::size_t number = 0; number < roots.size(); ++number) {
      if (!counted(roots[number])) continue;
      const Plan& plan = plans_[roots[number].plan];
      const Effect effect = run.positive.data()[number] != 0 ? Effect::kAppear : Effect::kVanish;
      workers_[0].share.count(plan, {roots[number].moment, 0}, effect,
                              times(total_of(matches.totals, number), plan.multiplier));
    }
  } else if (!matches.sums.empty()) {
    expect(pass.one_change, "totals of each root expected: the updates are several changes");
    expect(matches.sums.size() == 4 * plans_.size(), "two sums of each plan expected");
    for (std::size_t number = 0; number < plans_.size(); ++number)
      for (const std::size_t positive : {0, 1})
        if (const Plan& plan = plans_[number]; !listed_[plan.pattern])
          pass.found.patterns[plan.pattern].add(
              0, positive == 1, times(total_of(matches.sums, 2 * number + positive), plan.multiplier));
  } else {
    expect(std::none_of(roots.begin(), roots.end(), counted),
           "totals or sums expected: there are roots of plans that are counted");
  }
  if (!matches.rows.empty()) take_rows(roots, matches, run.threads);
}

// Writes the images of rows, several roots at once.
void Monitor::take_rows(std::span<const Root> roots, const RunMatches& matches, int threads) {
  const std::size_t width = matches.width, count = matches.rows.size() / width;
  const auto root_of = [&](std::size_t row) { return matches.rows[row * width]; };
  Share& share = workers_[0].share;
  std::vector<std::size_t> firsts;  // of rows with the same root
  const std::size_t counted = share.matched.size();
  for (std::size_t row = 0; row < count;) {
    const std::uint32_t number = root_of(row);
    expect(number < roots.size() && (firsts.empty() || root_of(firsts.back()) < number),
           "rows of roots of the run expected, sorted by root");
    const Plan& plan = plans_[roots[number].plan];
    const auto levels = static_cast<std::size_t>(plan.levels());
    expect(listed_[plan.pattern] && width > levels, "rows of a plan that is listed expected, all its levels");
    firsts.push_back(row);
    while (row < count && root_of(row) == number) ++row;
    const std::size_t images = (row - firsts.back()) * plan.images.size();
    Column<Vertex>& all = share.rows[plan.pattern];
    share.matched.push_back(
        {{roots[number].moment, 0}, plan.pattern, images, all.size(), images * levels, plan.inverse});
    all.extend(images * levels);
  }
  std::atomic<bool> unknown{false};
  const Workers workers{count < kRowsTaken ? 1 : threads, nullptr};
  parallel_for(workers, count, kRowsTaken, [&](std::size_t begin, std::size_t end) {
    std::vector<Vertex> scratch;
    auto group =
        static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), begin) - firsts.begin()) - 1;
    for (std::size_t row = begin; row < end; ++row) {
      if (group + 1 < firsts.size() && firsts[group + 1] == row) ++group;
      const Share::Matched& matched = share.matched[counted + group];
      const Plan& plan = plans_[roots[root_of(row)].plan];
      const auto levels = static_cast<std::size_t>(plan.levels());
      const Vertex* const value = &matches.rows[row * width + 1];
      for (std::size_t level = 0; level < levels; ++level)
        if (value[level] >= graph_.vertices()) unknown.store(true, std::memory_order_relaxed);
      Vertex* const out = share.rows[plan.pattern].data() + matched.first_word +
                          (row - firsts[group]) * plan.images.size() * levels;
      write_rows(value, levels, static_cast<std::uint8_t>(levels - 1), plan.images,
                 {value + levels - 1, value + levels}, out);
      if (plan.orbits.empty()) continue;
      for (std::size_t image = 0; image < plan.images.size(); ++image)
        make_canonical(plan.orbits, {out + image * levels, levels}, scratch);
    }
  });
  expect(!unknown.load(), "rows of known vertices expected");
}

}  // namespace motiflux::dynamic
