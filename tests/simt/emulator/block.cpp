// Scheduling: who runs next, waiting, ending, and the watchdog.
#include "block.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace motiflux_simt {

namespace {

// The block that this thread of the system runs.
__thread Block* current_block = nullptr;

void fiber_entry() {
  current_block->body();
}

// SplitMix64.
std::uint64_t draw(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Block* running_block() {
  return current_block;
}
void set_running_block(Block* block) {
  current_block = block;
}

void ThreadSet::take(ThreadSet& other) {
  words_ = other.words_;
  other.words_ = {};
}

int ThreadSet::next(unsigned start) const {
  const auto first_of = [this](unsigned at, std::uint64_t among) {
    return static_cast<int>(at * 64 + static_cast<unsigned>(__builtin_ctzll(words_[at] & among)));
  };
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  const std::uint64_t from_start = kAny << (start % 64);
  if ((words_[start / 64] & from_start) != 0) return first_of(start / 64, from_start);
  for (unsigned at = start / 64 + 1; at < used_; ++at) {
    if (words_[at] != 0) return first_of(at, kAny);
  }
  for (unsigned at = 0; at < used_ && at <= start / 64; ++at) {
    if (words_[at] != 0) return first_of(at, kAny);
  }
  return -1;
}

int ThreadSet::last() const {
  for (unsigned at = used_; at-- > 0;) {
    if (words_[at] != 0)
      return static_cast<int>(at * 64 + 63 - static_cast<unsigned>(__builtin_clzll(words_[at])));
  }
  return -1;
}

Block::Block(Launch& launch, StackPool& stacks, std::uint32_t index)
    : launch_(launch),
      stacks_(stacks),
      index_(index),
      shared_(new unsigned char[launch.shared]),
      fibers_(launch.block),
      warps_((launch.block + kLanes - 1) / kLanes),
      runnable_(launch.block),
      rested_(launch.block),
      at_barrier_(launch.block),
      random_(launch.options.seed ^ (std::uint64_t{index} << 32)) {
  std::memset(shared_.get(), 0xa5, launch.shared);
}

Block::~Block() {
  // Left are those of a launch that failed. They are not reused: what lies on them was never destroyed.
  for (Fiber& fiber : fibers_) {
    if (fiber.stack.base != nullptr) StackPool::unmap(fiber.stack);
  }
}

void Block::start_fibers() {
  for (unsigned thread = 0; thread < launch_.block; ++thread) {
    Fiber& fiber = fibers_[thread];
    fiber.here = {thread, index_, launch_.block, launch_.grid, shared_.get()};
    fiber.stack = stacks_.take(launch_.options.stack_bytes);
    prepare(fiber.context, fiber.stack, thread, fiber_entry);
    runnable_.add(thread);
    warps_[thread / kLanes].lanes |= 1U << (thread % kLanes);
  }
  alive_ = launch_.block;
}

void Block::run() {
  set_running_block(this);
  start_fibers();
  while (alive_ > 0 && !launch_.stop.load(std::memory_order_relaxed)) {
    const int next = pick();
    if (next < 0) {
      launch_.fail(where_all_wait());
      break;
    }
    enter(main_, fibers_[static_cast<unsigned>(next)]);
    if (ended_ != nullptr) retire(*ended_);
  }
  here = nullptr;
  set_running_block(nullptr);
}

void Block::body() {
  arrive(running_->context, *came_from_);
  call_with_structure(launch_.kernel, launch_.argument, launch_.argument_bytes);
  ended_ = running_;
  to_main(true);
}

void Block::enter(Context& from, Fiber& next, bool forever) {
  came_from_ = &from;
  running_ = &next;
  here = &next.here;
  depart(from, next.context, forever);
  switch_machine(from, next.context);
  arrive(from, *came_from_);
}

void Block::to_main(bool forever) {
  Context& from = running_->context;
  came_from_ = &from;
  depart(from, main_, forever);
  switch_machine(from, main_);
  __builtin_unreachable();
}

void Block::fail(const std::string& message) {
  launch_.fail(where(running_->here.thread) + ": " + message);
  to_main(false);
  __builtin_unreachable();
}

bool Block::chance(std::uint32_t place, std::uint64_t key, unsigned one_in) const {
  if (launch_.options.chances == 0) return false;
  std::uint64_t state = launch_.options.chances;
  state = draw(state) ^ place;
  state = draw(state) ^ key;
  return (draw(state) >> 32) % one_in == 0;
}

int Block::pick() {
  const Policy policy = launch_.options.policy;
  if (policy == Policy::random) {
    const std::uint64_t drawn = draw(random_) >> 32;
    return runnable_.next(static_cast<unsigned>(drawn * launch_.block >> 32));
  }
  int next = policy == Policy::lowest ? runnable_.next(0) : runnable_.last();
  if (next < 0) {
    runnable_.take(rested_);
    next = policy == Policy::lowest ? runnable_.next(0) : runnable_.last();
  }
  return next;
}

// Lets another fiber run, or the same one if the policy picks it and it may.
void Block::leave() {
  if ((++steps_ & 1023U) == 0) watch();
  Fiber& self = *running_;
  if (launch_.stop.load(std::memory_order_relaxed)) to_main(false);
  const int next = pick();
  if (next < 0) {
    launch_.fail(where_all_wait());
    to_main(false);
  }
  if (&fibers_[static_cast<unsigned>(next)] != &self)
    enter(self.context, fibers_[static_cast<unsigned>(next)]);
}

void Block::retire(Fiber& fiber) {
  ended_ = nullptr;
  stacks_.give(fiber.stack);
  fiber.stack = {};
  runnable_.remove(fiber.here.thread);
  --alive_;
  progress();
  Warp& warp = warps_[warp_of(fiber)];
  const std::uint32_t bit = 1U << lane_of(fiber);
  warp.lanes &= ~bit;
  for (unsigned at = 0; at < warp.gatherings; ++at) {
    const Gathering& waiting = warp.gathering[at];
    if ((waiting.mask & bit) == 0) continue;
    char text[160];
    std::snprintf(text, sizeof text, ": returned, but lanes 0x%08x wait for it in %s with mask 0x%08x",
                  waiting.arrived, name(waiting.kind), waiting.mask);
    launch_.fail(where(fiber.here.thread) + text);
  }
  if (barrier_arrived_ > 0 && barrier_arrived_ == alive_) release_barrier();
}

unsigned Block::barrier(bool yes) {
  Fiber& self = *running_;
  runnable_.remove(self.here.thread);
  at_barrier_.add(self.here.thread);
  ++waiting_;
  ++barrier_arrived_;
  barrier_yes_ += yes;
  if (barrier_arrived_ == alive_) release_barrier();
  leave();
  return self.barrier_result;
}

void Block::release_barrier() {
  // All that are alive are here, so none is runnable.
  for (Fiber& fiber : fibers_) fiber.barrier_result = barrier_yes_;
  runnable_.take(at_barrier_);
  waiting_ -= barrier_arrived_;
  barrier_arrived_ = 0;
  barrier_yes_ = 0;
  progress();
}

void Block::yield() {
  Fiber& self = *running_;
  ++idle_;
  if (launch_.options.policy != Policy::random) {
    runnable_.remove(self.here.thread);
    rested_.add(self.here.thread);
  }
  leave();
}

// Threads sleep side by side, so the block as a whole sleeps for the mean of what they ask: a block that only
// waits leaves the processor to whom it waits for, and one thread at work among sleepers is held up little.
void Block::doze(unsigned nanoseconds) {
  constexpr unsigned kMost = 1000;
  constexpr std::uint64_t kWorthwhile = 50'000;
  asleep_ += nanoseconds < kMost ? nanoseconds : kMost;
  if (asleep_ >= kWorthwhile * alive_) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(asleep_ / alive_));
    asleep_ = 0;
  }
  yield();
}

void Block::watch() {
  const Options& options = launch_.options;
  if (options.idle_yields != 0 && idle_ > options.idle_yields) {
    fail("watchdog: " + std::to_string(idle_) + " scheduling points of the block led nowhere");
  }
  if (idle_ > 4096) sched_yield();
  const Clock::time_point now = Clock::now();
  const auto seconds = [now](Clock::time_point since) {
    return std::chrono::duration<double>(now - since).count();
  };
  if (progress_ != progress_seen_) {
    progress_seen_ = progress_;
    progress_time_ = now;
  } else if (options.stall_seconds > 0 && seconds(progress_time_) > options.stall_seconds) {
    fail("watchdog: the block has spun for " + std::to_string(options.stall_seconds) + " seconds; " +
         where_all_wait());
  }
  if (options.launch_seconds > 0 && seconds(launch_.start) > options.launch_seconds) {
    fail("watchdog: the launch has run for " + std::to_string(options.launch_seconds) + " seconds");
  }
}

std::string Block::where(unsigned thread) const {
  return "block " + std::to_string(index_) + ", warp " + std::to_string(thread / kLanes) + ", lane " +
         std::to_string(thread % kLanes);
}

std::string Block::where_all_wait() const {
  std::string text = "block " + std::to_string(index_) + ": " + std::to_string(alive_) + " threads left, " +
                     std::to_string(waiting_) + " of them wait" + (alive_ == waiting_ ? " (deadlock):" : ":");
  for (unsigned index = 0; index < warps_.size(); ++index) {
    const Warp& warp = warps_[index];
    char line[160];
    for (unsigned at = 0; at < warp.gatherings; ++at) {
      const Gathering& waiting = warp.gathering[at];
      std::snprintf(line, sizeof line, "\n  warp %u: lanes 0x%08x wait in %s with mask 0x%08x", index,
                    waiting.arrived, name(waiting.kind), waiting.mask);
      text += line;
    }
    if (at_barrier_.warp(index) != 0) {
      std::snprintf(line, sizeof line, "\n  warp %u: lanes 0x%08x wait in __syncthreads", index,
                    at_barrier_.warp(index));
      text += line;
    }
  }
  return text;
}

}  // namespace motiflux_simt
