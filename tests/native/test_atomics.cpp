// Litmus tests: what atomic_ref promises between threads. ThreadSanitizer sees a missing release or acquire
// here even where the processor that runs the test would never show it.
#include <cstdint>
#include <thread>
#include <vector>

#include "check.hpp"
#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/total.hpp"

namespace {

using motiflux::device::add_128;
using motiflux::device::block_wide;
using motiflux::device::device_wide;
using motiflux::device::Order;
using motiflux::device::system_wide;
using Word = std::uint64_t;

constexpr int kRounds = 2000;

// Runs body(0), body(1), ... on a thread each.
template <class Body>
void together(int threads, Body&& body) {
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : running) thread.join();
}

void what_was_written_before_a_release_is_there_after_the_acquire() {
  Word data = 0, flag = 0, answer = 0;  // data is ordinary memory
  together(2, [&](int thread) {
    for (Word round = 1; round <= kRounds; ++round) {
      if (thread == 0) {
        data = 7 * round;
        system_wide(flag).store(round, Order::kRelease);
        while (system_wide(answer).load(Order::kAcquire) != round) std::this_thread::yield();
      } else {
        while (system_wide(flag).load(Order::kAcquire) != round) std::this_thread::yield();
        CHECK(data == 7 * round);
        system_wide(answer).store(round, Order::kRelease);
      }
    }
  });
}

// Thread 0 tells 1, in one scope, and 1 tells 2, in another: 2 knows what 0 wrote.
void releases_are_cumulative() {
  for (int round = 0; round < kRounds / 20; ++round) {
    Word data = 0;
    std::uint32_t first = 0, second = 0;
    together(3, [&](int thread) {
      if (thread == 0) {
        data = 5;
        block_wide(first).store(1, Order::kRelease);
      } else if (thread == 1) {
        while (block_wide(first).load(Order::kAcquire) == 0) std::this_thread::yield();
        system_wide(second).store(1, Order::kRelease);
      } else {
        while (system_wide(second).load(Order::kAcquire) == 0) std::this_thread::yield();
        CHECK(data == 5);
      }
    });
  }
}

// An operation that reads and writes carries on a release that it read, even a relaxed one.
void a_relaxed_addition_carries_a_release_on() {
  for (int round = 0; round < kRounds / 20; ++round) {
    Word data = 0, flag = 0;
    together(3, [&](int thread) {
      if (thread == 0) {
        data = 9;
        device_wide(flag).store(1, Order::kRelease);
      } else if (thread == 1) {
        while (device_wide(flag).load(Order::kRelaxed) == 0) std::this_thread::yield();
        device_wide(flag).fetch_add(1, Order::kRelaxed);
      } else {
        while (device_wide(flag).load(Order::kAcquire) != 2) std::this_thread::yield();
        CHECK(data == 9);
      }
    });
  }
}

// A maximum that changes nothing is still such an operation.
void a_maximum_below_what_is_there_carries_a_release_on() {
  for (int round = 0; round < kRounds / 20; ++round) {
    Word data = 0, flag = 0;
    together(3, [&](int thread) {
      if (thread == 0) {
        data = 9;
        device_wide(flag).fetch_max(8, Order::kRelease);
      } else if (thread == 1) {
        while (device_wide(flag).load(Order::kRelaxed) == 0) std::this_thread::yield();
        CHECK(device_wide(flag).fetch_max(3, Order::kRelaxed) == 8);
      } else {
        while (device_wide(flag).load(Order::kAcquire) != 8) std::this_thread::yield();
        CHECK(data == 9);
      }
    });
  }
}

void exchanged_ownership_is_exclusive() {
  Word counter = 0;  // ordinary memory, guarded by the lock
  std::uint32_t lock = 0;
  together(3, [&](int) {
    for (int round = 0; round < kRounds; ++round) {
      while (device_wide(lock).exchange(1, Order::kAcquire) != 0) std::this_thread::yield();
      ++counter;
      device_wide(lock).store(0, Order::kRelease);
    }
  });
  CHECK(counter == 3 * kRounds);
}

void compare_exchange_loses_no_update() {
  Word counter = 0;
  together(3, [&](int) {
    for (int round = 0; round < kRounds; ++round) {
      Word seen = device_wide(counter).load(Order::kRelaxed);
      while (!device_wide(counter).compare_exchange(seen, seen + 3, Order::kAcqRel)) {
      }
    }
  });
  CHECK(counter == 9 * kRounds);
}

// Store buffering: with release and acquire both threads may miss the other's flag (and do, on x86), so
// nothing is checked of those. Sequentially consistent operations rule it out.
void sequentially_consistent_flags_are_not_both_missed() {
  for (int round = 0; round < kRounds / 20; ++round) {
    std::uint32_t flags[2] = {0, 0}, seen[2] = {0, 0};
    together(2, [&](int thread) {
      system_wide(flags[thread]).store(1, Order::kSeqCst);
      seen[thread] = system_wide(flags[1 - thread]).load(Order::kSeqCst);
    });
    CHECK(seen[0] + seen[1] != 0);
  }
}

void every_operation_returns_what_was_there_before() {
  std::uint32_t word = 12;
  const auto shared = device_wide(word);
  CHECK(shared.exchange(5, Order::kAcqRel) == 12);
  CHECK(shared.fetch_add(~std::uint32_t{0}, Order::kRelaxed) == 5);
  CHECK(shared.fetch_or(3, Order::kRelaxed) == 4);
  CHECK(shared.fetch_and(6, Order::kRelaxed) == 7);
  CHECK(shared.fetch_max(9, Order::kRelaxed) == 6);
  CHECK(shared.fetch_max(2, Order::kRelaxed) == 9);
  std::uint32_t expected = 2;
  CHECK(!shared.compare_exchange(expected, 8, Order::kRelease));
  CHECK(expected == 9);
  while (!shared.compare_exchange(expected, 8, Order::kAcquire)) {
  }
  CHECK(shared.load(Order::kSeqCst) == 8);
}

void totals_of_many_threads_carry_exactly() {
  constexpr int kThreads = 4;
  constexpr Word kTerms = 5000;
  Word total[2] = {0, 0};
  unsigned __int128 expected = 0;
  const auto term = [](int thread, Word i) {
    return thread % 2 == 0 ? ~Word{0} - i : (Word{1} << 63) + (static_cast<Word>(thread) << 40) * i;
  };
  for (int thread = 0; thread < kThreads; ++thread)
    for (Word i = 0; i < kTerms; ++i) expected += term(thread, i);
  together(kThreads, [&](int thread) {
    for (Word i = 0; i < kTerms; ++i) add_128(total, term(thread, i));
  });
  CHECK(total[0] == static_cast<Word>(expected));
  CHECK(total[1] == static_cast<Word>(expected >> 64));
}

void a_total_carries_only_past_64_bits() {
  Word total[2] = {0, 0};
  add_128(total, ~Word{0});
  CHECK(total[0] == ~Word{0} && total[1] == 0);
  add_128(total, 0);
  CHECK(total[0] == ~Word{0} && total[1] == 0);
  add_128(total, 1);
  CHECK(total[0] == 0 && total[1] == 1);
}

}  // namespace

int main() {
  what_was_written_before_a_release_is_there_after_the_acquire();
  releases_are_cumulative();
  a_relaxed_addition_carries_a_release_on();
  a_maximum_below_what_is_there_carries_a_release_on();
  exchanged_ownership_is_exclusive();
  compare_exchange_loses_no_update();
  sequentially_consistent_flags_are_not_both_missed();
  every_operation_returns_what_was_there_before();
  totals_of_many_threads_carry_exactly();
  a_total_carries_only_past_64_bits();
}
