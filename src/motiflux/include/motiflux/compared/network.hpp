// The comparisons of a plan as variables: a query edge, whose values are the copies between the images of its
// ends, or a query vertex, whose only value is its image.
//
// The copies of a query edge, followed from one of its ends:
//
//   offsets    [vertices + 1]  the pairs of each vertex
//   neighbors  [pairs]         the other vertex, ascending for each vertex
//   starts     [pairs + 1]     the first copy of each pair; its copies ascend by their main value
//   columns    [copies] each   the values of each compared attribute
//
// The same copies again, those of each vertex by main value, for windows:
//
//   row_values    [copies]  main values        a:  3   5   5   8   9     vertex a has copies to b and to c
//   row_others    [copies]  the other vertex       b   c   b   b   c
//   row_pairs     [copies]  the pair               0   1   0   0   1
//   row_previous  [copies]  the place behind       0   0   1   3   2     (of the whole array; 0 if there is
//   none)
//                           the copy before of the same pair
//
// An entry is the first of its pair in a window that starts at `first` if row_previous is at most `first`.
//
// Variables ascend by the level at which they are matched, and comparisons by their later variable.
#pragma once

#include "motiflux/compared/values.hpp"
#include "motiflux/view/plan.hpp"

namespace motiflux::compared {

inline constexpr std::uint32_t kMostVariables = 32;
inline constexpr std::uint32_t kMostComparisons = 64;
inline constexpr std::uint32_t kMostColumns = 64;
inline constexpr std::uint8_t kNoSource = 255;

// Places of copies from `first` to before `last`.
struct Range {
  std::uint32_t first;
  std::uint32_t last;

  MOTIFLUX_HOST_DEVICE std::uint32_t size() const { return last - first; }
};

struct Variable {
  const std::uint32_t* offsets;
  const std::uint32_t* neighbors;
  const std::uint32_t* starts;
  const std::int64_t* row_values;  // null where there are no windows
  const std::uint32_t* row_others;
  const std::uint32_t* row_pairs;
  const std::uint32_t* row_previous;
  const std::uint8_t* missing;  // of a vertex: 1 where a value is missing; null for nowhere
  std::uint8_t from;            // levels; of a vertex, both are its own
  std::uint8_t to;
  std::uint8_t is_vertex;
  std::uint8_t main;      // the column of main values; of an edge without columns unused
  std::uint8_t source;    // the source of the level `to` that is this edge, or kNoSource
  std::uint8_t filtered;  // whether the row of the source has fewer neighbours than there are pairs
  std::uint8_t unused[2];
};

struct Comparison {
  Numbers numbers;
  std::uint8_t left;  // variables
  std::uint8_t right;
  std::uint8_t left_column;  // of all columns
  std::uint8_t right_column;
  Operator op;
  Form form;
  std::uint8_t monotone;  // restricts ranges by their ends
  std::uint8_t rises;     // whether the right side grows with the value at the right
};

struct Network {
  Variable variables[kMostVariables];
  Comparison comparisons[kMostComparisons];
  const std::int64_t* columns[kMostColumns];
  Span span;
  std::uint64_t most_trials;                // of copies for one embedding, or 0 for any number
  std::uint32_t ranges_at;                  // bytes from the start of a group's shared memory to its ranges
  std::uint8_t matched[view::kMaxLevels];   // by level: number of variables matched then
  std::uint8_t judged[kMostVariables + 1];  // by variable: its first comparison
  std::uint8_t all_monotone;
  std::uint8_t both_ends;                     // whether copies are bounded from both sides
  std::uint8_t windows;                       // whether windows may replace rows
  std::uint16_t stored_at[view::kMaxLevels];  // by level: the place of its first range among all

  MOTIFLUX_HOST_DEVICE std::uint32_t matched_before(std::uint32_t level) const {
    return level == 0 ? 0 : matched[level - 1];
  }
  MOTIFLUX_HOST_DEVICE std::int64_t main(std::uint32_t variable, std::uint32_t place) const {
    return columns[variables[variable].main][place];
  }
  MOTIFLUX_HOST_DEVICE bool holds(const Comparison& one, std::uint32_t left, std::uint32_t right) const {
    return compare(one.op, one.form, one.numbers, columns[one.left_column][left],
                   columns[one.right_column][right]);
  }
};

}  // namespace motiflux::compared
