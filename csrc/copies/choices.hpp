// Choices of copies, exactly: whether there is one, how many there are, and which.
//
// Variables that comparisons join form a graph. A forest is decided from its leaves to its roots, by the
// number of choices below each copy: for one comparison of main columns by sums over prefixes of sorted
// copies, else copy by copy. Variables on cycles are first given each of their copies in turn until a forest
// is left. A span over all edges is decided for each value that may be the lowest.
//
// One decision may take long. So its owner is told of the work done every few thousand comparisons, and may
// end it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "common/total.hpp"
#include "copies/network.hpp"

namespace motiflux::copies {

// Called with the comparisons made since the last call; false to end the decision.
using Worked = std::function<bool(std::size_t)>;

// Thrown by a decision that its owner ended.
struct Stopped {};

class Choices {
 public:
  using Domain = std::vector<Place>;
  using Domains = std::vector<Domain>;

  // `network` must outlive the object.
  explicit Choices(const Network& network);

  // Without it, no decision is ended.
  void watch(Worked worked) { worked_ = std::move(worked); }

  // Tries copies one after the other, which takes less than a decision where there are few: calls
  // found(places) for each choice, in order of variables and places, until it returns false. False if not all
  // was tried, as it would take more than `most` trials.
  template <class Found>
  bool try_all(std::span<const Range> ranges, std::size_t most, Found&& found);

  // `ranges` has the copies of each variable.
  bool exists(std::span<const Range> ranges);
  // Throws std::overflow_error beyond 2^128 - 1.
  Total count(std::span<const Range> ranges);
  // The same number if it is below kMany, else kMany.
  Total count_to_many(std::span<const Range> ranges);
  static constexpr Total kMany = Total{1} << 64;  // more than any limit of a count

 private:
  friend class ChoiceList;
  struct Link {
    int other;
    std::vector<int> comparisons;  // all between two variables
  };

  bool start(std::span<const Range> ranges, Domains& domains) const;
  template <class Number>
  Number solve(const Domains& domains) const;
  template <class Number>
  Number solve_without_span(const Domains& domains, std::vector<char>& removed) const;
  template <class Number>
  Number solve_forest(const Domains& domains, const std::vector<char>& removed) const;
  template <class Number>
  std::vector<Number> weigh(int variable, int parent, const Domains& domains,
                            const std::vector<char>& removed) const;
  template <class Number>
  void multiply_supports(int variable, const Link& link, const Domains& domains,
                         const std::vector<Number>& below, std::vector<Number>& weights) const;
  bool agrees(const Link& link, int variable, Place place, Place other) const;
  int on_cycle(const std::vector<char>& removed) const;
  bool restrict_to(int variable, Place place, Domains& domains, const std::vector<char>& removed) const;
  bool within(std::int64_t lowest, bool open, const Domains& domains, Domains& restricted) const;

  bool fits_earlier(std::size_t variable);

  void work(std::size_t comparisons) const {
    worked_since_ += comparisons;
    if (worked_since_ >= kReport) report();
  }
  void report() const;

  static constexpr std::size_t kReport = 4096;  // some 50 microseconds

  const Network& network_;
  std::vector<std::vector<Link>> links_;   // by variable
  std::vector<int> own_;                   // comparisons of two columns of one variable
  std::vector<std::vector<int>> earlier_;  // by variable: comparisons with itself and with earlier ones
  std::vector<Place> trial_;
  std::vector<std::int64_t> low_;   // by variable: least main value of edges up to it
  std::vector<std::int64_t> high_;  // ... and greatest
  Worked worked_;
  mutable std::size_t worked_since_ = 0;
};

template <class Found>
bool Choices::try_all(std::span<const Range> ranges, std::size_t most, Found&& found) {
  std::size_t variable = 0, tried = 0;
  trial_[0] = ranges[0].first;
  for (;;) {
    if (trial_[variable] == ranges[variable].last) {
      if (variable == 0) return true;
      ++trial_[--variable];
      continue;
    }
    if (++tried > most) return false;
    if (!fits_earlier(variable)) {
      ++trial_[variable];
    } else if (variable + 1 < ranges.size()) {
      ++variable;
      trial_[variable] = ranges[variable].first;
    } else {
      if (!found(std::span<const Place>(trial_))) return true;
      ++trial_[variable];
    }
  }
}

// The choices of some ranges, one by one: copies ascend by the first variable, then by the second, and so on.
// Memory: for each variable, the copies that are left once those before have theirs.
class ChoiceList {
 public:
  // `choices` must outlive the object.
  ChoiceList(const Choices& choices, std::span<const Range> ranges);

  // Whether there is another choice: a place for each variable, in `chosen`. Not to be called again once it
  // threw.
  bool next();
  std::span<const Place> chosen() const { return chosen_; }

 private:
  struct Level {
    Choices::Domains domains;  // the variables before have one copy each
    std::size_t tried = 0;
  };

  const Choices& choices_;
  std::vector<Level> levels_;
  std::vector<Place> chosen_;
};

}  // namespace motiflux::copies
