// Work that changes hands between threads: all of it is done, once, and everybody goes home.
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"

// What a GPU has built in, and backing off is made of.
inline void __nanosleep(unsigned) {
  std::this_thread::yield();
}

#include "motiflux/match/work_queue.hpp"

namespace {

namespace match = motiflux::match;
using motiflux::device::Order;

struct OneLane {
  static constexpr std::uint32_t kLanes = 1;
  static std::uint32_t lane() { return 0; }
};

// Roots are numbers, and each stands for as many small pieces of work as its row says.
struct World {
  std::vector<std::uint32_t> sizes;
  match::WorkQueueCounts counts{};
  std::vector<std::uint32_t> closed, states;
  std::vector<match::Split> splits;
  match::WorkQueue work_queue{};
  std::uint64_t taken = 0, done = 0;
  std::vector<std::vector<std::uint32_t>> times;  // how often each piece was done, by root
  std::atomic<std::uint64_t> handed{0};

  World(std::vector<std::uint32_t> given, std::uint32_t wait_slots)
      : sizes(std::move(given)),
        closed(match::kClosedCopies * match::kClosedStride),
        states(wait_slots),
        splits(wait_slots) {
    work_queue = {&counts, closed.data(), states.data(), splits.data(), wait_slots};
    for (const std::uint32_t size : sizes) times.emplace_back(size);
  }
};

class Worker {
 public:
  Worker(World& world, std::uint32_t seed, bool leaves) : world_(world), random_(seed), leaves_(leaves) {}

  void run() {
    do {
      while (take_root()) work();
    } while (take_split());
  }

 private:
  bool take_root() {
    const auto taken = motiflux::device::device_wide(world_.taken);
    const std::uint64_t root = taken.fetch_add(std::uint64_t{1}, Order::kRelaxed);
    if (root >= world_.sizes.size()) return false;
    root_ = static_cast<std::uint32_t>(root);
    walk_ = {nullptr, 0, world_.sizes[root], 0};
    return true;
  }

  void work() {
    while (walk_.next < walk_.end) {
      motiflux::device::device_wide(world_.times[root_][walk_.next]).fetch_add(1u, Order::kRelaxed);
      ++walk_.next;
      if (random_() % 4 == 0 && match::a_group_waits(world_.work_queue)) share();
      if (leaves_ && random_() % 512 == 0) match::close_queue(OneLane{}, world_.work_queue);
      if (random_() % 64 == 0) std::this_thread::yield();
    }
    const auto done = motiflux::device::device_wide(world_.done);
    if (done.fetch_add(std::uint64_t{1}, Order::kRelaxed) + 1 == world_.sizes.size())
      match::close_queue(OneLane{}, world_.work_queue);
  }

  void share() {
    match::Cursor kept = walk_, given{};
    if (!match::halve(kept, given, false, 2)) return;
    const std::uint64_t ticket = match::claim_wait_slot(world_.work_queue);
    if (ticket == match::kNoTicket) return;
    match::Split& split = world_.work_queue.splits[match::wait_slot_of(world_.work_queue, ticket)];
    split.cursor = given;
    split.vertices[0] = root_;
    const auto done = motiflux::device::device_wide(world_.done);
    done.fetch_add(~std::uint64_t{0}, Order::kRelaxed);
    if (match::publish_split(world_.work_queue, ticket)) {
      walk_ = kept;
      ++world_.handed;
    } else {
      done.fetch_add(std::uint64_t{1}, Order::kRelaxed);
    }
  }

  bool take_split() {
    if (motiflux::device::device_wide(world_.done).load(Order::kRelaxed) == world_.sizes.size()) return false;
    std::uint64_t ticket;
    const std::uint32_t wait_slot = match::wait_for_split(world_.work_queue, ticket);
    if (wait_slot == match::kAbandoned) return false;
    walk_ = world_.work_queue.splits[wait_slot].cursor;
    root_ = world_.work_queue.splits[wait_slot].vertices[0];
    match::release_wait_slot(world_.work_queue, ticket);
    work();
    return true;
  }

  World& world_;
  std::mt19937 random_;
  bool leaves_;
  std::uint32_t root_ = 0;
  match::Cursor walk_{};
};

// `leaves`: some close the seats too early, as those do who find no room for rows.
void check_all_is_done_once(std::uint32_t workers, std::uint32_t wait_slots, std::uint32_t seed,
                            bool leaves) {
  World world({9, 4000, 0, 1, 2500, 3}, wait_slots);
  std::vector<std::thread> threads;
  for (std::uint32_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([&, worker] { Worker(world, 100 * seed + worker, leaves).run(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& root : world.times)
    for (const std::uint32_t times : root) CHECK(times == 1);
  CHECK(world.done == world.sizes.size());
  CHECK(world.counts.claimed == world.counts.issued);
  CHECK(world.counts.issued >= world.handed);
  if (!leaves) CHECK(world.counts.issued == world.handed);
}

void check_halves() {
  using match::Cursor;
  for (std::uint32_t left = 0; left < 6; ++left)
    for (std::uint32_t waiting = 0; waiting < 16; ++waiting)
      for (const bool spare : {false, true}) {
        Cursor kept{nullptr, 10, 10 + left, waiting}, given{};
        const std::uint32_t all = left + motiflux::count_bits(waiting);
        const bool halved = match::halve(kept, given, spare, 1);
        CHECK(halved == (all > (spare ? 0u : 1u)));
        if (!halved) continue;
        CHECK((kept.waiting & given.waiting) == 0 && (kept.waiting | given.waiting) == waiting);
        CHECK(kept.end == given.next && given.end == 10 + left && kept.next == 10);
        CHECK(given.end - given.next + motiflux::count_bits(given.waiting) > 0);
        CHECK(spare || kept.end - kept.next + motiflux::count_bits(kept.waiting) > 0);
        CHECK(given.waiting == 0 || given.end == given.next);
      }
  Cursor beyond{nullptr, 16, 10, 5}, given{};  // the last strip is longer than what there was
  CHECK(match::halve(beyond, given, false, 2) && given.waiting == 4 && beyond.waiting == 1);
  CHECK(!match::halve(beyond, given, false, 2));
}

}  // namespace

int main() {
  check_halves();
  for (std::uint32_t seed = 0; seed < 12; ++seed)
    for (const bool leaves : {false, true}) check_all_is_done_once(4 + seed % 3, 8, seed, leaves);
}
