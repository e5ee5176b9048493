// The search of a run: all its updates, each at its moment, by several threads.
//
// Threads take updates, by source, a few at a time: rows of one source stay in the cache. Searches that may
// be long are left for later and split: the candidates of level 2 are taken in blocks, first by the thread
// that took the search, then by all that have nothing left to take. Results are put in the order of the
// updates.
#include <algorithm>
#include <atomic>
#include <deque>

#include "common/parallel.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/sort_by.hpp"
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// The number of updates that a thread takes at a time.
constexpr std::size_t kTaken = 8;

// Up to this number of words to copy, one thread is as fast as several.
constexpr std::size_t kFewWords = std::size_t{1} << 16;

// A search is split if it may visit this number of vertices, into this number of blocks for each thread.
constexpr double kLong = 1 << 16;
constexpr std::size_t kBlocks = 16, kMostBlock = 64;

}  // namespace

// A search that threads do together.
struct Monitor::Split {
  Moment task;
  std::uint32_t ordinal;  // of the plan among those of the gate
  // Candidates of level 2: all, known once a thread has found them, and those taken.
  static constexpr std::size_t kUnknown = SIZE_MAX;
  std::atomic<std::size_t> size{kUnknown}, taken{0};

  Split(Moment task, std::uint32_t ordinal) : task(task), ordinal(ordinal) {}
  bool left() const { return taken.load(std::memory_order_relaxed) < size.load(std::memory_order_relaxed); }
};

// Prepares for the matches of as many threads.
void Monitor::set_workers(int threads) {
  while (workers_.size() > static_cast<std::size_t>(threads)) workers_.pop_back();
  while (workers_.size() < static_cast<std::size_t>(threads)) workers_.emplace_back(lifetimes_);
  for (Worker& worker : workers_) worker.share.start(listed_.size());
}

// Matches all updates of the run on `threads` threads.
void Monitor::match_run(std::span<const Update> run, int threads, Pass& pass) {
  set_workers(threads);
  for (Worker& worker : workers_) worker.rows.start();
  if (reads_rows_once())
    match_run_in<WithHoles>(run, threads, pass);
  else
    match_run_in<AtMoment>(run, threads, pass);
}

// Whether a search asks for each row once, so that it does not pay to copy rows.
bool Monitor::reads_rows_once() const {
  return std::ranges::all_of(plans_, [](const Plan& plan) { return plan.levels() <= 3; });
}

template <class View>
void Monitor::match_run_in(std::span<const Update> run, int threads, Pass& pass) {
  struct Task {
    Vertex source;
    Moment number;
  };
  std::vector<Task> tasks, scratch;
  tasks.reserve(run.size());
  for (std::size_t number = 0; number < run.size(); ++number)
    if (watched(run_gates_[number]) && bulk_.effect(static_cast<Moment>(number)) != Effect::kNone)
      tasks.push_back({run[number].edge.source, static_cast<Moment>(number)});
  if (View::kHoles)
    sort_by(tasks, scratch, graph_.vertices() - 1, [](const Task& one) { return one.source; });
  std::atomic<std::size_t> next{0};
  with_others(threads, pass.watch, [&](int index, Watch& watch) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    Matcher<View> matcher(allowed_, watch, worker.memory, naming_.sets());
    for (std::size_t first; (first = next.fetch_add(kTaken, std::memory_order_relaxed)) < tasks.size();) {
      const auto taken = std::span(tasks).subspan(first, std::min(kTaken, tasks.size() - first));
      for (const Task& one : taken) {
        graph_.prefetch(run[one.number].edge);
        lifetimes_.prefetch(run[one.number].edge);
      }
      for (const Task& one : taken) {
        graph_.prefetch_rows(run[one.number].edge);
        lifetimes_.prefetch_ends(run[one.number].edge);
      }
      for (const Task& one : taken) match_task(run[one.number].edge, one.number, matcher, worker);
      if (!watch.keep_going()) throw Stopped();
    }
  });
  match_splits<View>(run, threads, pass);
}

// Where the matches of the plans of a forest go, for one of the updates of a run.
struct Monitor::AtOnceFound {
  std::span<const Plan> plans;
  const Forest& forest;
  Moment task;
  Share& share;
  Matches matches;
  std::array<std::size_t, kMostPlans> first_word;

  AtOnceFound(std::span<const Plan> plans, const Forest& forest, Moment task, Share& share,
              PlanBits concerned)
      : plans(plans), forest(forest), task(task), share(share), matches(concerned) {
    for_each_plan(concerned & forest.listed,
                  [&](std::size_t number) { first_word[number] = rows(number).size(); });
  }
  const Plan& plan(std::size_t number) const { return plans[forest.plans[number]]; }
  void count(std::size_t number, Total more) { matches.add(number, more); }
  Column<Vertex>& rows(std::size_t number) { return share.rows[plan(number).pattern]; }
  void wrote(std::size_t number, std::size_t count) { matches.add(number, count); }
  void finish(std::size_t number) {
    const Share::Key key{task, forest.first + static_cast<std::uint32_t>(number)};
    if ((forest.listed >> number & 1) != 0)
      share.list(plan(number), key, matches.of(number), first_word[number]);
    else
      share.count(plan(number), key, multiplied(plan(number), matches.of(number)));
  }
};

template <class View>
void Monitor::match_task(const Edge& edge, Moment number, Matcher<View>& matcher, Worker& worker) const {
  worker.rows.make_room();
  const View view = view_at(number, worker, static_cast<View*>(nullptr));
  Share& share = worker.share;
  matcher.begin(view, edge, plans_);
  for (const Forest& forest : gated_[run_gates_[number]].forests) {
    const auto [summed, rest] = matcher.divide(forest, matcher.concerned(forest, forest.all()));
    PlanBits searched = chosen(forest, rest, edge);
    if (workers_.size() > 1)
      for_each_plan(searched, [&](std::size_t one) {
        if (!may_be_long(plans_[forest.plans[one]], edge)) return;
        share.put_off.emplace_back(number, forest.first + static_cast<std::uint32_t>(one));
        searched &= ~(PlanBits{1} << one);
      });
    const PlanBits plans = summed | searched;
    if (plans == 0) continue;
    AtOnceFound found(plans_, forest, number, share, plans);
    if constexpr (!View::kHoles) matcher.sum(summed, found);
    matcher.match(forest, searched, found);
    for_each_plan(plans, [&](std::size_t one) { found.finish(one); });
  }
}

// Whether the search may visit so many vertices that threads should share it.
bool Monitor::may_be_long(const Plan& plan, const Edge& edge) const {
  const int visited =
      listed_[plan.pattern] ? plan.levels() - 1 : std::min(plan.tail.start, plan.levels() - 1);
  if (visited <= 2) return false;
  std::size_t candidates = SIZE_MAX;
  for (const Source& from : plan.steps[2].sources) {
    const Vertex vertex = from.level == 0 ? edge.source : edge.target;
    const std::size_t out = from.way == Way::kIn ? 0 : graph_.rows(Way::kOut).degree(vertex);
    const bool in = from.way == Way::kIn || (from.way == Way::kEither && graph_.directed());
    candidates = std::min(candidates, out + (in ? graph_.rows(Way::kIn).degree(vertex) : 0));
  }
  double vertices = 1;
  for (int level = 2; level < visited && vertices < kLong; ++level)
    vertices *= static_cast<double>(candidates);
  return vertices >= kLong;
}

// Does the searches that were put off.
template <class View>
void Monitor::match_splits(std::span<const Update> run, int threads, Pass& pass) {
  std::deque<Split> splits;
  for (const Worker& worker : workers_)
    for (const auto& [task, ordinal] : worker.share.put_off) splits.emplace_back(task, ordinal);
  if (splits.empty()) return;
  std::atomic<std::size_t> next{0};
  with_others(threads, pass.watch, [&](int index, Watch& watch) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    Matcher<View> matcher(allowed_, watch, worker.memory, naming_.sets());
    for (std::size_t at; (at = next.fetch_add(1, std::memory_order_relaxed)) < splits.size();)
      match_blocks(splits[at], run[splits[at].task].edge, matcher, worker);
    for (Split& split : splits)
      if (split.left()) match_blocks(split, run[split.task].edge, matcher, worker);
  });
}

// Takes blocks of a search until there are none left.
template <class View>
void Monitor::match_blocks(Split& split, const Edge& edge, Matcher<View>& matcher, Worker& worker) const {
  worker.rows.make_room();
  Share& share = worker.share;
  const View view = view_at(split.task, worker, static_cast<View*>(nullptr));
  const Plan& plan = plans_[gated_[run_gates_[split.task]].plans[split.ordinal]];
  matcher.begin(view, edge, plans_);
  const std::size_t size = matcher.open(plan);
  split.size.store(size, std::memory_order_relaxed);
  const std::size_t most = std::clamp<std::size_t>(size / (kBlocks * workers_.size()), 1, kMostBlock);
  for (std::size_t first; (first = split.taken.fetch_add(most, std::memory_order_relaxed)) < size;) {
    const std::size_t last = std::min(first + most, size);
    const Share::Key key{split.task, split.ordinal, static_cast<std::uint32_t>(first)};
    if (!listed_[plan.pattern]) {
      share.count(plan, key, multiplied(plan, matcher.count_part(first, last)));
      continue;
    }
    Column<Vertex>& rows = share.rows[plan.pattern];
    const std::size_t first_word = rows.size();
    Total matches = 0;
    matcher.list_part(first, last, rows, [&](std::size_t count) { matches += count; });
    share.list(plan, key, matches, first_word);
  }
}

// Puts the results of threads in the order of the updates, rows aside; returns the destinations of rows.
std::vector<Monitor::Place> Monitor::places_of_run(std::size_t first, Pass& pass) const {
  std::vector<Place> places, scratch;
  bool split = false;
  const auto add = [&](const Share::Matched& matched) {
    const bool appear = bulk_.effect(matched.key.task) == Effect::kAppear;
    pass.found.patterns[matched.pattern].add(pass.number(first + matched.key.task), appear, matched.matches);
  };
  for (const Worker& worker : workers_) {
    const Share& share = worker.share;
    split |= !share.put_off.empty();
    for (const Share::Matched& matched : share.matched) {
      if (pass.one_change && matched.words == 0)
        add(matched);  // a sum has no order
      else
        places.push_back({matched.key, &share, &matched});
    }
  }
  if (split) {
    sort_by(places, scratch, UINT32_MAX, [](const Place& one) { return one.key.block; });
    sort_by(places, scratch, static_cast<std::uint32_t>(plans_.size()),
            [](const Place& one) { return one.key.ordinal; });
  }
  sort_by(places, scratch, static_cast<std::uint32_t>(run_gates_.size()),
          [](const Place& one) { return one.key.task; });
  std::vector<std::size_t> words;
  for (const Found::OfPattern& one : pass.found.patterns) words.push_back(one.rows.size());
  for (Place& place : places) {
    const Share::Matched& matched = *place.matched;
    add(matched);
    if (matched.words == 0) continue;
    pass.found.patterns[matched.pattern].add_rows(pass.number(first + matched.key.task),
                                                  bulk_.effect(matched.key.task) == Effect::kAppear,
                                                  static_cast<std::uint64_t>(matched.matches));
    place.first_word = words[matched.pattern];
    words[matched.pattern] += matched.words;
  }
  std::erase_if(places, [](const Place& place) { return place.matched->words == 0; });
  return places;
}

void Monitor::gather(std::size_t first, int threads, Pass& pass) {
  const std::vector<Place> places = places_of_run(first, pass);
  pass.run_words = 0;
  for (const Place& place : places) {
    Found::OfPattern& found = pass.found.patterns[place.matched->pattern];
    found.rows.extend(place.matched->words);
    pass.run_words += place.matched->words;
  }
  const Workers workers{pass.run_words < kFewWords ? 1 : threads, nullptr};
  parallel_for(workers, places.size(), kTaken, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto& [key, share, matched, first_word] = places[at];
      std::copy_n(share->rows[matched->pattern].data() + matched->first_word, matched->words,
                  pass.found.patterns[matched->pattern].rows.data() + first_word);
    }
  });
  pass.count_words(pass.run_words);
}

}  // namespace motiflux::dynamic
