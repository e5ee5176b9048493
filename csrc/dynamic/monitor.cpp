#include "dynamic/monitor.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "motiflux/bits.hpp"

namespace motiflux::dynamic {
namespace {

// Updates whose gates are found together; whose labels, and of those with a plan, whose rows are fetched
// ahead.
constexpr std::size_t kBlock = 64, kAhead = 16, kNear = 4;
constexpr std::size_t kBetweenChecks = 64 * kBlock;

// Updates that were put off and are written while a stream waits for input.
constexpr std::size_t kFew = 64;

// The plans of a gate from which the rows around an update are prefetched.
constexpr std::size_t kManyPlans = 16;

}  // namespace

void Found::OfPattern::add(std::uint64_t update, bool positive, Total matches) {
  if (matches == 0) return;
  add_checked(positive ? this->positive : negative, matches);
  // Where edges must not be there, an update may bring matches and take others.
  auto at = changes.end();
  while (at != changes.begin() && (at - 1)->update == update) {
    --at;
    if (at->positive == positive) {
      add_checked(at->matches, matches);
      return;
    }
  }
  changes.push_back({update, matches, positive});
}

void Monitor::filter_by(Filter filter, std::uint32_t bits) {
  if (filter == filter_ && bits == filter_bits_) return;
  filter_ = filter;
  filter_bits_ = bits;
  naming_.require_classes(filter != Filter::kNone);
  ++plans_version_;
  classes_seen_ = 0;
}

void Monitor::accept(Label label, std::span<const std::uint32_t> relations) {
  finish_writing();
  graph_.relations().accept(label, relations);
  ++plans_version_;
  classes_seen_ = 0;
  forget_gates();
}

std::uint32_t Monitor::add_list(std::vector<Vertex> ascending) {
  ++lists_version_;
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
  ++lists_version_;
  std::vector<Vertex>().swap(allowed_[number]);
  free_lists_.push_back(number);
}

void Monitor::extend_list(std::uint32_t number, Vertex vertex) {
  ++lists_version_;
  auto& list = allowed_[number];
  const auto at = std::lower_bound(list.begin(), list.end(), vertex);
  if (at == list.end() || *at != vertex) list.insert(at, vertex);
}

void Monitor::keep_vertices(std::uint32_t count) {
  finish_writing();
  graph_.keep_vertices(count);
  ++lists_version_;
  for (std::vector<Vertex>& list : allowed_)
    list.erase(std::lower_bound(list.begin(), list.end(), count), list.end());
}

void Monitor::add_pattern(std::uint32_t pattern, std::vector<Plan> plans, bool listed) {
  write_put_off();  // new plans may concern these updates
  ++plans_version_;
  if (listed_.size() <= pattern) listed_.resize(pattern + std::size_t{1});
  listed_[pattern] = listed;
  for (Plan& plan : plans) {
    plan.pattern = pattern;
    plans_.push_back(std::move(plan));
  }
  classes_seen_ = 0;
  forget_gates();
}

void Monitor::replace_plans(std::uint32_t pattern, std::vector<Plan> plans, bool probed) {
  write_put_off();
  std::vector<Plan> all;
  all.reserve(plans_.size() + plans.size());  // so that the following cannot fail
  for (Plan& plan : plans_)
    if (plan.pattern != pattern) all.push_back(std::move(plan));
  for (Plan& plan : plans) {
    plan.pattern = pattern;
    all.push_back(std::move(plan));
  }
  if (!probed) probe_.forget(pattern);
  ++plans_version_;
  plans_ = std::move(all);
  classes_seen_ = 0;
  forget_gates();
}

void Monitor::race(Probe::Place place, std::vector<PlacePlans> alternatives) {
  PlacePlans used;
  std::uint32_t at = 0;
  for (const Plan& plan : plans_) {
    if (plan.pattern != place.pattern) continue;
    at += !plan.replaces_last;
    if (at != place.place + 1) continue;
    used.push_back(plan);
    used.back().columns.clear();  // alternatives have none, and those of the monitor may change meanwhile
  }
  if (used.empty()) return;
  probe_.race(place, std::move(used), std::move(alternatives));
}

void Monitor::drop_pattern(std::uint32_t pattern) {
  probe_.forget(pattern);
  tallies_.drop(pattern);
  ++plans_version_;
  std::erase_if(plans_, [&](const Plan& plan) { return plan.pattern == pattern; });
  classes_seen_ = 0;
  forget_gates();
}

void Monitor::forget_gates() {
  gated_.clear();
  gate_rows_.clear();
  gate_columns_.clear();
  gate_table_.clear();
}

// Prepares the plans anew if new classes concern them: rare labels come one by one.
void Monitor::see_classes() {
  const std::size_t size = graph_.relations().classes().size();
  bool concern = classes_seen_ == 0;
  for (std::size_t of = classes_seen_; of < size && !concern; ++of)
    concern = concerns_plans(static_cast<Class>(of));
  if (concern)
    prepare_plans();
  else
    classes_seen_ = size;
}

// Whether vertices of the label of this class may be in matches.
bool Monitor::concerns_plans(Class of) const {
  const Label label = graph_.relations().classes()[of].vertex;
  return std::ranges::any_of(plans_, [&](const Plan& plan) {
    return plan.first.has(label) || plan.second.has(label) ||
           std::ranges::any_of(plan.steps, [&](const Step& step) {
             return std::ranges::any_of(step.sources, [&](const Source& source) {
               return graph_.relations().target(source.target).vertices.has(label);
             });
           });
  });
}

// Writes what searches need to know of plans, which depends on all plans and on the classes.
void Monitor::prepare_plans() {
  std::vector<CandidateColumn> columns;
  if (filter_ == Filter::kTable)
    columns = candidate_columns(plans_, graph_.relations(), graph_.directed());
  else
    for (Plan& plan : plans_) plan.columns.clear();
  graph_.set_candidates(std::move(columns), filter_bits_);
  naming_.name(plans_);
  probe_.follow_names();
  memory_.forget();
  for (Worker& worker : workers_) worker.memory.forget();
  for (Gate& gate : gated_) arrange(gate, plans_, listed_, graph_);
  classes_seen_ = graph_.relations().classes().size();
}

// The gate of an edge from a vertex of this label, of this class, if it is not in the table yet.
std::uint32_t Monitor::find_gate(Label first, Class to) {
  try {
    extend_gates(first);
    std::uint32_t& gate = gate_table_[gate_rows_[first]][gate_columns_[to]];
    if (gate == kUnknown) gate = gate_for(first, to);
    return gate;
  } catch (...) {
    forget_gates();
    throw;
  }
}

// Makes the table reach a label and all classes.
void Monitor::extend_gates(Label first) {
  if (gated_.empty()) gated_.emplace_back();
  const auto& classes = graph_.relations().classes();
  std::uint32_t rows = gate_table_.empty() ? 1 : static_cast<std::uint32_t>(gate_table_.size());
  std::uint32_t columns = gate_table_.empty() ? 1 : static_cast<std::uint32_t>(gate_table_[0].size());
  if (first >= gate_rows_.size()) {
    // Twice as many labels as there were: most calls then find all labels of the graph.
    const std::size_t end = std::max(2 * gate_rows_.size(), first + std::size_t{1});
    const std::vector<bool> asked = asked_labels(&Plan::first, end);
    while (gate_rows_.size() < end) gate_rows_.push_back(asked[gate_rows_.size()] ? rows++ : 0);
  }
  if (gate_columns_.size() < classes.size()) {
    Label most = 0;
    for (const auto& [edge, vertex] : classes) most = std::max(most, vertex);
    const std::vector<bool> asked = asked_labels(&Plan::second, most + std::size_t{1});
    while (gate_columns_.size() < classes.size())
      gate_columns_.push_back(asked[classes[gate_columns_.size()].vertex] ? columns++ : 0);
  }
  gate_table_.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    gate_table_[row].resize(columns, row == 0 ? 0 : kUnknown);
    gate_table_[row][0] = 0;
  }
}

// Of the labels below `end`, those that a plan accepts at one end of its pair.
std::vector<bool> Monitor::asked_labels(LabelSet Plan::* at, std::size_t end) const {
  std::vector<bool> asked(end, false);
  for (const Plan& plan : plans_) {
    const auto& codes = (plan.*at).codes;
    if (!codes) return std::vector<bool>(end, true);
    for (const Label code : *codes)
      if (code < end) asked[code] = true;
  }
  return asked;
}

// The plans whose matches may use an edge from a vertex of this label, of this class.
std::uint32_t Monitor::gate_for(Label first, Class to) {
  const auto& [edge, second] = graph_.relations().classes()[to];
  std::vector<std::uint32_t> plans;
  for (std::uint32_t number = 0; number < plans_.size(); ++number) {
    const Plan& plan = plans_[number];
    if (!plan.first.has(first) || !plan.second.has(second)) continue;
    const auto& pair = plan.inverse ? plan.pair_absent : plan.pair;
    if (std::any_of(pair.begin(), pair.end(), [&, label = edge](const PairEdge& asked) {
          return (asked.way != Way::kIn || !graph_.directed()) &&
                 graph_.relations().accepts(asked.relation, label);
        }))
      plans.push_back(number);
  }
  if (plans.empty()) return 0;
  gated_.push_back({first, second, edge, std::move(plans), {}});
  arrange(gated_.back(), plans_, listed_, graph_);
  return static_cast<std::uint32_t>(gated_.size() - 1);
}

// Where the matches of the plans of a forest go, one update after another.
struct Monitor::Sequential {
  Monitor& monitor;
  const Forest& forest;
  const Edge& edge;
  std::uint64_t update;
  bool positive;
  Pass& pass;
  Matches matches;

  const Plan& plan(std::size_t number) const { return monitor.plans_[forest.plans[number]]; }
  Found::OfPattern& found(std::size_t number) const { return pass.found.patterns[plan(number).pattern]; }
  void count(std::size_t number, Total more) { matches.add(number, more); }
  VertexSums& sums(std::size_t number) const { return monitor.tallies_.of(plan(number).pattern)->moving(); }
  void tally(std::size_t number, Vertex vertex, Total more) {
    sums(number).add(vertex, amount_of(more, plan(number).tallied.back().weight, appear(number)));
  }
  Column<Vertex>& rows(std::size_t number) { return found(number).rows; }
  bool appear(std::size_t number) const { return positive != plan(number).inverse; }
  void wrote(std::size_t number, std::size_t count) {
    found(number).add_rows(update, appear(number), count);
    matches.add(number, count);
    if (VertexTally* const tally = monitor.tallies_.of(plan(number).pattern)) {
      const std::size_t width = plan(number).width();
      tally->add_rows(rows(number).all().last(count * width), width, appear(number));
    }
    pass.count_words(count * plan(number).width());
  }
  void finish(std::size_t number) {
    const bool listed = (forest.listed >> number & 1) != 0;
    if (!listed && !plan(number).tallied.empty())
      tally_ends(plan(number), edge, matches.of(number), appear(number), sums(number));
    found(number).add(update, appear(number),
                      listed ? matches.of(number) : multiplied(plan(number), matches.of(number)));
  }
};

void Monitor::settle_tallies(Found& found) {
  if (!tallies_.any()) return;
  tallies_.settle();
  found.patterns.resize(std::max(found.patterns.size(), tallies_.patterns()));
  for (std::size_t pattern = 0; pattern < tallies_.patterns(); ++pattern)
    if (VertexTally* const tally = tallies_.of(pattern)) {
      std::vector<Passing> passings = tally->take_passings();
      auto& all = found.patterns[pattern].passings;
      all.insert(all.end(), passings.begin(), passings.end());
    }
}

// Finds the matches that appear or vanish with an edge, which is in the graph.
void Monitor::match(const Edge& edge, std::uint64_t update, bool positive, Pass& pass) {
  const Gate& gate = gated_[gate_of(edge)];
  const Now view{graph_};
  const std::uint64_t before = pass.matcher.worked();
  tallies_.at(update);
  pass.matcher.begin(view, edge, plans_);
  if (gate.plans.size() >= kManyPlans) pass.matcher.prefetch_around();
  for (const Forest& forest : gate.forests) {
    const auto [summed, rest] = pass.matcher.divide(forest, pass.matcher.concerned(forest, forest.all()));
    const PlanBits searched = chosen(forest, rest, edge), plans = summed | searched;
    if (plans == 0) continue;
    Sequential found{*this, forest, edge, update, positive, pass, Matches(plans)};
    pass.matcher.sum(summed, found);
    pass.matcher.match(forest, searched, found);
    for_each_plan(plans, [&](std::size_t number) { found.finish(number); });
  }
  if (probe_.add_work(pass.matcher.worked() - before)) [[unlikely]]
    look_again(gate, view, edge, pass.matcher, probe_, pass.watch);
}

// Of two plans for one place, takes out the one whose search for this edge is longer.
PlanBits Monitor::chosen(const Forest& forest, PlanBits plans, const Edge& edge) const {
  for_each_plan(plans & forest.paired, [&](std::size_t one) {
    const Plan* const plan = &plans_[forest.plans[one]];
    const Plan* const first = plan->replaces_last ? plan - 1 : plan;
    const bool replaced = search_cost(graph_, first[1], edge) < search_cost(graph_, first[0], edge);
    if (replaced != plan->replaces_last) plans &= ~(PlanBits{1} << one);
  });
  return plans;
}

// Makes room for one more change, so that one that was made can be noted.
void Monitor::reserve_done() {
  if (log_.done.size() == log_.done.capacity())
    log_.done.reserve(std::max<std::size_t>(16, 2 * log_.done.size()));
}

bool Monitor::insert(const Edge& edge) {
  reserve_done();
  if (!graph_.insert(edge)) return false;
  log_.done.push_back({Done::kInserted, edge});
  return true;
}

bool Monitor::erase(const Edge& edge) {
  reserve_done();
  if (!graph_.erase(edge)) return false;
  log_.done.push_back({Done::kErased, edge});
  return true;
}

void Monitor::set_more_copies(const Edge& edge, std::uint64_t more) {
  const std::uint64_t before = graph_.more_copies(edge);
  if (before == more) return;
  reserve_done();
  graph_.set_more_copies(edge, more);
  log_.done.push_back({Done::kCopies, edge, before});
}

void Monitor::undo() {
  writing_.stop();
  bulk_.take_back();
  bulk_.start(1);
  take_back_changes(graph_, log_.written.all());
  log_.written = Column<Update>();
  take_back_changes(graph_, log_.done);
  for (; !log_.done_before.empty(); log_.done_before.pop_back())
    take_back_changes(graph_, log_.done_before.back());
  graph_.change_all();
  put_off_.take_back();
  tallies_.undo();
  graph_.count_edges(log_.edges_before);
}

// Notes the changes written in bulk so far, for undo.
void Monitor::note_bulk() {
  bulk_.for_each_done([&](std::vector<Done>& changes) {
    if (changes.empty()) return;
    if (log_.done_before.size() + 2 > log_.done_before.capacity())  // so that the following cannot fail
      log_.done_before.reserve(2 * log_.done_before.size() + 2);
    if (!log_.done.empty()) log_.done_before.push_back(std::exchange(log_.done, {}));
    log_.done_before.push_back(std::exchange(changes, {}));
  });
  bulk_.start(1);
}

void Monitor::all_or_none(const std::function<void()>& work) {
  if (!log_.is_new) begin();
  const std::uint64_t call = log_.call;
  log_.is_new = false;
  try {
    work();
  } catch (...) {
    take_back(call);
    throw;
  }
}

void Monitor::one_by_one(std::span<const Update> updates, std::size_t first, std::size_t last, bool put_off,
                         Pass& pass) {
  // Blocks of updates: first their gates, which labels determine, then those that need rows, which are
  // fetched meanwhile, in two steps. The others are only noted.
  std::array<std::uint32_t, kBlock> needed;
  for (std::size_t begin = first, end; begin < last; begin = end) {
    if (begin > first && (begin - first) % kBetweenChecks == 0 && !pass.watch.keep_going()) throw Stopped();
    end = std::min(begin + kBlock, last);
    std::size_t count = 0;
    for (std::size_t number = begin; number < end; ++number) {
      if (number + kAhead < last) graph_.prefetch_labels(updates[number + kAhead].edge);
      const auto& [edge, inserts] = updates[number];
      const Class to = graph_.relations().class_of(edge.label, graph_.label(edge.target));
      if (put_off && !watched(gate_of(edge, to))) {
        note_for_later(edge, to, inserts);
        continue;
      }
      graph_.prefetch(edge);
      needed[count++] = static_cast<std::uint32_t>(number - begin);
    }
    if (put_off_.is_full()) write_put_off(pass.threads, pass.watch);
    for (std::size_t at = 0; at < count; ++at) {
      if (at + kNear < count) graph_.prefetch_rows(updates[begin + needed[at + kNear]].edge);
      progress_.update = begin + needed[at];
      apply_one(updates[progress_.update], pass.number(progress_.update), pass);
    }
  }
}

void Monitor::apply_one(const Update& update, std::uint64_t number, Pass& pass) {
  const auto& [edge, inserts] = update;
  if (inserts) {
    if (insert(edge)) {
      match(edge, number, true, pass);
      return;
    }
    ++pass.found.noops;
    if (count_copies_) set_more_copies(edge, graph_.more_copies(edge) + 1);
  } else if (const std::uint64_t more = graph_.more_copies(edge); more > 0) {
    set_more_copies(edge, more - 1);
  } else if (graph_.find(edge)) {  // looks at both rows at once, so that they are in the cache afterwards
    match(edge, number, false, pass);
    erase(edge);  // looked up again: a reader of the matches may have had updates written that were put off
  } else {
    ++pass.found.noops;
  }
}

// `to`: the class of the edge.
void Monitor::note_for_later(const Edge& edge, Class to, bool inserts) {
  const Class from = inserts ? graph_.relations().class_of(edge.label, graph_.label(edge.source)) : to;
  put_off_.add(edge, to, from, inserts);
}

void Monitor::write_put_off(int threads) {
  Unwatched watch;
  write_put_off(threads, watch);
}

bool Monitor::write_some_put_off() {
  begin();
  const bool any = put_off_.write_few(kFew);
  log_.edges_before = graph_.edges();
  return any;
}

void Monitor::write_put_off(int threads, Watch& watch) {
  check_log();
  finish_writing();
  // Those of earlier calls stay written if this call is undone.
  const std::uint64_t before = graph_.edges();
  put_off_.write_earlier(threads, watch);
  log_.edges_before += graph_.edges() - before;
  put_off_.write_current(threads, watch, log_.done);
}

std::size_t Monitor::first_noop(std::span<const Update> updates) const {
  finish_writing();
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
