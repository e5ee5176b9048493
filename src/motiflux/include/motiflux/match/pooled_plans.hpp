// Plans of searches that start from updates, whose partial matches are pooled.
//
// Often the ways to match a level and all later ones depend on the pair and on one earlier level only.
// Partial matches of one root that agree there then have equally many completions. They are not completed one
// by one: a table has their number, its *weight*, by root and vertex. The next launch, a *stage*, searches
// from the entries of the table as this one from the roots, and multiplies what it finds by the weight. So a
// cycle is searched edge by edge, not path by path:
//
//   stage 0    a - b     c  d |                     from updates (a, b); the pool counts (c, d) by root and d
//   stage 1    a - b        d  e |                  from entries (a, b, d); ... by root and e
//   stage 2    a - b           e  f                 from entries (a, b, e): the last level is counted
//
//   places     | key, low | 0, 0 | key, low | ...           mask + 1 of them; key: root + 1 << 32 | vertex
//   highs      | high     | 0    | high     | ...           of weights of 128 bits
//   claimed    | place | place | ...                        numbers of places in use, `count` of them
//
// The plan of a later stage has the pair as levels 0 and 1, the vertex of the entry as level 2, and the later
// levels from 3 on. A partial match that finds no place is completed at once, so a table of any size serves.
#pragma once

#include "motiflux/bits.hpp"
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/chance.hpp"
#include "motiflux/match/changing_plan.hpp"
#include "motiflux/match/number.cuh"
#include "motiflux/match/state.hpp"

namespace motiflux::match {

struct Pooled {
  std::uint64_t key;
  std::uint64_t low;  // word of the weight
};

// Zero before a launch, but for `claimed`.
struct Pool {
  Pooled* places;
  std::uint64_t* highs;
  std::uint32_t* claimed;
  std::uint32_t* count;
  std::uint32_t mask;
  std::uint32_t unused;
};

class PooledPlan;

struct PooledPlans : ChangingPlans {
  static constexpr bool kPools = true;
  using Held = PooledPlan;

  Pool source;  // its entries are the roots of a stage after the first
  Pool target;  // of the stage; null: it pools nothing
  std::uint32_t stage;
  std::uint32_t unused_too;
};

// Places in which a key may be. As many are taken only if the table is nearly full.
inline constexpr std::uint32_t kPlacesOfPooled = 64;

// What became of a partial match: it waits to be completed, was added to an entry, or began one.
enum class Pooling : std::uint32_t { kRefused, kAdded, kClaimed };

// Finds the place of a key, or takes one. Any threads may do so at the same time.
MOTIFLUX_DEVICE Pooling find_in_pool(const Pool& pool, std::uint64_t key, std::uint32_t& place) {
  const std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
  const auto first = static_cast<std::uint32_t>((hash ^ hash >> 32) >> 16);
  if (device::chance(device::Place::kNotPooled, hash, 8)) return Pooling::kRefused;
  for (std::uint32_t probe = 0; probe < kPlacesOfPooled; ++probe) {
    place = (first + probe) & pool.mask;
    const auto owner = device::device_wide(pool.places[place].key);
    std::uint64_t found = owner.load(device::Order::kRelaxed);
    while (found == 0)
      if (owner.compare_exchange(found, key, device::Order::kRelaxed)) return Pooling::kClaimed;
    if (found == key) return Pooling::kAdded;
  }
  return Pooling::kRefused;
}

// Adds to the weight at a place; returns whether it has passed 2^128.
MOTIFLUX_DEVICE bool add_weight(const Pool& pool, std::uint32_t place, const Number& weight) {
  const std::uint64_t old =
      device::device_wide(pool.places[place].low).fetch_add(weight.low, device::Order::kRelaxed);
  const std::uint64_t carry = old + weight.low < old;
  const std::uint64_t upper = weight.high + carry;
  if (upper < carry) return true;
  if (upper == 0) return false;
  const std::uint64_t before =
      device::device_wide(pool.highs[place]).fetch_add(upper, device::Order::kRelaxed);
  return before + upper < before;
}

class PooledPlan : public SelectedPlan {
 public:
  explicit MOTIFLUX_DEVICE PooledPlan(const PooledPlans& all) : SelectedPlan(all), pooled_(all) {}

  // The last level whose vertex a root of this stage gives.
  MOTIFLUX_DEVICE std::uint32_t given() const { return pooled_.stage == 0 ? 1 : 2; }
  MOTIFLUX_DEVICE std::uint32_t pooled_from() const { return plan_->pooled_from; }
  MOTIFLUX_DEVICE std::uint32_t pooled_by() const { return plan_->pooled_by; }
  MOTIFLUX_DEVICE const Pool& target() const { return pooled_.target; }

  // The update root of a root of this stage.
  MOTIFLUX_DEVICE std::uint32_t origin_of(std::uint32_t number) const {
    return pooled_.stage == 0 ? number : static_cast<std::uint32_t>(entry(number).key >> 32) - 1;
  }
  // Its vertex of level 2, of stages after the first.
  MOTIFLUX_DEVICE std::uint32_t vertex_of(std::uint32_t number) const {
    return static_cast<std::uint32_t>(entry(number).key);
  }

  // Of the root; valid once one was selected.
  MOTIFLUX_DEVICE const Number& weight() const { return weight_; }
  MOTIFLUX_DEVICE std::uint64_t key_of(std::uint32_t vertex) const {
    return (std::uint64_t{origin_} + 1) << 32 | vertex;
  }

  MOTIFLUX_DEVICE void select(std::uint32_t number) {
    origin_ = origin_of(number);
    SelectedPlan::select(origin_);
    for (std::uint32_t stage = 0; stage < pooled_.stage; ++stage) plan_ = all_.plans + plan_->continuation;
    weight_ = {1, 0};
    if (pooled_.stage != 0)
      weight_ = {entry(number).low, pooled_.source.highs[pooled_.source.claimed[number]]};
  }

 private:
  MOTIFLUX_DEVICE const Pooled& entry(std::uint32_t number) const {
    return pooled_.source.places[pooled_.source.claimed[number]];
  }

  const PooledPlans& pooled_;
  std::uint32_t origin_ = 0;
  Number weight_{1, 0};
};

// Each lane adds its waiting candidate of the last level of a partial match to the pool. Returns the
// candidates that are done.
template <class Search>
MOTIFLUX_DEVICE std::uint32_t pool_waiting(Search& search, std::uint32_t level) {
  const auto& plan = search.plan();
  const auto& lanes = search.lanes();
  const Cursor& walk = search.cursor();
  const Pool& pool = plan.target();
  if (pool.places == nullptr) return 0;
  const std::uint32_t waiting = walk.waiting, by = plan.pooled_by();
  const bool differ = by == level;
  Number weight = plan.weight();
  bool adds = (waiting >> lanes.lane() & 1) != 0, overflow = false;
  std::uint32_t vertex = 0;
  if (differ) {
    if (adds) vertex = walk.base[walk.next - Search::Group::kLanes + lanes.lane()];
  } else {  // all belong to one entry
    adds = lanes.lane() == lowest_bit(waiting);
    if (by > 1) vertex = search.vertex(by);
    overflow = multiply(weight, {count_bits(waiting), 0});
  }
  std::uint32_t place = 0;
  Pooling found = Pooling::kRefused;
  if (adds) found = find_in_pool(pool, plan.key_of(vertex), place);
  if (found != Pooling::kRefused && (add_weight(pool, place, weight) || overflow))
    device::device_wide(search.task().control->overflow).store(1u, device::Order::kRelaxed);
  const std::uint32_t claiming = lanes.ballot(found == Pooling::kClaimed);
  if (claiming != 0) {
    std::uint32_t first = 0;
    if (lanes.leads())
      first = device::device_wide(*pool.count).fetch_add(count_bits(claiming), device::Order::kRelaxed);
    first = lanes.broadcast(first);
    if (found == Pooling::kClaimed)
      pool.claimed[first + count_bits(claiming & bits_below(lanes.lane()))] = place;
  }
  search.spend(1);
  const std::uint32_t done = lanes.ballot(found != Pooling::kRefused);
  return differ || done == 0 ? done : waiting;
}

}  // namespace motiflux::match
