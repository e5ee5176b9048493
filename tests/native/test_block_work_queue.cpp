// Work that changes hands between the groups of a block, each a thread here: all of it is done, once.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"

// What a GPU has built in, and backing off is made of.
inline void __nanosleep(unsigned) {
  std::this_thread::yield();
}

#include "motiflux/match/block_work_queue.hpp"
#include "motiflux/match/work_queue.hpp"

namespace {

namespace match = motiflux::match;
using match::Cursor;
using motiflux::device::Order;

constexpr std::uint32_t kStrip = 8;
constexpr std::uint32_t kLevel = 1;

// Roots are numbers, and each stands for as many candidates as its row says.
struct World {
  std::vector<std::uint32_t> sizes;
  std::uint32_t groups;
  match::Mailboxes mailboxes{};
  match::Offers offers{};
  // Of each group: the vertex that leads to its walk, and where a walk is put that it gets.
  std::uint32_t vertices[match::kMostGroups]{};
  Cursor walks[match::kMostGroups]{};
  std::uint64_t taken = 0, done = 0;
  std::vector<std::vector<std::uint32_t>> times;  // how often each candidate was met, by root
  std::vector<Cursor> saved[match::kMostGroups];  // what groups that broke off left
  std::atomic<std::uint64_t> stolen{0};

  World(std::vector<std::uint32_t> given, std::uint32_t workers) : sizes(std::move(given)), groups(workers) {
    match::initialize(mailboxes, groups);
    match::initialize(offers, groups);
    for (const std::uint32_t size : sizes) times.emplace_back(size);
  }

  void meet(std::uint32_t root, std::uint32_t candidate) {
    motiflux::device::device_wide(times[root][candidate]).fetch_add(1u, Order::kRelaxed);
  }
  std::uint64_t add_done(std::uint64_t more) {
    return motiflux::device::device_wide(done).fetch_add(more, Order::kRelaxed);
  }
};

template <bool active>
class Worker {
 public:
  Worker(World& world, std::uint32_t group, std::uint32_t seed, bool breaks_off)
      : world_(world), group_(group), random_(seed), breaks_off_(breaks_off) {}

  void run() {
    do {
      while (take_root())
        if (!work()) return;
    } while (get_work() && work());
  }

 private:
  match::GroupActivity& activity() { return active ? world_.offers.activity : world_.mailboxes.activity; }
  std::uint64_t& word() { return world_.offers.words[group_]; }
  bool chance(std::uint32_t in) { return random_() % in == 0; }

  bool take_root() {
    const auto taken = motiflux::device::device_wide(world_.taken);
    const std::uint64_t root = taken.fetch_add(std::uint64_t{1}, Order::kRelaxed);
    if (root >= world_.sizes.size()) return false;
    world_.vertices[group_] = static_cast<std::uint32_t>(root);
    walk_ = {nullptr, 0, world_.sizes[root], 0};
    return true;
  }

  // As a search walks a level: a strip is judged, those that passed are met one by one. False to break off.
  bool work() {
    for (;;) {
      if (chance(4) && match::a_group_waits(activity())) share();
      if (active && chance(32)) withdraw();
      if (breaks_off_ && chance(1024)) {
        withdraw();
        world_.saved[group_].push_back(walk_);
        match::end_work(activity());
        return false;
      }
      if (chance(64)) std::this_thread::yield();
      if (walk_.waiting != 0) {
        world_.meet(world_.vertices[group_], walk_.next - kStrip + motiflux::lowest_bit(walk_.waiting));
        walk_.waiting &= walk_.waiting - 1;
      } else if (walk_.next < walk_.end) {
        const std::uint32_t left = walk_.end - walk_.next;
        walk_.waiting = motiflux::bits_below(left < kStrip ? left : kStrip);
        walk_.next += kStrip;
      } else if (!take_own_back()) {
        world_.add_done(1);
        return true;
      }
    }
  }

  void share() {
    if constexpr (active) {
      if (offered_ && !match::is_used_up(word())) return;
      Cursor offered{};
      const bool walked = !chance(3);  // else all is spare, as that of a walk above the one that is walked
      const std::uint32_t count = match::cut_offer(walk_, offered, walked, kStrip, 1);
      offered_ = count != 0;
      if (!offered_) return;
      world_.offers.walks[group_] = offered;
      match::make_offer(word(), kLevel, count);
    } else {
      Cursor kept = walk_, given{};
      if (!match::halve(kept, given, false, 2)) return;
      const std::uint32_t other = match::claim_waiting(activity());
      if (other == match::kNoGroup) return;
      world_.vertices[other] = world_.vertices[group_];
      world_.walks[other] = given;
      world_.add_done(~std::uint64_t{0});
      match::deliver_walk(world_.mailboxes, other, kLevel);
      walk_ = kept;
      ++world_.stolen;
    }
  }

  bool take_own_back() {
    if (!offered_) return false;
    const Cursor& offered = world_.offers.walks[group_];
    const match::OfferRange range = match::take_from_own_offer(word(), offered.waiting == 0 ? kStrip : 1);
    offered_ = range.count != 0;
    if (offered_) walk_ = match::walk_over(offered, range);
    return offered_;
  }

  void withdraw() {
    if (!offered_) return;
    offered_ = false;
    const match::OfferRange range = match::take_back_all(word());
    if (range.count != 0) match::return_range(walk_, world_.offers.walks[group_], range);
  }

  bool get_work() {
    if constexpr (active) {
      const auto least = [](std::uint32_t level) { return level; };
      const match::StolenRange stolen = match::wait_for_offer(world_.offers, world_.groups, group_, least);
      if (stolen.group == match::kNoGroup) return false;
      CHECK(stolen.level == kLevel && stolen.range.count > 0);
      if (chance(2))
        std::this_thread::sleep_for(std::chrono::microseconds(50));  // the other comes to its end
      world_.add_done(~std::uint64_t{0});
      world_.vertices[group_] = world_.vertices[stolen.group];
      walk_ = match::walk_over(world_.offers.walks[stolen.group], stolen.range);
      match::release_offer(world_.offers.words[stolen.group]);
      ++world_.stolen;
      return true;
    } else {
      const std::uint32_t level = match::wait_for_walk(world_.mailboxes, group_);
      CHECK(level == 0 || level == kLevel);
      walk_ = world_.walks[group_];
      return level != 0;
    }
  }

  World& world_;
  std::uint32_t group_;
  std::mt19937 random_;
  bool breaks_off_;
  bool offered_ = false;
  Cursor walk_{};
};

// `breaks_off`: some leave in the middle, as those do who find no room for rows, and go on later.
template <bool active>
std::uint64_t check_all_is_done_once(std::uint32_t workers, std::uint32_t seed, bool breaks_off) {
  World world({9, 6000, 0, 1, 2500, 3}, workers);
  std::vector<std::thread> threads;
  for (std::uint32_t group = 0; group < workers; ++group)
    threads.emplace_back([&, group] { Worker<active>(world, group, 100 * seed + group, breaks_off).run(); });
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t group = 0; group < workers; ++group)
    for (const Cursor& walk : world.saved[group]) {
      const std::uint32_t root = world.vertices[group];
      motiflux::for_each_bit(walk.waiting,
                             [&](std::uint32_t bit) { world.meet(root, walk.next - kStrip + bit); });
      for (std::uint32_t candidate = walk.next; candidate < walk.end; ++candidate)
        world.meet(root, candidate);
      world.add_done(1);
    }
  // Roots that nobody took: all had broken off.
  for (std::uint64_t root = world.taken; root < world.sizes.size(); ++root) {
    for (std::uint32_t candidate = 0; candidate < world.sizes[root]; ++candidate)
      world.meet(static_cast<std::uint32_t>(root), candidate);
    world.add_done(1);
  }
  for (const auto& root : world.times)
    for (const std::uint32_t times : root) CHECK(times == 1);
  CHECK(world.done == world.sizes.size());
  CHECK((active ? world.offers.activity : world.mailboxes.activity).working == 0);
  CHECK((active ? world.offers.activity : world.mailboxes.activity).waiting == 0);
  return world.stolen;
}

// What is kept and what is offered are all there was, and come together again in whatever parts.
void check_ranges() {
  for (std::uint32_t left = 0; left < 20; ++left)
    for (std::uint32_t waiting = 0; waiting < 16; ++waiting)
      for (const bool walked : {false, true}) {
        const Cursor whole{nullptr, 16, 16 + left, waiting};
        Cursor kept = whole, offered{};
        const std::uint32_t count = match::cut_offer(kept, offered, walked, kStrip, 1);
        const std::uint32_t all = left > 0 ? left : motiflux::count_bits(waiting);
        CHECK(count <= all);
        if (!walked) CHECK(count == all);
        if (count == 0) continue;
        if (walked) CHECK((kept.next < kept.end) || kept.waiting != 0);
        CHECK((kept.waiting & offered.waiting) == 0 && (kept.waiting | offered.waiting) == waiting);
        for (std::uint32_t first = 0; first <= count; ++first) {
          const Cursor before = match::walk_over(offered, {0, first});
          Cursor rest = kept;
          if (left > 0) {
            CHECK(before.next == kept.end && before.end == kept.end + first);
            rest.next = rest.end = before.end;  // what was taken is done
          } else {
            CHECK(motiflux::count_bits(before.waiting) == first);
          }
          if (first < count) match::return_range(rest, offered, {first, count - first});
          if (left > 0)
            CHECK(rest.end == whole.end);
          else
            CHECK((rest.waiting ^ before.waiting) == waiting);
        }
      }
  Cursor kept{nullptr, 0, match::kMostOffered + 1, 0}, offered{};
  CHECK(match::cut_offer(kept, offered, false, kStrip, 1) == 0 && kept.end == match::kMostOffered + 1);
  kept.end = match::kMostOffered;
  CHECK(match::cut_offer(kept, offered, false, kStrip, 1) == match::kMostOffered);
  const std::uint64_t word = match::offer_of(31, match::kMostOffered);
  CHECK(match::level_of(word) == 31 && match::left_of(word) == match::kMostOffered && word >> 63 == 0);
}

// A group without work takes of the shallowest walk, among equal levels of the longest; not of one that is
// too short, or that another group copies from.
void check_choice() {
  match::Offers offers{};
  constexpr std::uint32_t kGroups = 6, kTaker = 0;
  match::initialize(offers, kGroups);
  match::make_offer(offers.words[1], 4, 1000);
  match::make_offer(offers.words[2], 3, 10);
  match::make_offer(offers.words[3], 3, 12);
  match::make_offer(offers.words[4], 2, 1);
  match::make_offer(offers.words[5], 1, 500);
  offers.words[5] |= match::kBusy;
  const auto least = [](std::uint32_t level) { return level == 2 ? 2u : 1u; };
  const match::StolenRange found = match::wait_for_offer(offers, kGroups, kTaker, least);
  CHECK(found.group == 3 && found.level == 3);
  CHECK(found.range.first == 6 && found.range.count == 6);
  CHECK(match::left_of(offers.words[3]) == 6);
  match::release_offer(offers.words[3]);
  const match::StolenRange next = match::wait_for_offer(offers, kGroups, kTaker, least);
  CHECK(next.group == 2 && next.range.count == 5);
}

}  // namespace

int main() {
  check_ranges();
  check_choice();
  std::uint64_t given = 0, stolen = 0;
  for (std::uint32_t seed = 0; seed < 12; ++seed)
    for (const bool breaks_off : {false, true}) {
      given += check_all_is_done_once<false>(3 + seed % 3, seed, breaks_off);
      stolen += check_all_is_done_once<true>(3 + seed % 3, seed, breaks_off);
    }
  CHECK(given > 0 && stolen > 0);
}
