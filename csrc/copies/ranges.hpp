// The copies that are still possible while a search assigns vertices, level by level.
//
// Each level keeps a range of copies for every variable matched so far. Matching a level finds the copies of
// the edges that it completes, and narrows all ranges until their ends agree with each other; the search goes
// on only if none is empty. Comparisons of other columns than the main ones, of which the copies in a range
// are not in order, are checked where the ranges are short, and exactly once all levels are matched.
#pragma once

#include <cstdint>
#include <utility>
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
  // Whether the only variable of the last level has greater values than those before, and nothing else: then
  // the greatest value of a pair decides.
  bool last_is_greatest = false;

  // Derives the members after `ends`, for a number of levels.
  void prepare(int levels);

 private:
  bool only_greater(std::size_t variable) const;
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
  // The copies left to each variable that is matched up to `level`.
  std::span<const Range> left(int level) const { return {at(level), variables_}; }
  // Of the last level: whether the first copies left are a choice, as there is any.
  bool is_exact(int level) const;
  // Of the last level: whether there is a choice, and the number of choices.
  bool has_choice(int level);
  // Of the last level: the places of the first choice, in order of variables and places; none if there is no
  // choice. Valid until the next call.
  std::span<const Place> first_choice(int level);
  Total choices(int level);
  // The same, at most Choices::kMany, where that throws.
  Total choices_to_many(int level) { return choices_.count_to_many({at(level), variables_}); }
  ChoiceList list(int level) const { return {choices_, {at(level), variables_}}; }
  // These two may be ended by the owner: see copies/choices.hpp.
  void watch(Worked worked) { choices_.watch(std::move(worked)); }

  // Appends the vertices, ascending, that copies of the edge from a matched vertex allow at `level`, by main
  // value: a superset of those that `enter` accepts for this edge. `variable` is matched at `level`.
  struct Window {
    int variable = 0;
    Range range;
  };
  Window window(int variable, int level, const std::uint32_t* values) const;
  // Whether `others` are those that `enter` accepts, as all variables before have one copy left, and
  // `variable` is the only one of `level`.
  bool decided_by_window(int variable, int level) const;
  // If last_is_greatest: the greatest main values of the pairs of the last level, if they are as many as the
  // entries of a row and in its order; else null.
  const std::int64_t* greatest(const std::uint32_t* values, std::size_t pairs) const {
    const Compared::Ends& ends = compared_.ends[variables_ - 1];
    if (!ends.index.lasts || ends.to != last_level_ || ends.from == last_level_) return nullptr;
    const std::uint64_t* row = ends.index.offsets + values[ends.from];
    return row[1] - row[0] == pairs ? ends.index.lasts + row[0] : nullptr;
  }
  // If last_is_greatest: whether a pair of the last level whose greatest main value this is has a choice.
  bool accepts_greatest(std::int64_t value) const;
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

  const Compared& compared_;
  const std::size_t variables_;
  const int last_level_;
  std::vector<Range> ranges_;  // by level and variable
  Choices choices_;
  std::vector<Place> first_;
};

}  // namespace motiflux::copies
