// The roots of a run, divided by how their matches are found, as the kernels read them
// (motiflux/match/changing_plan.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynamic/run_matcher.hpp"

namespace motiflux::dynamic {

// match::UpdateRoot.
struct SearchRoot {
  std::uint32_t plan;
  Vertex first, second;
  Moment moment;       // from 1
  std::uint32_t slot;  // of the total that its matches are added to
};
static_assert(sizeof(SearchRoot) == 5 * sizeof(std::uint32_t));

// How the matches of a plan are found.
enum class Manner : std::uint8_t {
  kCounted,  // by a search
  kListed,
  kIsMatch,  // the changed edge is the match
};

// One of several shares of the roots of a run: pieces of consecutive roots, dealt out in turn.
struct ShareOfRoots {
  std::uint32_t number = 0, shares = 1;

  bool has(std::size_t root, std::size_t piece) const {
    return shares == 1 || root / piece % shares == number;
  }
};

class DividedRoots {
 public:
  // `manners`: by plan. Only the roots of `share` are divided. Throws Stopped if `watch` says so.
  DividedRoots(std::shared_ptr<const Run> run, std::span<const Manner> manners, ShareOfRoots share,
               Watch& watch);

  std::size_t counted() const { return counted_; }
  // Numbers of roots in the run, ascending.
  std::vector<std::uint32_t>& listed() { return listed_; }
  std::vector<std::uint32_t>& matches() { return matches_; }
  // Slots of counted roots: if the run is one change, twice the plan, and one more if matches appear;
  // otherwise the number of the root. Of listed ones: the number.
  void write_counted(std::span<SearchRoot> to, Watch& watch) const;
  void write_listed(std::span<SearchRoot> to) const;

 private:
  template <class Visit>
  void for_each_part(Watch& watch, Visit&& visit) const;
  bool is(std::size_t root, Manner manner) const {
    return share_.has(root, piece_) && manners_[run_->all_roots()[root].plan] == manner;
  }

  std::shared_ptr<const Run> run_;
  std::vector<Manner> manners_;
  ShareOfRoots share_;
  std::size_t piece_;  // of consecutive roots that are in one share
  std::size_t counted_ = 0;
  std::vector<std::size_t> counted_before_;  // by part
  std::vector<std::uint32_t> listed_, matches_;
};

}  // namespace motiflux::dynamic
