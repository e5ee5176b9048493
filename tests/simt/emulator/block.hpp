// A block of threads: fibers, the warps they form, and who runs next.
//
//            leave(): picks another                       the thread of the system that runs the block
//   fiber <------------------------> fiber  --- ends or fails --->  run(): retires it, picks the next
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "collectives.hpp"
#include "fiber.hpp"
#include "interface.hpp"
#include "launch.hpp"

namespace motiflux_simt {

constexpr unsigned kMostThreads = 1024;

// A set of the block's threads.
class ThreadSet {
 public:
  explicit ThreadSet(unsigned threads) : used_((threads + 63) / 64) {}

  void add(unsigned thread) { words_[thread / 64] |= std::uint64_t{1} << (thread % 64); }
  void remove(unsigned thread) { words_[thread / 64] &= ~(std::uint64_t{1} << (thread % 64)); }
  void add_warp(unsigned warp, std::uint32_t lanes) {
    words_[warp / 2] |= static_cast<std::uint64_t>(lanes) << (warp % 2 * 32);
  }
  std::uint32_t warp(unsigned warp) const {
    return static_cast<std::uint32_t>(words_[warp / 2] >> (warp % 2 * 32));
  }
  void take(ThreadSet& other);
  // The first at or after `start`, else the first of all; -1 if there is none.
  int next(unsigned start) const;
  int last() const;

 private:
  unsigned used_;
  std::array<std::uint64_t, kMostThreads / 64> words_{};
};

// Lanes on their way into one collective.
struct Gathering {
  Kind kind;
  unsigned bytes;
  std::uint32_t mask;
  std::uint32_t arrived;
};

struct Warp {
  std::uint32_t lanes = 0;  // those that have not returned
  unsigned gatherings = 0;
  // A lane waits in one at most, and none is empty.
  std::array<Gathering, kLanes> gathering;
  Exchange exchange;
};

struct Fiber {
  Here here;
  Context context;
  Stack stack;
  unsigned barrier_result = 0;
};

class Block {
 public:
  Block(Launch& launch, StackPool& stacks, std::uint32_t index);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  // Runs it to its end, or until the launch stops.
  void run();

  // By the running fiber:
  void body();
  std::uint64_t collective(const Call& call);
  unsigned barrier(bool yes);
  void yield();
  void doze(unsigned nanoseconds);
  bool chance(std::uint32_t place, std::uint64_t key, unsigned one_in) const;
  [[noreturn]] void fail(const std::string& message);

 private:
  static unsigned warp_of(const Fiber& fiber) { return fiber.here.thread / kLanes; }
  static unsigned lane_of(const Fiber& fiber) { return fiber.here.thread % kLanes; }

  void start_fibers();
  int pick();
  void leave();
  void enter(Context& from, Fiber& next, bool forever = false);
  void to_main(bool forever);
  void retire(Fiber& fiber);
  void release_barrier();
  void check(Warp& warp, unsigned lane, const Call& call);
  Gathering& gather(Warp& warp, unsigned lane, const Call& call);
  void finish(Warp& warp, unsigned warp_index, Gathering& gathering);
  void progress() { ++progress_, idle_ = 0; }
  void watch();
  std::string where(unsigned thread) const;
  std::string where_all_wait() const;

  Launch& launch_;
  StackPool& stacks_;
  std::uint32_t index_;
  std::unique_ptr<unsigned char[]> shared_;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  Context main_;
  Context* came_from_ = nullptr;
  Fiber* running_ = nullptr;
  Fiber* ended_ = nullptr;

  ThreadSet runnable_;
  ThreadSet rested_;  // under a policy of fixed order: runnable, but yielded in this round
  ThreadSet at_barrier_;
  unsigned alive_ = 0;
  unsigned waiting_ = 0;  // at the barrier or in collectives
  unsigned barrier_arrived_ = 0;
  unsigned barrier_yes_ = 0;
  std::uint64_t asleep_ = 0;  // nanoseconds that threads asked to sleep, not slept yet

  std::uint64_t random_;
  std::uint64_t steps_ = 0;
  std::uint64_t idle_ = 0;
  std::uint64_t progress_ = 0;
  std::uint64_t progress_seen_ = 0;
  Clock::time_point progress_time_ = Clock::now();
};

}  // namespace motiflux_simt
