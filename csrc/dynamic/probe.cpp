#include "dynamic/probe.hpp"

#include <algorithm>
#include <utility>

namespace motiflux::dynamic {

// Finds the places of plans, after a change of these.
void Probe::follow(std::span<const Plan> plans, std::uint64_t version) {
  if (version_ == version) return;
  version_ = version;
  place_of_.clear();
  survey_.forget();
  std::map<std::uint32_t, std::uint32_t> places;
  for (const Plan& plan : plans) {
    std::uint32_t& next = places[plan.pattern];
    place_of_.push_back({plan.pattern, plan.replaces_last ? next - 1 : next++});
  }
  for (const auto& [pattern, size] : places) states_[pattern].resize(size);
}

// Names the plans of races anew if there are new classes.
void Probe::see_classes() {
  const std::size_t size = graph_.relations().classes().size();
  if (classes_ == size) return;
  classes_ = size;
  for (auto& [pattern, places] : states_)
    for (State& state : places)
      for (const auto& runner : state.runners) name(*runner);
}

void Probe::name(Runner& runner) const {
  runner.naming.name(runner.plans);
  runner.memory.forget();
}

// Ends the race of a place if it is decided.
void Probe::decide(Place place, State& state) {
  const Runner& used = *state.runners[0];
  if (state.roots >= terms_.fewest)
    for (std::size_t at = 1; at < state.runners.size(); ++at)
      state.runners[at]->out |= state.runners[at]->work > terms_.hopeless * used.work;
  const auto is_out = [](const auto& runner) { return runner->out; };
  const bool all_out = std::all_of(state.runners.begin() + 1, state.runners.end(), is_out);
  if (!all_out && state.roots < terms_.fewest) return;
  std::size_t best = 0;
  for (std::size_t at = 1; at < state.runners.size(); ++at) {
    const Runner& one = *state.runners[at];
    if (one.out || one.work > terms_.better * used.work) continue;
    // Without the update that saves most it is not worse.
    if (one.work + one.most_saved > std::max(1.0, terms_.better) * used.work) continue;
    if (best == 0 || one.work < state.runners[best]->work) best = at;
  }
  if (best == 0 && !all_out && state.roots < terms_.most) return;
  if (best != 0) {
    better_.push_back({place, static_cast<std::uint32_t>(best - 1), state.runners[best]->work / used.work});
    news_ = true;
  }
  state.runners.clear();
  state.roots = 0;
  wait(state);
  racing_ = false;
  survey_anew(best != 0);
}

// Begins a survey, after one that led to better plans or did not.
void Probe::survey_anew(bool found) {
  share_ = found ? terms_.share : std::min(2 * share_, terms_.least_share);
  surveyed_ = 0;
  for (auto& [pattern, places] : states_)
    for (State& state : places) state.seen = 0;
}

// Counts an update of the survey. Notes whether alternatives are wanted for the place that takes most work.
void Probe::want() {
  ++updates_;
  if (++surveyed_ < terms_.surveyed) return;
  State* most = nullptr;
  for (auto& [pattern, places] : states_)
    for (State& state : places)
      if (updates_ >= state.next && (most == nullptr || state.seen > most->seen)) most = &state;
  if (most == nullptr || most->seen < kVisible * static_cast<double>(surveyed_))
    survey_anew(false);
  else
    most->wanted = news_ = racing_ = true;
}

std::vector<Probe::Place> Probe::take_wanted() {
  std::vector<Place> wanted;
  for (auto& [pattern, places] : states_)
    for (std::uint32_t place = 0; place < places.size(); ++place)
      if (std::exchange(places[place].wanted, false)) {
        wanted.push_back({pattern, place});
        wait(places[place]);  // if no race follows
        racing_ = false;
      }
  news_ = !better_.empty();
  return wanted;
}

std::vector<Probe::Better> Probe::take_better() {
  news_ = std::ranges::any_of(states_,
                              [](const auto& of) { return std::ranges::any_of(of.second, &State::wanted); });
  return std::exchange(better_, {});
}

void Probe::race(Place place, PlacePlans used, std::vector<PlacePlans> alternatives) {
  spent_ += kMake;
  const auto found = states_.find(place.pattern);
  if (alternatives.empty() || found == states_.end() || place.place >= found->second.size()) return;
  State& state = found->second[place.place];
  std::vector<std::unique_ptr<Runner>> runners;
  const auto add = [&](PlacePlans plans) {
    runners.push_back(std::make_unique<Runner>(graph_));
    runners.back()->plans = std::move(plans);
    name(*runners.back());
  };
  add(std::move(used));
  for (PlacePlans& plans : alternatives) add(std::move(plans));
  state.roots = 0;
  state.runners = std::move(runners);
  racing_ = true;
}

void Probe::forget(std::uint32_t pattern) {
  const auto found = states_.find(pattern);
  if (found != states_.end()) {
    for (const State& state : found->second)
      if (state.wanted || !state.runners.empty()) racing_ = false;
    states_.erase(found);
  }
  std::erase_if(better_, [&](const Better& one) { return one.place.pattern == pattern; });
  follow_names();
}

}  // namespace motiflux::dynamic
