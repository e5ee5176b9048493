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
//   places     | key, weight | 0, 0 | key, weight | ...     mask + 1 of them; key: root + 1 << 32 | vertex
//   claimed    | place | place | ...                        numbers of places in use, `count` of them
//
// The plan of a later stage has the pair as levels 0 and 1, the vertex of the entry as level 2, and the later
// levels from 3 on. A partial match that finds no place is completed at once, so a table of any size serves.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/chance.hpp"
#include "motiflux/match/changing_plan.hpp"
#include "motiflux/match/state.hpp"

namespace motiflux::match {

struct Pooled {
  std::uint64_t key;
  std::uint64_t weight;
};

// Zero before a launch, but for `claimed`.
struct Pool {
  Pooled* places;
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

// Places in which a key may be.
inline constexpr std::uint32_t kPlacesOfPooled = 8;
// No more is added to a weight once it has passed the first, nor a weight that has passed the second: a sum
// of those that all threads of a device may add at once then fits.
inline constexpr std::uint64_t kMostPooled = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kMostAdded = std::uint64_t{1} << 36;

// What became of a partial match: it waits to be completed, was added to an entry, or began one.
enum class Pooling : std::uint32_t { kRefused, kAdded, kClaimed };

// Adds a weight to the entry of a key. Any threads may do so at the same time; `place` becomes its place.
MOTIFLUX_DEVICE Pooling add_to_pool(const Pool& pool, std::uint64_t key, std::uint64_t weight,
                                    std::uint32_t& place) {
  const std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
  const auto first = static_cast<std::uint32_t>((hash ^ hash >> 32) >> 16);
  if (weight > kMostAdded || device::chance(device::Place::kNotPooled, hash, 8)) return Pooling::kRefused;
  for (std::uint32_t probe = 0; probe < kPlacesOfPooled; ++probe) {
    place = (first + probe) & pool.mask;
    Pooled& entry = pool.places[place];
    auto owner = device::device_wide(entry.key);
    std::uint64_t found = owner.load(device::Order::kRelaxed);
    bool claims = false;
    while (found == 0 && !claims) claims = owner.compare_exchange(found, key, device::Order::kRelaxed);
    if (!claims && found != key) continue;
    auto sum = device::device_wide(entry.weight);
    if (!claims && sum.load(device::Order::kRelaxed) > kMostPooled) return Pooling::kRefused;
    sum.fetch_add(weight, device::Order::kRelaxed);
    return claims ? Pooling::kClaimed : Pooling::kAdded;
  }
  return Pooling::kRefused;
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
  MOTIFLUX_DEVICE std::uint64_t weight() const { return weight_; }
  MOTIFLUX_DEVICE std::uint64_t key_of(std::uint32_t vertex) const {
    return (std::uint64_t{origin_} + 1) << 32 | vertex;
  }

  MOTIFLUX_DEVICE void select(std::uint32_t number) {
    origin_ = origin_of(number);
    SelectedPlan::select(origin_);
    for (std::uint32_t stage = 0; stage < pooled_.stage; ++stage) plan_ = all_.plans + plan_->continuation;
    weight_ = pooled_.stage == 0 ? 1 : entry(number).weight;
  }

 private:
  MOTIFLUX_DEVICE const Pooled& entry(std::uint32_t number) const {
    return pooled_.source.places[pooled_.source.claimed[number]];
  }

  const PooledPlans& pooled_;
  std::uint32_t origin_ = 0;
  std::uint64_t weight_ = 1;
};

// Each lane adds its waiting candidate of the last level of a
// partial match to the pool. Returns the candidates that are done.
template <class Search>
MOTIFLUX_DEVICE std::uint32_t pool_waiting(Search& search, std::uint32_t level) {
  const auto& plan = search.plan();
  const auto& lanes = search.lanes();
  const Cursor& walk = search.cursor();
  const Pool& pool = plan.target();
  if (pool.places == nullptr) return 0;
  const std::uint32_t waiting = walk.waiting, by = plan.pooled_by();
  bool adds = (waiting >> lanes.lane() & 1) != 0;
  std::uint32_t vertex = 0;
  std::uint64_t weight = plan.weight();
  const bool differ = by == level;
  if (differ) {
    if (adds) vertex = walk.base[walk.next - Search::Group::kLanes + lanes.lane()];
  } else {  // all lanes would add to one entry
    adds = lanes.lane() == lowest_bit(waiting);
    if (by > 1) vertex = search.vertex(by);
    if (weight <= kMostAdded) weight *= count_bits(waiting);
  }
  std::uint32_t place = 0;
  Pooling found = Pooling::kRefused;
  if (adds) found = add_to_pool(pool, plan.key_of(vertex), weight, place);
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
