#include "dynamic/monitor.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "motiflux/bits.hpp"

namespace motiflux::dynamic {
namespace {

// The plans of a gate from which the rows around an update are prefetched.
constexpr std::size_t kManyPlans = 16;

// Updates whose rows are prefetched.
constexpr std::size_t kAhead = 16;

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
  write_put_off();  // new plans may concern these updates
  if (listed_.size() <= pattern) listed_.resize(pattern + std::size_t{1});
  listed_[pattern] = listed;
  for (Plan& plan : plans) {
    plan.pattern = pattern;
    plans_.push_back(std::move(plan));
  }
  classes_seen_ = 0;
  forget_gates();
}

void Monitor::drop_pattern(std::uint32_t pattern) {
  std::erase_if(plans_, [&](const Plan& plan) { return plan.pattern == pattern; });
  classes_seen_ = 0;
  forget_gates();
}

void Monitor::forget_gates() {
  gated_.clear();
  gate_rows_.clear();
  gate_columns_.clear();
  row_labels_.clear();
  column_classes_.clear();
  gate_table_.clear();
}

// Writes what searches need to know of plans, which depends on all plans and on the classes.
void Monitor::prepare_plans() {
  naming_.name(plans_);
  memory_.forget();
  for (Memory& memory : memories_) memory.forget();
  for (Gate& gate : gated_) arrange(gate, plans_, listed_, graph_.relations());
  classes_seen_ = graph_.relations().classes().size();
}

// The gate of an edge from a vertex of this label, of this class, one of which is new.
std::uint32_t Monitor::find_gate(Label first, Class to) {
  try {
    add_to_gates(first, to);
  } catch (...) {
    forget_gates();
    throw;
  }
  const std::uint32_t row = gate_rows_[first], column = gate_columns_[to];
  return row == kNoPlan || column == kNoPlan ? 0 : gate_table_[row][column];
}

void Monitor::add_to_gates(Label first, Class to) {
  if (gated_.empty()) gated_.emplace_back();
  const auto& classes = graph_.relations().classes();
  const std::size_t old_rows = row_labels_.size(), old_columns = column_classes_.size();
  const auto number = [](std::vector<std::uint32_t>& numbers, std::uint32_t name, auto& names, bool in_plan) {
    if (numbers.size() <= name) numbers.resize(name + std::size_t{1}, kUnknown);
    if (numbers[name] != kUnknown) return;
    numbers[name] = in_plan ? static_cast<std::uint32_t>(names.size()) : kNoPlan;
    if (in_plan) names.push_back(name);
  };
  number(gate_rows_, first, row_labels_,
         std::any_of(plans_.begin(), plans_.end(), [&](const Plan& plan) { return plan.first.has(first); }));
  number(gate_columns_, to, column_classes_, std::any_of(plans_.begin(), plans_.end(), [&](const Plan& plan) {
           return plan.second.has(classes[to].vertex);
         }));
  gate_table_.resize(row_labels_.size());
  for (std::size_t row = 0; row < row_labels_.size(); ++row)
    for (std::size_t column = row < old_rows ? old_columns : 0; column < column_classes_.size(); ++column)
      gate_table_[row].push_back(gate_for(row_labels_[row], column_classes_[column]));
}

// The plans whose matches may use an edge from a vertex of this label, of this class.
std::uint32_t Monitor::gate_for(Label first, Class to) {
  const auto& [edge, second] = graph_.relations().classes()[to];
  std::vector<std::uint32_t> plans;
  for (std::uint32_t number = 0; number < plans_.size(); ++number) {
    const Plan& plan = plans_[number];
    if (!plan.first.has(first) || !plan.second.has(second)) continue;
    if (std::any_of(plan.pair.begin(), plan.pair.end(), [&, label = edge](const PairEdge& asked) {
          return (asked.way != Way::kIn || !graph_.directed()) &&
                 graph_.relations().accepts(asked.relation, label);
        }))
      plans.push_back(number);
  }
  if (plans.empty()) return 0;
  gated_.push_back({std::move(plans), {}});
  arrange(gated_.back(), plans_, listed_, graph_.relations());
  return static_cast<std::uint32_t>(gated_.size() - 1);
}

// Where the matches of the plans of a forest go, one update after another.
struct Monitor::Sequential {
  Monitor& monitor;
  const Forest& forest;
  std::uint64_t update;
  bool positive;
  Pass& pass;
  Matches matches;

  const Plan& plan(std::size_t number) const { return monitor.plans_[forest.plans[number]]; }
  Found::OfPattern& found(std::size_t number) const { return pass.found.patterns[plan(number).pattern]; }
  void count(std::size_t number, Total more) { matches.add(number, more); }
  Column<Vertex>& rows(std::size_t number) { return found(number).rows; }
  void wrote(std::size_t number, std::size_t count) {
    found(number).add_rows(update, positive, count);
    matches.add(number, count);
    pass.count_words(count * static_cast<std::size_t>(plan(number).levels()));
  }
  void finish(std::size_t number) {
    const bool listed = (forest.listed >> number & 1) != 0;
    found(number).add(update, positive,
                      listed ? matches.of(number) : multiplied(plan(number), matches.of(number)));
  }
};

// Finds the matches that appear or vanish with an edge, which is in the graph.
void Monitor::match(const Edge& edge, std::uint64_t update, bool positive, Pass& pass) {
  const Gate& gate = gated_[gate_of(edge)];
  const Now view{graph_};
  pass.matcher.begin(view, edge, plans_);
  if (gate.plans.size() >= kManyPlans) pass.matcher.prefetch_around();
  for (const Forest& forest : gate.forests) {
    const PlanBits plans = pass.matcher.concerned(forest, forest.all());
    if (plans == 0) continue;
    Sequential found{*this, forest, update, positive, pass, Matches(plans)};
    pass.matcher.match(forest, plans, found);
    for_each_plan(plans, [&](std::size_t number) { found.finish(number); });
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
  note_bulk();
  take_back_changes(graph_, done_);
  graph_.change_all();
  put_off_.take_back();
  graph_.count_edges(edges_before_);
}

// Notes the changes written in bulk so far, for undo.
void Monitor::note_bulk() {
  bulk_.for_each_done([&](const Done& done) { done_.push_back(done); });
  bulk_.start(1);
}

void Monitor::all_or_none(const std::function<void()>& work) {
  begin();
  try {
    work();
  } catch (...) {
    undo();
    throw;
  }
}

void Monitor::one_by_one(std::span<const Update> updates, std::size_t first, std::size_t last, bool put_off,
                         Pass& pass) {
  // The rows of an update are fetched in steps: labels, which decide whether the rows are needed, then the
  // rows.
  std::array<std::uint32_t, kAhead> gates;
  std::size_t looked = first;
  const auto look_ahead = [&](std::size_t number) {
    for (; looked < std::min(number + kAhead / 2, last); ++looked) {
      if (looked + kAhead < last) graph_.prefetch_labels(updates[looked + kAhead].edge);
      const std::uint32_t gate = gates[looked % kAhead] = gate_of(updates[looked].edge);
      if (!put_off || watched(gate)) graph_.prefetch(updates[looked].edge);
    }
    if (const std::size_t near = number + kAhead / 4;
        near < last && (!put_off || watched(gates[near % kAhead])))
      graph_.prefetch_rows(updates[near].edge);
  };
  for (std::size_t number = first; number < last; ++number) {
    if (number % 4096 == 4095 && !pass.watch.keep_going()) throw Stopped();
    look_ahead(number);
    const Update& update = updates[number];
    const std::uint32_t gate = gates[number % kAhead];
    if (!put_off || watched(gate)) {
      apply_one(update, pass.number(number), pass);
      continue;
    }
    defer(update.edge, update.inserts, pass);
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
  } else if (graph_.has(edge)) {
    match(edge, number, false, pass);
    erase(edge);
  } else {
    ++pass.found.noops;
  }
}

// Keeps an update that no search needs for later.
void Monitor::defer(const Edge& edge, bool inserts, Pass& pass) {
  put_off_.add(edge, graph_.relations().class_of(edge.label, graph_.label(edge.target)), inserts);
  if (put_off_.size() >= PutOff::kMany) write_put_off([&] { return pass.watch.keep_going(); });
}

void Monitor::write_put_off() {
  write_put_off([] { return true; });
}

void Monitor::write_put_off(const Bulk::GoOn& go_on) {
  // Those of earlier calls stay written if this call is undone.
  const std::uint64_t before = graph_.edges();
  put_off_.write_earlier(go_on);
  edges_before_ += graph_.edges() - before;
  put_off_.write_current(go_on, done_);
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
