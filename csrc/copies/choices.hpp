// Choices of copies, exactly: whether there is one, how many there are, and which.
//
// Variables that comparisons join form a graph. A forest is decided from its leaves to its roots, by the
// number of choices below each copy: for one comparison of main columns by sums over prefixes of sorted
// copies, else copy by copy. Variables on cycles are first given each of their copies in turn until a forest
// is left. A span over all edges is decided for each value that may be the lowest.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/total.hpp"
#include "copies/network.hpp"

namespace motiflux::copies {

class Choices {
 public:
  // `network` must outlive the object.
  explicit Choices(const Network& network);

  // `ranges` has the copies of each variable.
  bool exists(std::span<const Range> ranges);
  // Throws std::overflow_error beyond 2^128 - 1.
  Total count(std::span<const Range> ranges);
  // Calls found(places) for each choice, with a place for each variable, until it returns false; false if it
  // did.
  bool list(std::span<const Range> ranges, const std::function<bool(std::span<const Place>)>& found);

 private:
  using Domain = std::vector<Place>;
  using Domains = std::vector<Domain>;
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
  bool list_from(std::size_t variable, Domains& domains, std::vector<Place>& chosen,
                 const std::function<bool(std::span<const Place>)>& found) const;
  bool within(std::int64_t lowest, bool open, const Domains& domains, Domains& restricted) const;

  const Network& network_;
  std::vector<std::vector<Link>> links_;  // by variable
  std::vector<int> own_;                  // comparisons of two columns of one variable
};

}  // namespace motiflux::copies
