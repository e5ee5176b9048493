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

// Of a row, as many classes are looked up to choose a plan; for more, its length is taken.
constexpr std::size_t kFewClasses = 8;

// Updates that were put off and are written while a stream waits for input.
constexpr std::size_t kFew = 64;

}  // namespace

void Found::OfPattern::add(std::uint64_t update, bool positive, Total matches) {
  if (matches == 0) return;
  add_checked(positive ? this->positive : negative, matches);
  if (changes.empty() || changes.back().update != update) changes.push_back({update, 0});
  add_checked(changes.back().matches, matches);
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

void Monitor::drop_pattern(std::uint32_t pattern) {
  ++plans_version_;
  std::erase_if(plans_, [&](const Plan& plan) { return plan.pattern == pattern; });
  forget_gates();
}

void Monitor::forget_gates() {
  gated_.clear();
  gate_rows_.clear();
  gate_columns_.clear();
  gate_table_.clear();
}

// Computes Plan::needs, required neighbours where these are of one class, and Plan::remembered.
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
    plan.remembered.clear();
    for (int level = 0; level < plan.levels(); ++level)
      plan.remembered.push_back(what_to_remember(plan, level));
  }
}

// What a level may remember.
Remembered Monitor::what_to_remember(const Plan& plan, int level) {
  Remembered found;
  if (level < 2) return found;
  find_keys(plan, level, found);
  const Step& step = plan.steps[static_cast<std::size_t>(level)];
  if (const Source* last = closing_source(step, level)) {
    const Step* before = &plan.steps[static_cast<std::size_t>(level) - 1];
    while (before->sources.empty()) before = &plan.steps[static_cast<std::size_t>(before->reuse)];
    Relations& relations = graph_.relations();
    const LabelSet labels = relations.target(before->sources[0].target).vertices;
    found.back = relations.target(last->relation, labels);
  }
  const bool reused = std::any_of(plan.steps.begin(), plan.steps.end(),
                                  [&](const Step& other) { return other.reuse == level; });
  const Needs& needs = plan.needs[static_cast<std::size_t>(level)];
  std::vector<std::uint32_t> row;
  if (is_row(step)) row = row_of(step.sources[0]);
  if (!row.empty() && !reused && (needs.out | needs.in) != 0) {
    std::vector<std::uint32_t> name{0};
    name.insert(name.end(), row.begin(), row.end());
    for (std::uint64_t word : {needs.out, needs.in}) {
      name.push_back(static_cast<std::uint32_t>(word >> 32));
      name.push_back(static_cast<std::uint32_t>(word));
    }
    found.row = number_of(std::move(name));
  }
  if (!find_leaves(plan, level, found)) return found;
  if (row.empty() || (step.after | step.before) != 0) return found;
  std::vector<std::uint32_t> name{1};
  name.insert(name.end(), row.begin(), row.end());
  for (const Remembered::Leaves& leaves : found.leaves) {
    name.insert(name.end(), {leaves.of, static_cast<std::uint32_t>(leaves.way),
                             static_cast<std::uint32_t>(leaves.levels)});
    for (int chain : leaves.chains) name.push_back(static_cast<std::uint32_t>(chain));
    name.push_back(0);
  }
  found.sum = number_of(std::move(name));
  return found;
}

// If a level closes cycles, the source that is the level before: its other source is an earlier level.
const Source* Monitor::closing_source(const Step& step, int level) const {
  if (level < 3 || step.sources.size() != 2 || step.reuse != kNone || step.allowed != kNone ||
      (step.after | step.before) != 0)
    return nullptr;
  const auto is_last = [&](const Source& source) { return source.level == level - 1; };
  const bool hidden = step.sources[0].before_change || step.sources[1].before_change;
  if (hidden || std::ranges::count_if(step.sources, is_last) != 1) return nullptr;
  return &*std::ranges::find_if(step.sources, is_last);
}

// Finds the levels that the number of ways to match this level and all later ones depends on.
void Monitor::find_keys(const Plan& plan, int level, Remembered& found) const {
  std::uint32_t used = 0;
  for (int later = level; later < plan.levels(); ++later) {
    const Step& step = plan.steps[static_cast<std::size_t>(later)];
    used |= step.after | step.before | step.distinct;
    for (int at = later; at != kNone; at = plan.steps[static_cast<std::size_t>(at)].reuse)
      for (const Source& source : plan.steps[static_cast<std::size_t>(at)].sources)
        used |= std::uint32_t{1} << source.level;
  }
  used &= bits_below(static_cast<std::uint32_t>(level)) & ~std::uint32_t{3};
  const std::uint32_t keys = count_bits(used);
  // Unless levels were matched that it does not depend on, no key comes twice.
  if (keys > found.keys.size() || static_cast<std::uint32_t>(level) - 2 <= keys) return;
  found.kept = true;
  found.keys.fill(static_cast<std::uint8_t>(keys == 0 ? 0 : lowest_bit(used)));
  if (keys == 2) found.keys[1] = static_cast<std::uint8_t>(lowest_bit(used & (used - 1)));
}

// Whether the later levels are leaves of a level and components that do not depend on it.
bool Monitor::find_leaves(const Plan& plan, int level, Remembered& found) const {
  const std::uint32_t self = std::uint32_t{1} << level;
  const auto hangs = [&](int later) {
    const Step& step = plan.steps[static_cast<std::size_t>(later)];
    return is_row(step) && step.sources[0].level == level && (step.after | step.before) == 0 &&
           (step.distinct & bits_below(static_cast<std::uint32_t>(level))) == 0;
  };
  const auto is_free = [&](int later) {
    const Step& step = plan.steps[static_cast<std::size_t>(later)];
    return ((step.after | step.before | step.distinct) & self) == 0 && step.reuse != level &&
           std::none_of(step.sources.begin(), step.sources.end(),
                        [&](const Source& source) { return source.level == level; });
  };
  const auto add_leaves = [&](std::span<const int> levels, std::span<const int> chains) {
    const Source& first = plan.steps[static_cast<std::size_t>(levels[0])].sources[0];
    found.leaves.push_back(
        {first.way, first.target, row_of(first)[0], levels.size(), {chains.begin(), chains.end()}});
  };
  if (level + 2 == plan.levels() && plan.tail.start > level + 1) {
    if (!hangs(level + 1)) return false;
    add_leaves(std::array{level + 1}, {});
    return true;
  }
  if (level + 1 != plan.tail.start) return false;
  const auto& components = plan.tail.blocks[0].components;
  for (std::size_t number = 0; number < components.size(); ++number) {
    const search::TailComponent& one = components[number];
    if (one.sets() == 1 && std::all_of(one.levels.begin(), one.levels.end(), hangs)) {
      add_leaves(one.levels, one.chains);
    } else if (std::all_of(one.levels.begin(), one.levels.end(), is_free)) {
      found.components.push_back(number);
    } else {
      found.leaves.clear();
      found.components.clear();
      return false;
    }
  }
  if (found.leaves.empty()) found.components.clear();
  return !found.leaves.empty();
}

// Whether the set of a step is a row of one class.
bool Monitor::is_row(const Step& step) const {
  if (step.sources.size() != 1 || step.reuse != kNone || step.allowed != kNone) return false;
  const Source& source = step.sources[0];
  return graph_.relations().target(source.target).classes.size() == 1 && !source.before_change &&
         !(graph_.directed() && source.way == Way::kEither);
}

// The class of a row, and whether it is one of incoming edges.
std::vector<std::uint32_t> Monitor::row_of(const Source& source) const {
  const bool incoming = graph_.directed() && source.way == Way::kIn;
  return {graph_.relations().target(source.target).classes[0], incoming};
}

// The number of such rows or sums.
std::uint32_t Monitor::number_of(std::vector<std::uint32_t> rows) {
  const auto known = std::find(remembered_.begin(), remembered_.end(), rows);
  if (known != remembered_.end()) return static_cast<std::uint32_t>(known - remembered_.begin());
  remembered_.push_back(std::move(rows));
  return static_cast<std::uint32_t>(remembered_.size() - 1);
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
    if (plan.replaces_last || !plan.first.has(first) || !plan.second.has(second)) continue;
    if (std::any_of(plan.pair.begin(), plan.pair.end(), [&, label = edge](const PairEdge& asked) {
          return (asked.way != Way::kIn || !graph_.directed()) &&
                 graph_.relations().accepts(asked.relation, label);
        }))
      plans.push_back(number);
  }
  if (plans.empty()) return 0;
  gated_.push_back(std::move(plans));
  return static_cast<std::uint32_t>(gated_.size() - 1);
}

// Finds the matches that appear or vanish with an edge, which is in the graph.
void Monitor::match(const Edge& edge, std::uint64_t update, bool positive, Pass& pass) {
  for (std::uint32_t number : gated_[gate_of(edge)]) {
    const Plan& plan = chosen(number, edge);
    Found::OfPattern& found = pass.found.patterns[plan.pattern];
    Total matches = 0;
    if (listed_[plan.pattern]) {
      const auto width = static_cast<std::size_t>(plan.levels());
      pass.matcher.list(plan, Now{graph_}, edge, edge.source, edge.target, found.rows,
                        [&](std::size_t count) {
                          found.add_rows(update, positive, count);
                          matches += count;
                          pass.count_words(count * width);
                        });
    } else {
      matches = pass.matcher.count(plan, Now{graph_}, edge, edge.source, edge.target);
    }
    found.add(update, positive, matches);
  }
}

// The plan, or the one that replaces it for this edge.
const Plan& Monitor::chosen(std::uint32_t plan, const Edge& edge) const {
  const Plan& first = plans_[plan];
  if (!first.is_replaced) return first;
  const Plan& second = plans_[plan + 1];
  return search_cost(second, edge) < search_cost(first, edge) ? second : first;
}

// What a search is expected to cost, by the row that level 2 is taken from.
double Monitor::search_cost(const Plan& plan, const Edge& edge) const {
  const Source& from = plan.steps[2].sources[0];
  const Vertex vertex = from.level == 0 ? edge.source : edge.target;
  const Target& target = graph_.relations().target(from.target);
  std::size_t size = 0;
  const auto add = [&](const Rows& rows) {
    if (target.everything || target.classes.size() > kFewClasses)
      size += rows.degree(vertex);
    else
      for (Class of : target.classes) size += rows.of_class(vertex, of).size();
  };
  if (from.way != Way::kIn || !graph_.directed()) add(graph_.rows(Way::kOut));
  if (from.way != Way::kOut && graph_.directed()) add(graph_.rows(Way::kIn));
  return plan.row_cost * static_cast<double>(size);
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
  bulk_.take_back();
  bulk_.start(1);
  take_back_changes(graph_, done_);
  for (; !done_before_.empty(); done_before_.pop_back()) take_back_changes(graph_, done_before_.back());
  graph_.change_all();
  put_off_.take_back();
  graph_.count_edges(edges_before_);
}

// Notes the changes written in bulk so far, for undo.
void Monitor::note_bulk() {
  bulk_.for_each_done([&](std::vector<Done>& changes) {
    if (changes.empty()) return;
    if (done_before_.size() + 2 > done_before_.capacity())  // so that the following cannot fail
      done_before_.reserve(2 * done_before_.size() + 2);
    if (!done_.empty()) done_before_.push_back(std::exchange(done_, {}));
    done_before_.push_back(std::exchange(changes, {}));
  });
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
    if (put_off_.is_full()) write_put_off([&] { return pass.watch.keep_going(); });
    for (std::size_t at = 0; at < count; ++at) {
      if (at + kNear < count) graph_.prefetch_rows(updates[begin + needed[at + kNear]].edge);
      apply_one(updates[begin + needed[at]], pass.number(begin + needed[at]), pass);
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
  } else if (graph_.has(edge)) {
    match(edge, number, false, pass);
    erase(edge);
  } else {
    ++pass.found.noops;
  }
}

// Keeps an update that no search needs for later.
void Monitor::defer(const Edge& edge, bool inserts, Pass& pass) {
  note_for_later(edge, graph_.relations().class_of(edge.label, graph_.label(edge.target)), inserts);
  if (put_off_.is_full()) write_put_off([&] { return pass.watch.keep_going(); });
}

// `to`: the class of the edge.
void Monitor::note_for_later(const Edge& edge, Class to, bool inserts) {
  const Class from = inserts ? graph_.relations().class_of(edge.label, graph_.label(edge.source)) : to;
  put_off_.add(edge, to, from, inserts);
}

void Monitor::write_put_off() {
  write_put_off([] { return true; });
}

bool Monitor::write_some_put_off() {
  begin();
  const bool any = put_off_.write_few(kFew);
  edges_before_ = graph_.edges();
  return any;
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
