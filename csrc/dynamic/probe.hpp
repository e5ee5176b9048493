// A second look at plans: what other orders take, measured by searches for a few of the updates.
//
// A *survey* searches for each place that an update concerns alone, and so finds the places that take a
// visible share of the work. For these, other plans are asked for, and *raced*: they search from the same
// pairs, in the same graph, as the plans in use. Searches of a probe only measure; their matches are
// forgotten. All is decided by counts of work (Matcher::worked), never by a clock.
//
//     work of updates     |-|--|-|------|----|---|-|--|---|--->     an update is looked at if the work passes
//     looked at                      ^              ^               a mark, and sets the next one by its cost
//
// So updates are drawn by their work: a few of them may take most of it. Each counts for the same work; that
// of a place, or of an alternative, is added up as shares of the work of the update.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "dynamic/gate.hpp"
#include "dynamic/lifetimes.hpp"
#include "dynamic/matcher.hpp"
#include "dynamic/memory.hpp"
#include "dynamic/naming.hpp"
#include "dynamic/plan.hpp"

namespace motiflux::dynamic {

// The plan of a place, or the two of which one is taken for each update.
using PlacePlans = std::vector<Plan>;

class Probe {
 public:
  // A place of a pattern, in the order of its plans.
  struct Place {
    std::uint32_t pattern, place;
    bool operator==(const Place&) const = default;
  };
  // Of a race: the alternative that is better than the plans in use, and its share of their work.
  struct Better {
    Place place;
    std::uint32_t alternative;
    double share;
  };
  static constexpr std::size_t kMostAlternatives = 8;
  struct Terms {
    // Work after which the first update is looked at, some milliseconds; an update that took a greater part
    // of all work is not looked at.
    std::uint64_t first = std::uint64_t{1} << 20, rare = 8;
    // How many times as much as probes all else takes; twice as much each time that they found nothing.
    std::uint64_t share = 32, least_share = 256;
    // Of a survey: the number of updates. Of a race: the least and the greatest one.
    std::uint32_t surveyed = 8, fewest = 8, most = 64;
    // A place that was raced is raced again when so many times as many updates were surveyed.
    std::uint64_t patience = 2;
    // An alternative is taken if it takes less than this part of the work, and leaves a race of `fewest`
    // updates if it takes more than the second one.
    double better = 0.7, hopeless = 0.85;
    // The shares of an update that an alternative may take more than the plans in use by bad luck.
    double slack = 0.5;
  };
  // All updates are looked at, and plans replaced by others that may be worse: for tests.
  static Terms eager() { return {0, 0, 0, 0, 1, 1, 1, 0, 1e9, 1e9, 1e9}; }

  Probe(const Graph& graph, const Allowed& allowed) : graph_(graph), allowed_(allowed) {}

  void enable(bool on, const Terms& terms) {
    on_ = on;
    terms_ = terms;
    mark_ = terms.first;
    share_ = terms.share;
  }
  // Call it when the plans of the monitor were named anew.
  void follow_names() { version_ = kUnknown; }
  // Notes the work of an update. Whether to look at it: if so, call note() for the plans that it was searched
  // by, and then look().
  bool add_work(std::uint64_t more) {
    work_ += more;
    if (work_ < mark_ || !on_ || more * terms_.rare > work_) [[likely]]
      return false;
    noted_.clear();
    update_ = more;
    return true;
  }
  void note(const Forest& forest, PlanBits searched) {
    for_each_plan(searched, [&](std::size_t number) { noted_.push_back(forest.plans[number]); });
  }
  // `plans`: of the monitor, with their version; `sets`: the number of their sets; `threads`: those that did
  // the work, of which add_work() was told that of one.
  template <class View>
  void look(const View& view, const Edge& edge, std::span<const Plan> plans, std::uint64_t version,
            const std::vector<bool>& listed, const std::size_t& sets, Watch& watch, std::size_t threads = 1);

  // Whether wanted() or better() have something new.
  bool has_news() const { return news_; }
  // The places for which alternatives are wanted, each once; call race() for them.
  std::vector<Place> take_wanted();
  // The places for which an alternative won, each once.
  std::vector<Better> take_better();
  // Races alternatives with the plans in use, copies of those of the place.
  void race(Place place, PlacePlans used, std::vector<PlacePlans> alternatives);
  // Other plans of the pattern are used from now on, or none.
  void forget(std::uint32_t pattern);

 private:
  // What beginning a search, and making alternatives, take.
  static constexpr std::uint64_t kBegin = 512, kMake = std::uint64_t{1} << 18;
  // A place is raced if it takes such a part of the work.
  static constexpr double kVisible = 1.0 / 16;
  // The most work of a search from an update, of which several places share what a search alone has to do.
  static constexpr double kMost = 4;

  struct Runner {
    explicit Runner(const Graph& graph) : naming(graph) {}
    PlacePlans plans;
    Naming naming;
    Memory memory;
    double work = 0;
    double most_saved = 0;  // by one update
    bool out = false;
  };
  struct State {
    double seen = 0;         // of the work of the updates of the survey
    std::uint64_t next = 0;  // the number of updates of all surveys from which it may be raced
    bool wanted = false;
    std::uint32_t roots = 0;
    std::vector<std::unique_ptr<Runner>> runners;  // the plans in use first; empty: no race
  };
  // A search that ended: its work, and whether it was cut.
  struct Ran {
    double work;  // as a share of that of the update
    bool cut;
  };
  // Stops a search after some work.
  class Limit : public Watch {
   public:
    Limit(Watch& outer, double work) : outer_(outer), left_(work) {}
    bool keep_going() override {
      if (!outer_.keep_searching(take_pattern())) {
        stopped_ = true;
        return false;
      }
      left_ -= static_cast<double>(Matcher<Now>::kBudget);
      return left_ > 0;
    }
    bool stopped() const { return stopped_; }

   private:
    Watch& outer_;
    double left_;
    bool stopped_ = false;
  };

  void follow(std::span<const Plan> plans, std::uint64_t version);
  void see_classes();
  void name(Runner& runner) const;
  template <class View>
  void keep_kind();
  template <class View>
  Ran search(const View& view, const Edge& edge, std::span<const Plan> plans, const Plan& plan, bool listed,
             Memory& memory, const std::size_t& sets, Watch& watch, double most);
  template <class View>
  Ran search(const View& view, const Edge& edge, Runner& runner, bool listed, Watch& watch, double most);
  template <class View>
  void race_from(const View& view, const Edge& edge, State& state, bool listed, Watch& watch, double most);
  void decide(Place place, State& state);
  void want();
  void wait(State& state) const { state.next = terms_.patience * updates_; }
  void survey_anew(bool found);

  const Graph& graph_;
  const Allowed& allowed_;
  bool on_ = false, news_ = false;
  Terms terms_;
  std::uint64_t work_ = 0, mark_ = 0;
  std::uint64_t spent_ = 0, share_ = 0;                 // since the last mark
  std::uint64_t update_ = 0;                            // the work of the update that is looked at
  std::uint64_t updates_ = 0, surveyed_ = 0;            // of all surveys, of the last one
  std::map<std::uint32_t, std::vector<State>> states_;  // by pattern, then by place
  std::vector<Place> place_of_;                         // by plan of the monitor
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  std::uint64_t version_ = kUnknown;  // of these
  std::size_t classes_ = 0;           // for which plans of races are named
  const void* kind_ = nullptr;        // of the views that memories are of
  bool racing_ = false;               // one place is raced, or alternatives are wanted
  std::vector<Better> better_;
  std::vector<std::uint32_t> noted_;
  Memory survey_;
  Column<Vertex> rows_;
};

template <class View>
void Probe::look(const View& view, const Edge& edge, std::span<const Plan> plans, std::uint64_t version,
                 const std::vector<bool>& listed, const std::size_t& sets, Watch& watch,
                 std::size_t threads) {
  const std::vector<std::uint32_t> noted = std::exchange(noted_, {});
  if (noted.empty()) return;
  follow(plans, version);
  keep_kind<View>();
  const double most = kMost * static_cast<double>(threads);
  for (std::uint32_t number : noted) {
    const Plan& plan = plans[number];
    if (plan.group != kNoNumber) continue;  // it shares levels with others: alone it takes more
    const Place place = place_of_[number];
    State& state = states_[place.pattern][place.place];
    const bool lists = listed[plan.pattern];
    if (!state.runners.empty()) {
      race_from(view, edge, state, lists, watch, most);
      decide(place, state);
      continue;
    }
    if (!racing_) state.seen += search(view, edge, plans, plan, lists, survey_, sets, watch, most).work;
  }
  if (!racing_) want();
  mark_ = work_ + share_ * std::exchange(spent_, 0);
}

// What is remembered through one kind of view is of no use for others.
template <class View>
void Probe::keep_kind() {
  static const char mine = 0;
  if (kind_ == &mine) return;
  kind_ = &mine;
  survey_.forget();
  for (auto& [pattern, places] : states_)
    for (State& state : places)
      for (const auto& runner : state.runners) runner->memory.forget();
}

template <class View>
Probe::Ran Probe::search(const View& view, const Edge& edge, std::span<const Plan> plans, const Plan& plan,
                         bool listed, Memory& memory, const std::size_t& sets, Watch& watch, double most) {
  const auto whole = static_cast<double>(std::max<std::uint64_t>(update_, 1));
  Limit limit(watch, most * whole);
  Matcher<View> matcher(allowed_, limit, memory, sets);
  bool cut = false;
  try {
    matcher.begin(view, edge, plans);
    if (listed)
      matcher.list_alone(plan, rows_, [&](std::size_t) { rows_.clear(); });
    else
      matcher.count_alone(plan);
  } catch (const Stopped&) {
    if (limit.stopped()) throw;
    cut = true;
  } catch (const std::overflow_error&) {
    cut = true;  // the search for the update itself has said so, if its plan comes to that number
  }
  rows_.clear();
  spent_ += kBegin + matcher.worked();
  return {static_cast<double>(matcher.worked()) / whole, cut};
}

template <class View>
Probe::Ran Probe::search(const View& view, const Edge& edge, Runner& runner, bool listed, Watch& watch,
                         double most) {
  const PlacePlans& plans = runner.plans;
  const bool second =
      plans.size() > 1 && search_cost(graph_, plans[1], edge) < search_cost(graph_, plans[0], edge);
  return search(view, edge, plans, plans[second ? 1 : 0], listed, runner.memory, runner.naming.sets(), watch,
                most);
}

// Searches from a pair by all plans of a race.
template <class View>
void Probe::race_from(const View& view, const Edge& edge, State& state, bool listed, Watch& watch,
                      double most) {
  see_classes();
  Runner& used = *state.runners[0];
  const Ran first = search(view, edge, used, listed, watch, most);
  used.work += first.work;
  ++state.roots;
  for (std::size_t at = 1; at < state.runners.size(); ++at) {
    Runner& one = *state.runners[at];
    if (one.out) continue;
    const double left = used.work + terms_.slack - one.work;
    const Ran ran = search(view, edge, one, listed, watch, left);
    one.work += ran.work;
    one.most_saved = std::max(one.most_saved, first.work - ran.work);
    one.out = ran.cut || ran.work > left;
  }
}

}  // namespace motiflux::dynamic
