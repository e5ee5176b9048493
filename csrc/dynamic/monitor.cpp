#include "dynamic/monitor.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace motiflux::dynamic {
namespace {

// Updates whose rows are prefetched.
constexpr std::size_t kAhead = 16;

// The most updates that are put off before they are written.
constexpr std::size_t kPutOff = std::size_t{1} << 18;

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
  forget_gates();
}

void Monitor::drop_pattern(std::uint32_t pattern) {
  std::erase_if(plans_, [&](const Plan& plan) { return plan.pattern == pattern; });
  forget_gates();
}

void Monitor::forget_gates() {
  gates_.clear();
  gated_.clear();
  std::fill(direct_gates_.begin(), direct_gates_.end(), kUnknown);
}

// Computes Plan::needs: required neighbours, where these are of one class.
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

// The gate of an edge with these labels: the plans whose matches may use it.
std::uint32_t Monitor::find_gate(Label first, Class to, Label edge) {
  const GateKey key{first, to};
  if (const std::uint32_t* known = gates_.find(key)) return *known;
  const Label second = graph_.relations().classes()[to].vertex;
  std::vector<std::uint32_t> plans;
  for (std::uint32_t number = 0; number < plans_.size(); ++number) {
    const Plan& plan = plans_[number];
    if (!plan.first.has(first) || !plan.second.has(second)) continue;
    if (std::any_of(plan.pair.begin(), plan.pair.end(), [&](const PairEdge& asked) {
          return (asked.way != Way::kIn || !graph_.directed()) &&
                 graph_.relations().accepts(asked.relation, edge);
        }))
      plans.push_back(number);
  }
  gated_.push_back(std::move(plans));
  return gates_[key] = static_cast<std::uint32_t>(gated_.size() - 1);
}

// Finds the matches that appear or vanish with an edge, which is in the graph.
void Monitor::match(const Edge& edge, std::uint64_t update, bool positive, Pass& pass) {
  for (std::uint32_t number : gated_[gate_of(edge)]) {
    const Plan& plan = plans_[number];
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
  for (; !done_.empty(); done_.pop_back()) {
    const Done& last = done_.back();
    switch (last.kind) {
      case Done::kInserted:
        graph_.take(last.edge);
        break;
      case Done::kErased:
        graph_.put(last.edge);
        break;
      case Done::kCopies:
        graph_.set_more_copies(last.edge, last.more);
        break;
    }
  }
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
      apply_one(update, number, pass);
      continue;
    }
    bulk_.add(0, update.edge, update.inserts, false);
    if (bulk_.size() == kPutOff) settle(pass);
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

// Writes the updates that were put off, which no search needs.
void Monitor::settle(Pass& pass) {
  const Bulk::GoOn go_on = [&] { return pass.watch.keep_going(); };
  for (int partition = 0; partition < bulk_.partitions(); ++partition) bulk_.forward(partition, go_on);
  for (int partition = 0; partition < bulk_.partitions(); ++partition) bulk_.backward(partition, go_on);
  bulk_.finish();
  pass.found.noops += bulk_.noops();
  note_bulk();
}

// The net changes of the updates, one per edge, in the order of the first update of each.
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

// If a query edge has a witness before and after the batch but none throughout, its matches must not change:
// an edge that only its relation accepts is inserted while the others change.
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

void Monitor::apply_batch(std::span<const Update> updates, Switches switches, Found& found, Watch& watch,
                          std::size_t most, const std::function<void()>& full) {
  found.patterns.resize(listed_.size());
  Pass pass{found, watch, {allowed_, watch}, most, full};
  all_or_none([&] {
    bulk_.start(1);
    std::vector<Update> matched;
    for (const Update& update : updates) {
      if (!switches.put_off || watched(gate_of(update.edge)))
        matched.push_back(update);
      else
        bulk_.add(0, update.edge, update.inserts, false);
    }
    const std::vector<Net> net = net_changes(matched, found.noops);
    const std::vector<Edge> standing = stand_ins(net);
    for (const Edge& edge : standing) insert(edge);
    std::size_t looked = 0;
    const auto look = [&] {
      if (++looked % 4096 == 0 && !watch.keep_going()) throw Stopped();
    };
    // First all deletions, then all insertions: a lost match is found with the first edge it loses, a gained
    // match with the last edge it gains.
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
    settle(pass);
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
