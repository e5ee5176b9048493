// Walks down the searches of a run, which count the rows that these open (GCSM, section IV).
//
// A node is a root, or a vertex at a level below one. Its children are the members of the set of the next
// level. A walk never makes that set: it draws places of the shortest row and leaves out those without a
// member, as that row has all members, each at one place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/total.hpp"
#include "dynamic/access_plans.hpp"
#include "dynamic/draws.hpp"
#include "dynamic/flat_map.hpp"
#include "dynamic/matcher.hpp"
#include "dynamic/union_rows.hpp"

namespace motiflux::dynamic {

// A row that was opened, and the level of the nodes where it was; 0: of any.
struct AccessKey {
  Vertex vertex = 0;
  std::uint16_t name = 0, level = 0;
  bool operator==(const AccessKey&) const = default;
  std::uint64_t hash() const {
    return mixed(mixed(std::uint64_t{vertex} << 32 | std::uint32_t{name} << 16 | level));
  }
};

// Whole numbers, so that sums do not depend on the order: counts, of walks by level, or weights in units of
// 2^-kFraction (AccessWalker). A sum of more than 2^128 stays at that.
using AccessSums = FlatMap<AccessKey, Total>;

// What all threads share.
struct AccessSearch {
  std::span<const AccessPlan> plans;
  const UnionRows& rows;
  const Allowed& lists;
  const CandidateTable* candidates;  // null: no table
  std::uint64_t seed = 0;
  std::size_t largest = 0;  // D; of walks as published
};

class AccessWalker {
 public:
  static constexpr int kFraction = 16;

  struct Child {
    Vertex vertex;
    std::uint64_t hits;
  };

  AccessWalker(const AccessSearch& search, AccessSums& sums)
      : search_(search), sums_(sums), reader_(search.rows) {}

  void watch(Watch& watch) { watch_ = &watch; }

  // Visits every node below a root: opens rows just as a search does.
  void visit_all(const Root& root);
  // As published: `walks` begin at the root, and each goes on to a given child with probability 1 / D.
  void walk(const Root& root, std::uint64_t walks, std::uint64_t id);
  // Whether a row was longer than D: the walks did not go on as often as they should.
  bool exceeded() const { return exceeded_; }

  // Step by step: goes to a node, whose vertices from level 2 on are given.
  void go_to(const Root& root, std::span<const Vertex> below);
  // Opens the rows that are opened at the node, and returns the number of places of its children.
  std::uint64_t open_rows(double weight);
  // Children of the node, at `draws` places, one from each of as many equal parts, or at all places.
  std::span<const Child> children(std::uint64_t draws, Draws& random);

 private:
  // The sets that candidates of a level are in.
  struct Sets {
    struct One {
      UnionRow row;
      bool hidden;
    };
    const AccessStep* step = nullptr;
    std::vector<One> all;
    std::size_t shortest = 0;
    std::size_t places() const { return all[shortest].row.size(); }
  };

  void begin(const Root& root);
  const Sets& gather(std::size_t level);
  std::optional<Vertex> candidate(const Sets& sets, std::size_t place);
  // Whether a search that is at a vertex of `level` comes to `target`; true if that takes long to tell.
  bool reaches(std::size_t level, std::size_t target, std::size_t& looks);
  bool has_candidates(std::size_t level, std::size_t least);
  void open(const AccessStep& step, std::size_t of_level, Total amount);
  void open_counted(std::size_t of_level, Total amount);
  void open_at(std::size_t level, std::size_t of_level, Total amount);
  void visit_all(std::size_t level, std::uint32_t& made);
  void go_on(std::size_t level, std::uint64_t walks, std::uint64_t id);
  void draw_children(std::size_t level, std::uint64_t walks, Draws& draws);

  const AccessSearch& search_;
  AccessSums& sums_;
  UnionRowReader reader_;
  Watch* watch_ = nullptr;
  const AccessPlan* plan_ = nullptr;
  Moment moment_ = 0;
  bool exceeded_ = false;
  std::uint32_t turns_ = 0;
  std::size_t level_ = 0;  // of go_to()
  std::vector<Vertex> vertices_;
  std::vector<Sets> sets_;                  // by level
  std::vector<std::vector<Child>> chosen_;  // by level
  std::vector<std::uint64_t> drawn_;
};

// A number for a child, from that of the node.
inline std::uint64_t child_id(std::uint64_t id, std::uint64_t child) {
  return mixed(mixed(id ^ (child + 1) * 0xD6E8FEB86659FD93u) + child);
}

}  // namespace motiflux::dynamic
