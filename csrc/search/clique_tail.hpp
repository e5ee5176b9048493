// Counting the last three levels of a clique in bits.
//
// Where each of the last two levels starts from the set of the level before and adds the row of that level's
// vertex, the vertices of all three are in the set S of the first. A bit matrix over S holds, for each vertex
// of S, the vertices of S that the next level may take; the last level's set is the AND of two of its rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/native_plan.hpp"

namespace motiflux::search {

class CliqueTail {
 public:
  static constexpr std::size_t kMostVertices = 512;  // of S
  static constexpr std::uint32_t kMostValues = 1 << 21;

  // The first of the three levels, if the plan ends in such levels.
  static std::optional<int> first_level(const NativePlan& native_plan);

  // Starts with the set S, of at most kMostVertices values below `values`.
  void begin(sets::Span set, std::uint32_t values) {
    if (position_.size() < values) position_.resize(values);
    words_ = (set.size() + 63) / 64;
    rows_.assign(words_ * set.size(), 0);
    inner_.assign(words_, 0);
    for (std::uint32_t at = 0; at < set.size(); ++at) position_[set.first[at]] = at;
  }

  // The vertex at position `at` of S may be taken, and after it the vertices `next`, a subset of S.
  void set_row(std::size_t at, sets::Span next) {
    std::uint64_t* row = &rows_[at * words_];
    for (const std::uint32_t value : next) {
      const std::uint32_t to = position_[value];
      row[to / 64] |= std::uint64_t{1} << (to % 64);
    }
    inner_[at / 64] |= std::uint64_t{1} << (at % 64);
  }

  // The numbers of choices at the first two levels, and at all three.
  sets::Chains count(const sets::Policy& policy) const {
    return policy.routines->count_chains({rows_.data(), inner_.data(), rows_.size() / words_, words_});
  }

 private:
  std::vector<std::uint32_t> position_;
  std::vector<std::uint64_t> rows_;
  std::vector<std::uint64_t> inner_;  // vertices that the first two levels may take
  std::size_t words_ = 0;
};

}  // namespace motiflux::search
