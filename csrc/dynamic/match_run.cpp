// The search of a run: all its updates, each at its moment, by several threads.
//
// Threads take updates a few at a time, in their order or, if they mark rows, by row. Searches that may
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

// The most updates that a thread takes at a time; and if they are in the order of rows. Towards the end they
// are fewer, so that no thread works much longer than the others: 1/kShares of what is left for each.
constexpr std::size_t kTaken = 8, kTakenByRow = 64, kShares = 4;

// Up to this number of words to copy, one thread is as fast as several.
constexpr std::size_t kFewWords = std::size_t{1} << 16;

// A search is split if it may visit this number of vertices, into this number of blocks for each thread.
constexpr double kLong = 1 << 16;
constexpr std::size_t kBlocks = 16, kMostBlock = 64;

}  // namespace

// A search that threads do together.
struct Monitor::Split {
  Share::PutOff search;
  // Candidates of level 2: all, known once a thread has found them, and those taken.
  static constexpr std::size_t kUnknown = SIZE_MAX;
  std::atomic<std::size_t> size{kUnknown}, taken{0};

  explicit Split(const Share::PutOff& search) : search(search) {}
  bool left() const { return taken.load(std::memory_order_relaxed) < size.load(std::memory_order_relaxed); }
};

// Prepares for the matches of as many threads.
void Monitor::set_workers(int threads, const Pass& pass) {
  while (workers_.size() > static_cast<std::size_t>(threads)) workers_.pop_back();
  while (workers_.size() < static_cast<std::size_t>(threads)) workers_.emplace_back(lifetimes_);
  for (Worker& worker : workers_) {
    worker.share.start(listed_.size(), pass.one_change);
    worker.probe = nullptr;
    worker.has_started = false;
  }
  one_change_ = pass.one_change;
  // It looks at the updates, and knows the work, of one thread. Patterns of three vertices have no orders.
  if (!reads_rows_once()) workers_[0].probe = &probe_;
}

// Matches all updates of the run on `threads` threads.
void Monitor::match_run(std::span<const Update> run, int threads, Pass& pass) {
  set_workers(threads, pass);
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
  // Marks are of one row, which several updates share; copies of rows follow the moments of the updates.
  Unwritten<Task> sorted(0);
  if constexpr (View::kHoles) sorted = tasks_by_row(run, threads, pass.watch);
  const std::size_t size = View::kHoles ? sorted.size() : run.size();
  const std::size_t most = View::kHoles ? kTakenByRow : kTaken;
  const std::size_t shares = kShares * static_cast<std::size_t>(threads);
  std::atomic<std::size_t> next{0};
  with_others(threads, pass.watch, [&](int index, Watch& watch) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    worker.watch = &watch;
    worker.template start<View>();
    Matcher<View> matcher(allowed_, watch, worker.memory, naming_.sets());
    std::vector<Task> own;
    for (;;) {
      const std::size_t left = size - std::min(size, next.load(std::memory_order_relaxed));
      const std::size_t taken = std::clamp<std::size_t>(left / shares, 1, most);
      const std::size_t first = next.fetch_add(taken, std::memory_order_relaxed);
      if (first >= size) break;
      const std::size_t last = std::min(first + taken, size);
      if constexpr (View::kHoles) {
        match_tasks(run, {sorted.data() + first, last - first}, matcher, worker);
      } else {
        own.clear();
        for (std::size_t number = first; number < last; ++number)
          if (is_task(number)) own.push_back({run[number].edge.source, static_cast<Moment>(number)});
        match_tasks<View>(run, own, matcher, worker);
      }
      if (!watch.keep_going()) throw Stopped();
    }
  });
  match_splits<View>(run, threads, pass);
}

template <class View>
void Monitor::match_tasks(std::span<const Update> run, std::span<const Task> tasks, Matcher<View>& matcher,
                          Worker& worker) const {
  std::size_t row_end = 0;  // of the tasks with the row of the last one
  for (std::size_t first = 0; first < tasks.size(); first += kTaken) {
    const std::size_t last = std::min(first + kTaken, tasks.size());
    const auto block = tasks.subspan(first, last - first);
    for (const Task& one : block) {
      graph_.prefetch(run[one.number].edge);
      lifetimes_.prefetch(run[one.number].edge);
    }
    for (const Task& one : block) {
      graph_.prefetch_rows(run[one.number].edge);
      lifetimes_.prefetch_ends(run[one.number].edge);
    }
    for (std::size_t at = first; at < last; ++at) {
      if (View::kHoles && at == row_end) {
        while (row_end < tasks.size() && tasks[row_end].row == tasks[at].row) ++row_end;
        worker.marked.keep(tasks[at].row, row_end - at);
      }
      match_task(run[tasks[at].number].edge, tasks[at].number, matcher, worker);
    }
  }
}

// Where the matches of the plans of a forest go, for one of the updates of a run.
struct Monitor::AtOnceFound {
  std::span<const Plan> plans;
  const Forest& forest;
  const Edge& edge;
  Moment task;
  Effect effect;
  Share& share;
  PlanBits concerned;
  std::uint32_t block;  // of candidates of level 2
  Matches matches;
  std::array<std::size_t, kMostPlans> first_word;

  AtOnceFound(std::span<const Plan> plans, const Forest& forest, const Edge& edge, Moment task, Effect effect,
              Share& share, PlanBits concerned, std::uint32_t block = 0)
      : plans(plans),
        forest(forest),
        edge(edge),
        task(task),
        effect(effect),
        share(share),
        concerned(concerned),
        block(block),
        matches(concerned) {
    for_each_plan(concerned & forest.listed,
                  [&](std::size_t number) { first_word[number] = rows(number).size(); });
  }
  const Plan& plan(std::size_t number) const { return plans[forest.plans[number]]; }
  void count(std::size_t number, Total more) { matches.add(number, more); }
  Column<Vertex>& rows(std::size_t number) { return share.rows[plan(number).pattern]; }
  void wrote(std::size_t number, std::size_t count) { matches.add(number, count); }
  bool appear(std::size_t number) const { return (effect == Effect::kAppear) != plan(number).inverse; }
  VertexSums& sums(std::size_t number) const { return share.moving[plan(number).pattern]; }
  void tally(std::size_t number, Vertex vertex, Total more) {
    sums(number).add(vertex, amount_of(more, plan(number).tallied.back().weight, appear(number)));
  }
  void finish() {
    for_each_plan(concerned & ~forest.listed, [&](std::size_t number) {
      if (!plan(number).tallied.empty())
        tally_ends(plan(number), edge, matches.of(number), appear(number), sums(number));
      share.count(plan(number), key(number), effect, multiplied(plan(number), matches.of(number)));
    });
    // Several plans of one pattern are of one group, and their rows are mixed.
    for (PlanBits left = concerned & forest.listed; left != 0;) {
      const auto first = static_cast<std::size_t>(std::countr_zero(left));
      Total rows = 0;
      for_each_plan(left, [&](std::size_t number) {
        if (plan(number).pattern != plan(first).pattern) return;
        add_checked(rows, matches.of(number));
        left &= ~(PlanBits{1} << number);
      });
      share.list(plan(first), key(first), rows, first_word[first]);
    }
  }
  Share::Key key(std::size_t number) const {
    return {task, forest.first + static_cast<std::uint32_t>(number), block};
  }
};

template <class View>
void Monitor::match_task(const Edge& edge, Moment number, Matcher<View>& matcher, Worker& worker) const {
  if constexpr (!View::kHoles) worker.rows.make_room();
  const View view = view_at(number, worker, static_cast<View*>(nullptr));
  Share& share = worker.share;
  const std::uint64_t before = matcher.worked();
  const Gate& gate = gated_[run_gates_[number]];
  matcher.begin(view, edge, plans_);
  for (const Forest& forest : gate.forests) {
    const auto [summed, rest] = matcher.divide(forest, matcher.concerned(forest, forest.all()));
    PlanBits searched = chosen(forest, rest, edge);
    if (workers_.size() > 1)
      for_each_plan(searched, [&](std::size_t one) {
        if ((searched >> one & 1) == 0 || !may_be_long(plans_[forest.plans[one]], edge)) return;
        const PlanBits together = put_off_with(forest, searched, one);
        share.put_off.push_back(
            {number, forest.first + static_cast<std::uint32_t>(std::countr_zero(together)), together});
        searched &= ~together;
      });
    const PlanBits plans = summed | searched;
    if (plans == 0) continue;
    AtOnceFound found(plans_, forest, edge, number, bulk_.effect(number), share, plans);
    if constexpr (!View::kHoles) matcher.sum(summed, found);
    matcher.match(forest, searched, found);
    found.finish();
  }
  if (tallies_.by_update()) share.end_task(number);
  if constexpr (!View::kHoles)
    if (worker.probe != nullptr && worker.probe->add_work(matcher.worked() - before))
      look_again(gate, view, edge, matcher, *worker.probe, *worker.watch);
}

// The plans of `plans` that are searched together with one of them from level 2 on, itself included.
PlanBits Monitor::put_off_with(const Forest& forest, PlanBits plans, std::size_t number) const {
  const PlanBits itself = PlanBits{1} << number;
  const Plan& plan = plans_[forest.plans[number]];
  const std::size_t branch = forest.branch_of(itself);
  if (plan.group == kNoNumber || branch == 0) return itself;
  PlanBits together = 0;
  for_each_plan(plans & forest.branches[branch].plans, [&](std::size_t one) {
    const Plan& other = plans_[forest.plans[one]];
    if (other.pattern == plan.pattern && other.group == plan.group) together |= PlanBits{1} << one;
  });
  return together;
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
    for (const Share::PutOff& search : worker.share.put_off) splits.emplace_back(search);
  if (splits.empty()) return;
  std::atomic<std::size_t> next{0};
  with_others(threads, pass.watch, [&](int index, Watch& watch) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    worker.watch = &watch;
    worker.template start<View>();
    Matcher<View> matcher(allowed_, watch, worker.memory, naming_.sets());
    for (std::size_t at; (at = next.fetch_add(1, std::memory_order_relaxed)) < splits.size();)
      match_blocks(splits[at], run[splits[at].search.task].edge, matcher, worker);
    for (Split& split : splits)
      if (split.left()) match_blocks(split, run[split.search.task].edge, matcher, worker);
  });
}

// Takes blocks of a search until there are none left.
template <class View>
void Monitor::match_blocks(Split& split, const Edge& edge, Matcher<View>& matcher, Worker& worker) const {
  if constexpr (!View::kHoles) worker.rows.make_room();
  const auto& [task, ordinal, together] = split.search;
  Share& share = worker.share;
  const View view = view_at(task, worker, static_cast<View*>(nullptr));
  const Gate& gate = gated_[run_gates_[task]];
  const Plan& plan = plans_[gate.plans[ordinal]];
  const Forest& forest = *(std::ranges::upper_bound(gate.forests, ordinal, {}, &Forest::first) - 1);
  const std::size_t branch = std::has_single_bit(together) ? 0 : forest.branch_of(together);
  const std::uint64_t before = matcher.worked();
  matcher.begin(view, edge, plans_);
  const std::size_t size = branch == 0 ? matcher.open(plan) : matcher.open(forest, branch);
  split.size.store(size, std::memory_order_relaxed);
  const std::size_t most = std::clamp<std::size_t>(size / (kBlocks * workers_.size()), 1, kMostBlock);
  for (std::size_t first; (first = split.taken.fetch_add(most, std::memory_order_relaxed)) < size;) {
    const std::size_t last = std::min(first + most, size);
    const Share::Key key{task, ordinal, static_cast<std::uint32_t>(first)};
    if (branch != 0) {
      AtOnceFound found(plans_, forest, edge, task, bulk_.effect(task), share, together, key.block);
      matcher.match_part(forest, branch, together, first, last, found);
      found.finish();
      continue;
    }
    if (!listed_[plan.pattern]) {
      count_part(plan, edge, key, first, last, matcher, share);
      continue;
    }
    Column<Vertex>& rows = share.rows[plan.pattern];
    const std::size_t first_word = rows.size();
    Total matches = 0;
    matcher.list_part(first, last, rows, [&](std::size_t count) { matches += count; });
    share.list(plan, key, matches, first_word);
  }
  if (tallies_.by_update()) share.end_task(task);
  if constexpr (!View::kHoles)
    if (worker.probe != nullptr && worker.probe->add_work(matcher.worked() - before)) {
      worker.probe->note(forest, together);
      worker.probe->look(view, edge, plans_, plans_version_, listed_, naming_.sets(), *worker.watch,
                         workers_.size());
    }
}

// Counts the matches of a part of a search for one plan, and those at tallied levels.
template <class View>
void Monitor::count_part(const Plan& plan, const Edge& edge, Share::Key key, std::size_t first,
                         std::size_t last, Matcher<View>& matcher, Share& share) const {
  const Effect effect = bulk_.effect(key.task);
  const bool appear = (effect == Effect::kAppear) != plan.inverse;
  Total found;
  if (plan.tallied.empty()) {
    found = matcher.count_part(first, last);
  } else {
    VertexSums& sums = share.moving[plan.pattern];
    const auto tally = [&](Vertex vertex, Total more) {
      sums.add(vertex, amount_of(more, plan.tallied.back().weight, appear));
    };
    found = plan.tallied_level() == kNone ? matcher.count_part(first, last)
                                          : matcher.tally_part(first, last, tally);
    tally_ends(plan, edge, found, appear, sums);
  }
  share.count(plan, key, effect, multiplied(plan, found));
}

// Puts the results of threads in the order of the updates, rows aside; returns the destinations of rows.
// `net`: the updates, if they are net changes that were not written first.
std::vector<Monitor::Place> Monitor::places_of_run(std::size_t first, std::span<const Update> net,
                                                   Pass& pass) const {
  const auto appears = [&](Moment task) {
    return net.empty() ? bulk_.effect(task) == Effect::kAppear : net[task].inserts;
  };
  std::vector<Place> places, scratch;
  bool split = false;
  for (const Worker& worker : workers_) {
    const Share& share = worker.share;
    split |= !share.put_off.empty();
    for (const Share::Matched& matched : share.matched) places.push_back({matched.key, &share, &matched});
    for (std::size_t pattern = 0; pattern < share.sums.size(); ++pattern)
      for (const bool appear : {false, true})
        pass.found.patterns[pattern].add(pass.number(first), appear, share.sums[pattern][appear]);
  }
  if (split) {
    sort_by(places, scratch, UINT32_MAX, [](const Place& one) { return one.key.block; });
    sort_by(places, scratch, static_cast<std::uint32_t>(plans_.size()),
            [](const Place& one) { return one.key.ordinal; });
  }
  sort_by(places, scratch, static_cast<std::uint32_t>(net.empty() ? run_gates_.size() : net.size()),
          [](const Place& one) { return one.key.task; });
  std::vector<std::size_t> words;
  for (const Found::OfPattern& one : pass.found.patterns) words.push_back(one.rows.size());
  for (Place& place : places) {
    const Share::Matched& matched = *place.matched;
    place.positive = appears(matched.key.task) != matched.inverse;
    Found::OfPattern& own = pass.found.patterns[matched.pattern];
    own.add(pass.number(first + matched.key.task), place.positive, matched.matches);
    if (matched.words == 0) continue;
    own.add_rows(pass.number(first + matched.key.task), place.positive,
                 static_cast<std::uint64_t>(matched.matches));
    place.first_word = words[matched.pattern];
    words[matched.pattern] += matched.words;
  }
  std::erase_if(places, [](const Place& place) { return place.matched->words == 0; });
  return places;
}

void Monitor::gather(std::size_t first, std::span<const Update> net, int threads, Pass& pass) {
  const std::vector<Place> places = places_of_run(first, net, pass);
  pass.run_words = 0;
  for (const Place& place : places) {
    Found::OfPattern& found = pass.found.patterns[place.matched->pattern];
    found.rows.extend(place.matched->words);
    pass.run_words += place.matched->words;
  }
  const Workers workers{pass.run_words < kFewWords ? 1 : threads, nullptr};
  parallel_for(workers, places.size(), kTaken, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto& [key, share, matched, positive, first_word] = places[at];
      std::copy_n(share->rows[matched->pattern].data() + matched->first_word, matched->words,
                  pass.found.patterns[matched->pattern].rows.data() + first_word);
    }
  });
  pass.count_words(pass.run_words);
  gather_tallies(first, places, pass);
}

// Adds what threads have found at vertices, and rows, to the counts that move, in the order of the updates if
// these are told apart. `places`: of rows, in this order.
void Monitor::gather_tallies(std::size_t first, std::span<const Place> places, Pass& pass) {
  if (!tallies_.any()) return;
  std::vector<Share::Moved> moved, scratch;
  for (Worker& worker : workers_) {
    for (std::size_t pattern = 0; pattern < worker.share.moving.size(); ++pattern)
      worker.share.moving[pattern].take(
          [&](Vertex vertex, Amount amount) { tallies_.of(pattern)->moving().add(vertex, amount); });
    moved.insert(moved.end(), worker.share.moved.begin(), worker.share.moved.end());
    worker.share.moved.clear();
  }
  pass.run_words += moved.size() * (sizeof(Share::Moved) / sizeof(Vertex));
  sort_by(moved, scratch, static_cast<std::uint32_t>(run_gates_.size()),
          [](const Share::Moved& one) { return one.task; });
  auto next = moved.begin();
  const auto add_until = [&](Moment task) {
    for (; next != moved.end() && next->task <= task; ++next) {
      tallies_.at(first + next->task);
      tallies_.of(next->pattern)->moving().add(next->vertex, next->amount);
    }
  };
  for (const auto& [key, share, matched, positive, first_word] : places) {
    VertexTally* const tally = tallies_.of(matched->pattern);
    if (tally == nullptr) continue;
    add_until(key.task);
    tallies_.at(first + key.task);
    tally->add_rows({share->rows[matched->pattern].data() + matched->first_word, matched->words},
                    matched->words / static_cast<std::size_t>(matched->matches), positive);
  }
  add_until(UINT32_MAX);
}

}  // namespace motiflux::dynamic
