// The copies that are still possible while a search assigns vertices, level by level.
//
// Each level keeps a range of copies for every variable matched so far. Matching a level finds the copies of
// the edges that it completes, and narrows all ranges until their ends agree with each other; the search goes
// on only if none is empty. Comparisons of other columns than the main ones, of which the copies in a range
// are not in order, are checked where the ranges are short, and exactly once all levels are matched.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/total.hpp"
#include "copies/choices.hpp"
#include "copies/index.hpp"
#include "copies/network.hpp"

namespace motiflux::copies {

// The comparisons of a plan. Variables are in the order of the levels at which they are matched.
struct Compared {
  struct Ends {
    int from = 0;  // levels; of a vertex, both are its own
    int to = 0;
    CopyIndex index;
    const std::uint8_t* missing = nullptr;  // of a vertex, 1 where a value is missing; null for nowhere
  };

  Network network;
  std::vector<Ends> ends;                     // by variable
  std::vector<std::size_t> matched;           // by level: number of variables matched then
  std::vector<std::vector<int>> checks;       // by level: comparisons whose second variable is matched there
  std::vector<std::vector<int>> of_matched;   // by level: comparisons of matched variables
  std::vector<std::vector<int>> of_variable;  // comparisons by variable
  std::vector<char> monotone;                 // by comparison
  bool all_monotone = false;
  // Whether copies are bounded from both sides, by a span, a difference, a factor or equality: then the last
  // copies of ranges matter too while a search goes on. The first ones decide.
  bool both_ends = false;
  bool count_choices = false;  // count choices, not embeddings

  // Derives the members after `ends`, for a number of levels.
  void prepare(int levels);
};

class Ranges {
 public:
  static constexpr std::uint64_t kNoGuess = ~std::uint64_t{0};

  Ranges(const Compared& compared, int levels);

  // Matches `level` after the levels before it; false if no choice of copies is left. `guess` is the place of
  // the vertex in the row that led to it, or any number.
  bool enter(int level, const std::uint32_t* values, std::uint64_t guess = kNoGuess);
  // Fetches into caches what `enter` reads of the copies at `guess`.
  void prefetch(int level, const std::uint32_t* values, std::uint64_t guess) const {
    const auto now = static_cast<std::size_t>(level);
    for (std::size_t v = compared_.matched[now - 1]; v < compared_.matched[now]; ++v) {
      const Compared::Ends& ends = compared_.ends[v];
      const Variable& variable = compared_.network.variables[v];
      if (variable.is_vertex || ends.to != level || variable.columns.empty()) continue;
      const std::uint64_t pair = ends.index.offsets[values[ends.from]] + guess;
      if (pair < ends.index.offsets[values[ends.from] + 1])
        __builtin_prefetch(variable.columns[0] + ends.index.starts[pair]);
    }
  }
  // Of the last level: whether there is a choice, and the number of choices.
  bool has_choice(int level);
  Total choices(int level);
  // Calls found(places) for each choice until it returns false.
  void list(int level, const std::function<bool(std::span<const Place>)>& found) {
    choices_.list({at(level), variables_}, found);
  }

  // Appends the vertices, ascending, that copies of the edge from a matched vertex allow at `level`, by main
  // value: a superset of those that `enter` accepts for this edge. `variable` is matched at `level`.
  struct Window {
    int variable = 0;
    Range range;
  };
  Window window(int variable, int level, const std::uint32_t* values) const;
  void others(const Window& window, int level, std::vector<std::uint32_t>& found) const;

 private:
  Range* at(int level) { return ranges_.data() + static_cast<std::size_t>(level) * variables_; }
  const Range* at(int level) const { return ranges_.data() + static_cast<std::size_t>(level) * variables_; }
  std::int64_t main(std::size_t variable, Place place) const {
    return compared_.network.variables[variable].columns[0][place];
  }
  template <bool both_ends>
  bool enter_narrowing(std::size_t level, Range* ranges);
  template <bool both_ends>
  bool narrow(const Comparison& one, Range* ranges, bool& changed) const;
  bool check(const Comparison& one, Range* ranges, bool& changed) const;
  template <bool both_ends>
  bool narrow_span(std::size_t matched, Range* ranges, bool& changed) const;
  bool is_exact(int level) const;

  const Compared& compared_;
  const std::size_t variables_;
  const int last_level_;
  std::vector<Range> ranges_;  // by level and variable
  Choices choices_;
};

}  // namespace motiflux::copies
