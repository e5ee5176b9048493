#include "dynamic/monitor.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "common/parallel.hpp"

namespace motiflux::dynamic {
namespace {

// Updates whose rows are fetched before their turn.
constexpr std::size_t kAhead = 16;

// Seconds that an update must take to be worth matching several at once, which costs 1.5 us each; how many
// are matched one by one to find out; tasks of a run, for each thread; and how many one takes.
constexpr double kWorthThreads = 5e-6;
constexpr std::size_t kTrial = 256;
constexpr std::size_t kTasks = 512;
constexpr std::size_t kTaken = 8;

class ThreadWatch : public Watch {
 public:
  ThreadWatch(Watch* inner, std::atomic<bool>& stop) : inner_(inner), stop_(stop) {}
  bool keep_going() override {
    if (inner_ != nullptr && !inner_->keep_going()) stop_.store(true);
    return !stop_.load(std::memory_order_relaxed);
  }

 private:
  Watch* inner_;
  std::atomic<bool>& stop_;
};

}  // namespace

void Found::OfPattern::add(std::uint64_t update, bool positive, Total matches) {
  if (matches == 0) return;
  add_checked(positive ? this->positive : negative, matches);
  if (changes.empty() || changes.back().update != update) changes.push_back({update, 0});
  add_checked(changes.back().matches, matches);
}

std::uint32_t Monitor::add_list(std::vector<Vertex> ascending) {
  if (free_lists_.empty()) {
    allowed_.push_back(std::move(ascending));
    return static_cast<std::uint32_t>(allowed_.size() - 1);
  }
  const std::uint32_t number = free_lists_.back();
  free_lists_.pop_back();
  allowed_[number] = std::move(ascending);
  return number;
}

void Monitor::drop_list(std::uint32_t number) {
  std::vector<Vertex>().swap(allowed_[number]);
  free_lists_.push_back(number);
}

void Monitor::extend_list(std::uint32_t number, Vertex vertex) {
  auto& list = allowed_[number];
  const auto at = std::lower_bound(list.begin(), list.end(), vertex);
  if (at == list.end() || *at != vertex) list.insert(at, vertex);
}

void Monitor::keep_vertices(std::uint32_t count) {
  graph_.keep_vertices(count);
  for (std::vector<Vertex>& list : allowed_)
    list.erase(std::lower_bound(list.begin(), list.end(), count), list.end());
}

void Monitor::add_pattern(std::uint32_t pattern, std::vector<Plan> plans, bool listed) {
  if (listed_.size() <= pattern) listed_.resize(pattern + std::size_t{1});
  listed_[pattern] = listed;
  for (Plan& plan : plans) {
    plan.pattern = pattern;
    plans_.push_back(std::move(plan));
  }
  classes_seen_ = 0;
  gate_.clear();
  gated_.clear();
}

void Monitor::drop_pattern(std::uint32_t pattern) {
  std::erase_if(plans_, [&](const Plan& plan) { return plan.pattern == pattern; });
  gate_.clear();
  gated_.clear();
}

// What vertices must have, as far as it is one class.
void Monitor::find_needs() {
  classes_seen_ = graph_.relations().classes().size();
  for (Plan& plan : plans_) {
    plan.needs.assign(plan.steps.size(), {});
    for (const Step& step : plan.steps)
      for (const Source& source : step.sources) {
        const auto& classes = graph_.relations().target(source.target).classes;
        if (classes.size() != 1 || (graph_.directed() && source.way == Way::kEither)) continue;
        Needs& needs = plan.needs[static_cast<std::size_t>(source.level)];
        (graph_.directed() && source.way == Way::kIn ? needs.in : needs.out) |= Rows::bit(classes[0]);
      }
  }
}

// The list of the plans that an edge with these labels may concern.
std::uint32_t Monitor::gate_of(const Edge& edge) {
  const Label first = graph_.label(edge.source), second = graph_.label(edge.target);
  const GateKey key{first, graph_.relations().class_of(edge.label, second)};
  if (classes_seen_ != graph_.relations().classes().size()) find_needs();
  if (const std::uint32_t* known = gate_.find(key)) return *known;
  std::vector<std::uint32_t> plans;
  for (std::uint32_t number = 0; number < plans_.size(); ++number) {
    const Plan& plan = plans_[number];
    if (!plan.first.has(first) || !plan.second.has(second)) continue;
    if (std::any_of(plan.pair.begin(), plan.pair.end(), [&](const PairEdge& asked) {
          return (asked.way != Way::kIn || !graph_.directed()) &&
                 graph_.relations().accepts(asked.relation, edge.label);
        }))
      plans.push_back(number);
  }
  gated_.push_back(std::move(plans));
  return gate_[key] = static_cast<std::uint32_t>(gated_.size() - 1);
}

// Finds the matches that come or go with an edge that is there.
void Monitor::match(const Edge& edge, std::uint64_t update, bool positive, Pass& pass) {
  for (std::uint32_t number : plans_for(edge)) {
    const Plan& plan = plans_[number];
    Found::OfPattern& found = pass.found.patterns[plan.pattern];
    Total matches = 0;
    if (listed_[plan.pattern]) {
      pass.matcher.list(plan, Now{graph_}, edge, edge.source, edge.target, [&](std::span<const Vertex> row) {
        found.rows.insert(found.rows.end(), row.begin(), row.end());
        found.updates.push_back(update);
        found.positives.push_back(positive);
        ++matches;
        pass.words += row.size();
        if (pass.words < pass.most) return;
        pass.full();
        pass.words = 0;
      });
    } else {
      matches = pass.matcher.count(plan, Now{graph_}, edge, edge.source, edge.target);
    }
    found.add(update, positive, matches);
  }
}

bool Monitor::insert(const Edge& edge) {
  if (!graph_.insert(edge)) return false;
  done_.push_back({Done::kInserted, edge});
  return true;
}

bool Monitor::erase(const Edge& edge) {
  if (!graph_.erase(edge)) return false;
  done_.push_back({Done::kErased, edge});
  return true;
}

void Monitor::set_more_copies(const Edge& edge, std::uint64_t more) {
  const std::uint64_t before = graph_.more_copies(edge);
  if (before == more) return;
  graph_.set_more_copies(edge, more);
  done_.push_back({Done::kCopies, edge, before});
}

void Monitor::undo() {
  for (; !done_.empty(); done_.pop_back()) {
    const Done& last = done_.back();
    switch (last.kind) {
      case Done::kInserted:
        graph_.erase(last.edge);
        break;
      case Done::kErased:
        graph_.insert(last.edge);
        break;
      case Done::kCopies:
        graph_.set_more_copies(last.edge, last.more);
        break;
    }
  }
}

template <class Work>
void Monitor::or_nothing(Work&& work) {
  done_.clear();
  try {
    work();
  } catch (...) {
    undo();
    throw;
  }
}

void Monitor::apply_sequence(std::span<const Update> updates, int threads, AtOnce at_once, Found& found,
                             Watch& watch, std::size_t most, const std::function<void()>& full) {
  found.patterns.resize(listed_.size());
  Pass pass{found, {allowed_, watch}, most, full};
  done_.reserve(updates.size());
  or_nothing([&] {
    using Clock = std::chrono::steady_clock;
    bool together = threads > 1 && at_once == AtOnce::kOn;
    for (std::size_t first = 0; first < updates.size();) {
      if (threads == 1 || at_once == AtOnce::kOff) {
        one_by_one(updates, 0, updates.size(), pass, watch);
        return;
      }
      const Clock::time_point start = Clock::now();
      const std::size_t begin = first;
      if (together) {
        first = run_at_once(updates, first, threads, pass, watch);
      } else {
        first = std::min(first + kTrial, updates.size());
        one_by_one(updates, begin, first, pass, watch);
      }
      if (at_once == AtOnce::kOn) continue;
      // Of one thread, about: what is matched at once has to be worth what it takes to do so.
      const double share = together ? threads : 1;
      const std::chrono::duration<double> taken = (Clock::now() - start) * share;
      together = taken.count() > kWorthThreads * static_cast<double>(first - begin);
    }
  });
  lifetimes_.clear();
}

// Applies some updates from `first` on and matches them on so many threads; returns the first that is left.
std::size_t Monitor::run_at_once(std::span<const Update> updates, std::size_t first, int threads, Pass& pass,
                                 Watch& watch) {
  const std::size_t tasks = kTasks * static_cast<std::size_t>(threads);
  const std::size_t end = start_run(updates, first, tasks, pass.found, watch);
  std::vector<Share> shares(static_cast<std::size_t>(threads));
  match_run(threads, watch, shares);
  gather(shares, pass);
  lifetimes_.for_each_gone([&](const Edge& edge) { erase(edge); });
  return end;
}

void Monitor::one_by_one(std::span<const Update> updates, std::size_t first, std::size_t last, Pass& pass,
                         Watch& watch) {
  for (std::uint64_t number = first; number < last; ++number) {
    if (number % 4096 == 4095 && !watch.keep_going()) throw Stopped();
    if (number + kAhead < updates.size()) {
      graph_.prefetch(updates[number + kAhead].edge);
      graph_.prefetch_rows(updates[number + kAhead / 2].edge);
    }
    const auto& [edge, inserts] = updates[number];
    if (inserts) {
      if (insert(edge)) {
        match(edge, number, true, pass);
        continue;
      }
      ++pass.found.noops;
      if (count_copies_) set_more_copies(edge, graph_.more_copies(edge) + 1);
    } else if (const std::uint64_t more = graph_.more_copies(edge); more > 0) {
      set_more_copies(edge, more - 1);
    } else if (graph_.has(edge)) {
      match(edge, number, false, pass);
      erase(edge);
    } else {
      ++pass.found.noops;
    }
  }
}

// Applies updates from `first` on until there are so many tasks; edges that plans may concern and that go are
// left in the graph. Returns the first update that is left.
std::size_t Monitor::start_run(std::span<const Update> updates, std::size_t first, std::size_t tasks,
                               Found& found, Watch& watch) {
  lifetimes_.clear();
  tasks_.clear();
  std::size_t number = first;
  for (; number < updates.size() && tasks_.size() < tasks; ++number) {
    if (number % 4096 == 4095 && !watch.keep_going()) throw Stopped();
    const auto& [edge, inserts] = updates[number];
    const auto moment = static_cast<Moment>(number - first);
    const std::uint32_t gate = gate_of(edge);
    const bool watched = !gated_[gate].empty();
    const bool there = graph_.has(edge) && (!watched || lifetimes_.is_there(edge));
    if (!there && !inserts) {
      ++found.noops;
    } else if (there && inserts) {
      ++found.noops;
      if (count_copies_) set_more_copies(edge, graph_.more_copies(edge) + 1);
    } else if (const std::uint64_t more = graph_.more_copies(edge); !inserts && more > 0) {
      set_more_copies(edge, more - 1);
    } else if (!watched) {
      inserts ? insert(edge) : erase(edge);
    } else {
      if (inserts) {
        insert(edge);  // unless it went in this run
        lifetimes_.begin(edge, moment);
      } else {
        lifetimes_.end(edge, moment);
      }
      tasks_.push_back({number, moment, inserts, edge, gate});
    }
  }
  if (classes_seen_ != graph_.relations().classes().size()) find_needs();
  lifetimes_.sort();
  return number;
}

// Matches all tasks on so many threads; this one looks after signals.
void Monitor::match_run(int threads, Watch& watch, std::vector<Share>& shares) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  const auto body = [&](int index) {
    ThreadWatch guarded(index == 0 ? &watch : nullptr, stop);
    Matcher<AtMoment> matcher(allowed_, guarded);
    Share& share = shares[static_cast<std::size_t>(index)];
    share.rows.resize(listed_.size());
    try {
      for (;;) {
        const std::size_t first = next.fetch_add(kTaken, std::memory_order_relaxed);
        if (first >= tasks_.size()) return;
        const std::size_t last = std::min(first + kTaken, tasks_.size());
        for (std::size_t number = first; number < last; ++number)
          match_task(static_cast<std::uint32_t>(number), matcher, share);
        if (!guarded.keep_going()) throw Stopped();
      }
    } catch (...) {
      stop.store(true);
      throw;
    }
  };
  if (tasks_.size() <= kTaken)
    body(0);
  else
    on_threads(threads, body);
}

void Monitor::match_task(std::uint32_t number, Matcher<AtMoment>& matcher, Share& share) const {
  const Task& task = tasks_[number];
  const AtMoment view{graph_, lifetimes_, task.moment};
  for (std::uint32_t at : gated_[task.gate]) {
    const Plan& plan = plans_[at];
    auto& rows = share.rows[plan.pattern];
    const std::size_t first_word = rows.size();
    Total matches = 0;
    if (listed_[plan.pattern]) {
      matcher.list(plan, view, task.edge, task.edge.source, task.edge.target,
                   [&](std::span<const Vertex> row) {
                     rows.insert(rows.end(), row.begin(), row.end());
                     ++matches;
                   });
    } else {
      matches = matcher.count(plan, view, task.edge, task.edge.source, task.edge.target);
    }
    if (matches > 0)
      share.matched.push_back({number, plan.pattern, matches, first_word, rows.size() - first_word});
  }
}

// Puts what threads found in the order of the updates.
void Monitor::gather(std::vector<Share>& shares, Pass& pass) {
  struct Piece {
    const Share::Matched* matched;
    const Share* share;
  };
  std::vector<Piece> pieces;
  for (const Share& share : shares)
    for (const Share::Matched& matched : share.matched) pieces.push_back({&matched, &share});
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.matched->task < b.matched->task; });
  for (const auto& [matched, share] : pieces) {
    const Task& task = tasks_[matched->task];
    Found::OfPattern& found = pass.found.patterns[matched->pattern];
    found.add(task.update, task.positive, matched->matches);
    if (matched->words == 0) continue;
    const auto first =
        share->rows[matched->pattern].begin() + static_cast<std::ptrdiff_t>(matched->first_word);
    found.rows.insert(found.rows.end(), first, first + static_cast<std::ptrdiff_t>(matched->words));
    const auto rows = static_cast<std::size_t>(matched->matches);
    found.updates.insert(found.updates.end(), rows, task.update);
    found.positives.insert(found.positives.end(), rows, task.positive);
    pass.words += matched->words;
    if (pass.words < pass.most) continue;
    pass.full();
    pass.words = 0;
  }
}

// What the updates come to, each edge once, in the order of their first mention.
std::vector<Monitor::Net> Monitor::net_changes(std::span<const Update> updates, std::uint64_t& noops) const {
  FlatMap<Edge, std::size_t> places;
  std::vector<Net> net;
  for (const auto& [edge, inserts] : updates) {
    const std::size_t* known = places.find(edge);
    if (known == nullptr) {
      const std::uint64_t copies = graph_.copies(edge);
      places[edge] = net.size();
      net.push_back({edge, copies, copies});
      known = places.find(edge);
    }
    std::uint64_t& copies = net[*known].after;
    noops += (copies > 0) == inserts;
    if (!inserts && copies == 0) continue;
    if (inserts && copies > 0 && !count_copies_) continue;
    copies = inserts ? copies + 1 : copies - 1;
  }
  return net;
}

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

// Where a query edge has a witness before and after but none that stays, it must not notice: an edge that
// only its relation accepts stands in while the others change.
std::vector<Edge> Monitor::stand_ins(std::span<const Net> net) const {
  struct Change {
    Vertex low, high;
    const Net* net;
  };
  std::vector<Change> changes;
  for (const Net& one : net)
    if ((one.before > 0) != (one.after > 0))
      changes.push_back(
          {std::min(one.edge.source, one.edge.target), std::max(one.edge.source, one.edge.target), &one});
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(a.low, a.high) < std::pair(b.low, b.high);
  });
  std::vector<Edge> needed;
  const auto& relations = graph_.relations().all();
  for (std::size_t first = 0, last; first < changes.size(); first = last) {
    last = first + 1;
    const auto [low, high, unused] = changes[first];
    while (last < changes.size() && changes[last].low == low && changes[last].high == high) ++last;
    if (last - first < 2) continue;
    std::vector<Edge> kept = between(low, high), lost, gained;
    for (std::size_t at = first; at < last; ++at) {
      const Net& one = *changes[at].net;
      (one.after > 0 ? gained : lost).push_back(one.edge);
      std::erase(kept, one.edge);
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

void Monitor::apply_batch(std::span<const Update> updates, Found& found, Watch& watch, std::size_t most,
                          const std::function<void()>& full) {
  found.patterns.resize(listed_.size());
  Pass pass{found, {allowed_, watch}, most, full};
  or_nothing([&] {
    const std::vector<Net> net = net_changes(updates, found.noops);
    const std::vector<Edge> standing = stand_ins(net);
    for (const Edge& edge : standing) insert(edge);
    std::size_t looked = 0;
    const auto look = [&] {
      if (++looked % 4096 == 0 && !watch.keep_going()) throw Stopped();
    };
    // From what was to what stays, then to what is: matches lost are found on the way down, those gained on
    // the way up, each with the first edge it loses or the last it gains.
    for (const auto& [edge, before, after] : net) {
      look();
      if (before == 0 || after > 0) continue;
      set_more_copies(edge, 0);
      match(edge, 0, false, pass);
      erase(edge);
    }
    for (const auto& [edge, before, after] : net) {
      look();
      if (before == 0 && after > 0) {
        insert(edge);
        match(edge, 0, true, pass);
      }
      if (after > 0) set_more_copies(edge, after - 1);
    }
    for (const Edge& edge : standing) erase(edge);
  });
}

std::size_t Monitor::first_noop(std::span<const Update> updates) const {
  FlatMap<Edge, std::uint64_t> copies;
  for (std::size_t number = 0; number < updates.size(); ++number) {
    const auto& [edge, inserts] = updates[number];
    if (copies.find(edge) == nullptr) copies[edge] = graph_.copies(edge);
    std::uint64_t& now = *copies.find(edge);
    if (inserts == (now > 0)) return number;
    now = inserts ? 1 : now - 1;
  }
  return updates.size();
}

}  // namespace motiflux::dynamic
