// Walks from each vertex a in turn: the number of ways to reach every other vertex
// (csrc/local_counts/walks.hpp).
//
//   register   value [vertices], zero unless reached | reached [vertices]: the vertices reached, in any order
//
// A block walks from one root after another with its own registers in device memory; reached entries are
// reset to zero. Numbers have 64 bits, with overflow checks.
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/local_counts/roots.cuh"
#include "motiflux/sets/span.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts {

enum class Move : std::uint32_t {
  kSeed = 0,
  kPush = 1,
  kPull = 2,
  kEnds = 3,
  kTimes = 4,
  kScale = 5,
  kPower = 6,
};

enum class Finish : std::uint32_t { kSum = 0, kEdges = 1, kArcs = 2 };

inline constexpr std::uint32_t kMostSteps = 24;

struct WalkStep {
  view::Adjacency rows;
  const std::uint64_t* weights;  // of arcs, or of vertices; null: all 1
  std::uint32_t move;
  std::uint32_t into;
  std::uint32_t source;
  std::uint32_t power;
  std::uint64_t below;  // only arcs to vertices less than a
};

struct WalkArgs {
  WalkStep steps[kMostSteps];
  std::uint32_t count;
  std::uint32_t registers;
  std::uint32_t apart;  // walks do not come back to a
  std::uint32_t finish;
  view::Adjacency rows;  // of Finish::kEdges, symmetric; of kArcs
  Frame frame;
  Roots roots;
  std::uint32_t vertices;
  std::uint32_t totals;    // whether `out` is a sum over all roots, of two words
  std::uint64_t* values;   // [blocks][registers][vertices], zero
  std::uint32_t* reached;  // [blocks][registers][vertices]
  std::uint64_t* out;      // else [vertices], or [arcs]
};

class Walker {
 public:
  MOTIFLUX_DEVICE Walker(const WalkArgs& args, unsigned char* shared)
      : args_(args),
        scratch_(*reinterpret_cast<Scratch*>(shared)),
        team_{lanes_.in_block(), blockDim.x / Lanes::kLanes},
        first_(std::uint64_t{blockIdx.x} * args.registers * args.vertices) {}

  MOTIFLUX_DEVICE void run() {
    if (threadIdx.x < kMostRegisters) scratch_.counts[threadIdx.x] = 0;
    for_each_heavy(args_.roots, args_.frame, scratch_, [&](std::uint32_t root, std::uint32_t, std::uint64_t) {
      root_ = root;
      for (std::uint32_t at = 0; at < args_.count; ++at) {
        take(args_.steps[at]);
        __syncthreads();
      }
      finish(args_.steps[args_.count - 1].into);
      __syncthreads();
      clear();
    });
    if (args_.totals != 0) {
      const Number found = sum_of_block(lanes_, scratch_, whole_, failed_);
      if (threadIdx.x == 0) failed_ |= device::add_128(args_.out, found.low, found.high);
    }
    fail(args_.frame, failed_);
  }

 private:
  MOTIFLUX_DEVICE std::uint64_t* values(std::uint32_t one) const {
    return args_.values + first_ + std::uint64_t{one} * args_.vertices;
  }
  MOTIFLUX_DEVICE std::uint32_t* reached(std::uint32_t one) const {
    return args_.reached + first_ + std::uint64_t{one} * args_.vertices;
  }
  MOTIFLUX_DEVICE std::uint64_t value(std::uint32_t one, std::uint32_t vertex) const {
    return values(one)[vertex];
  }
  MOTIFLUX_DEVICE void set(std::uint32_t one, std::uint32_t vertex, std::uint64_t to) const {
    values(one)[vertex] = to;
  }

  MOTIFLUX_DEVICE void reach(std::uint32_t one, std::uint32_t vertex) const {
    const std::uint32_t at = device::fast_add(scratch_.counts[one], 1u);
    if (at < args_.vertices) reached(one)[at] = vertex;
  }

  // Each vertex is entered once, unless its number overflowed to zero.
  MOTIFLUX_DEVICE std::uint32_t count(std::uint32_t one) const {
    const std::uint32_t found = scratch_.counts[one];
    return found < args_.vertices ? found : args_.vertices;
  }

  // Calls use(vertex) on some thread for each vertex reached.
  template <class Use>
  MOTIFLUX_DEVICE void for_each_reached(std::uint32_t one, Use&& use) const {
    const std::uint32_t end = count(one);
    for (std::uint32_t at = threadIdx.x; at < end; at += blockDim.x) use(reached(one)[at]);
  }

  // Calls use(vertex, begin, size) on all lanes of some warp for the row of each vertex reached, or its part
  // below limit(vertex).
  template <class Limit, class Use>
  MOTIFLUX_DEVICE void for_each_row(std::uint32_t one, const view::Adjacency& rows, bool cut, Limit&& limit,
                                    Use&& use) {
    const std::uint32_t* const list = reached(one);
    const auto look = [&](std::uint64_t at, std::uint64_t& begin, std::uint32_t& size) {
      const std::uint32_t vertex = list[at];
      begin = rows.offsets[vertex];
      size = ends(rows, vertex, cut, limit(vertex));
    };
    for_each_chunk(
        lanes_, args_.frame, team_, count(one), look,
        [&](std::uint64_t at, std::uint64_t begin, std::uint32_t size) { use(list[at], begin, size); });
  }

  MOTIFLUX_DEVICE std::uint32_t ends(const view::Adjacency& rows, std::uint32_t vertex, bool cut,
                                     std::uint32_t limit) const {
    const std::uint32_t* const begin = rows.begin(vertex);
    const std::uint32_t* const end = rows.end(vertex);
    return static_cast<std::uint32_t>((cut ? sets::lower_bound(begin, end, limit) : end) - begin);
  }

  MOTIFLUX_DEVICE void take(const WalkStep& step) {
    switch (static_cast<Move>(step.move)) {
      case Move::kSeed:
        return seed(step);
      case Move::kPush:
        return push(step);
      case Move::kPull:
        return pull(step);
      default:
        for_each_reached(step.into, [&](std::uint32_t vertex) { change(step, vertex); });
    }
  }

  // The moves that read only one vertex.
  MOTIFLUX_DEVICE void change(const WalkStep& step, std::uint32_t vertex) {
    std::uint64_t number = value(step.into, vertex);
    std::uint64_t by = 1;
    switch (static_cast<Move>(step.move)) {
      case Move::kEnds:
        by = ends(step.rows, vertex, step.below != 0, root_);
        break;
      case Move::kTimes:
        by = value(step.source, vertex);
        break;
      case Move::kScale:
        by = step.weights[vertex];
        break;
      default:
        by = number;
        number = 1;
    }
    if (static_cast<Move>(step.move) != Move::kScale) failed_ |= raise(by, step.power);
    failed_ |= multiply(number, by);
    set(step.into, vertex, number);
  }

  MOTIFLUX_DEVICE void seed(const WalkStep& step) {
    const std::uint64_t begin = step.rows.offsets[root_];
    const std::uint64_t size = step.rows.offsets[root_ + 1] - begin;
    for (std::uint64_t at = threadIdx.x; at < size; at += blockDim.x) {
      const std::uint32_t to = step.rows.neighbors[begin + at];
      if (step.below != 0 && to >= root_) break;
      const std::uint64_t weight = step.weights == nullptr ? 1 : step.weights[begin + at];
      if (weight == 0) continue;
      set(step.into, to, weight);
      reach(step.into, to);
    }
  }

  MOTIFLUX_DEVICE void push(const WalkStep& step) {
    const auto limit = [&](std::uint32_t) { return root_; };
    for_each_row(step.source, step.rows, step.below != 0, limit,
                 [&](std::uint32_t vertex, std::uint64_t begin, std::uint32_t size) {
                   const std::uint64_t from = value(step.source, vertex);
                   if (from != 0) push_row(step, from, begin, size);
                 });
    if (args_.apart == 0) return;
    __syncthreads();
    if (threadIdx.x == 0) set(step.into, root_, 0);
  }

  MOTIFLUX_DEVICE void push_row(const WalkStep& step, std::uint64_t from, std::uint64_t begin,
                                std::uint32_t size) {
    std::uint64_t* const into = values(step.into);
    for_each_neighbor(lanes_, step.rows.neighbors + begin, size, [&](std::uint64_t at, std::uint32_t to) {
      std::uint64_t more = from;
      if (step.weights != nullptr) failed_ |= multiply(more, step.weights[begin + at]);
      if (more == 0) return;
      const std::uint64_t before = device::fast_add(into[to], more);
      failed_ |= before + more < before;
      if (before == 0) reach(step.into, to);
    });
  }

  // The sum of a register over a part of a row, weighted by arcs, in all lanes.
  MOTIFLUX_DEVICE std::uint64_t gathered(const WalkStep& step, std::uint32_t from, std::uint64_t begin,
                                         std::uint32_t size, const std::uint64_t* weights) {
    Number found{};
    for_each_neighbor(lanes_, step.rows.neighbors + begin, size, [&](std::uint64_t at, std::uint32_t to) {
      std::uint64_t more = value(from, to);
      if (weights != nullptr && more != 0) failed_ |= multiply(more, weights[begin + at]);
      add(found, {more, 0});
    });
    found = sum(lanes_, found, failed_);
    failed_ |= found.high != 0;
    return found.low;
  }

  MOTIFLUX_DEVICE void pull(const WalkStep& step) {
    const auto limit = [&](std::uint32_t) { return root_; };
    // Empty rows are not visited there: they make the number zero.
    for_each_reached(step.into, [&](std::uint32_t vertex) {
      if (ends(step.rows, vertex, step.below != 0, root_) == 0) set(step.into, vertex, 0);
    });
    __syncthreads();
    for_each_row(step.into, step.rows, step.below != 0, limit,
                 [&](std::uint32_t vertex, std::uint64_t begin, std::uint32_t size) {
                   std::uint64_t number = value(step.into, vertex);
                   if (number == 0) return;
                   std::uint64_t by = gathered(step, step.source, begin, size, step.weights);
                   const bool passed = raise(by, step.power) || multiply(number, by);
                   failed_ |= passed;
                   lanes_.sync();  // all have read the number
                   if (lanes_.leads()) set(step.into, vertex, number);
                 });
  }

  MOTIFLUX_DEVICE void finish(std::uint32_t last) {
    if (args_.finish == static_cast<std::uint32_t>(Finish::kArcs)) {
      const std::uint64_t end = args_.rows.offsets[root_ + 1];
      for (std::uint64_t arc = args_.rows.offsets[root_] + threadIdx.x; arc < end; arc += blockDim.x)
        args_.out[arc] = value(last, args_.rows.neighbors[arc]);
      return;
    }
    if (args_.finish == static_cast<std::uint32_t>(Finish::kSum))
      for_each_reached(last, [&](std::uint32_t vertex) { failed_ |= add(whole_, {value(last, vertex), 0}); });
    else
      sum_edges(last);
    if (args_.totals != 0) return;
    const Number found = sum_of_block(lanes_, scratch_, whole_, failed_);
    whole_ = {};
    if (threadIdx.x != 0) return;
    failed_ |= found.high != 0;
    args_.out[root_] = found.low;
  }

  // Sums over both arcs of each edge.
  MOTIFLUX_DEVICE void sum_edges(std::uint32_t last) {
    WalkStep step{};
    step.rows = args_.rows;
    for_each_row(
        last, args_.rows, true, [](std::uint32_t vertex) { return vertex; },
        [&](std::uint32_t vertex, std::uint64_t begin, std::uint32_t size) {
          const std::uint64_t number = value(last, vertex);
          if (number == 0) return;
          const std::uint64_t others = gathered(step, last, begin, size, nullptr);
          if (!lanes_.leads()) return;
          const Number found = product(number, others);
          failed_ |= add(whole_, found) || add(whole_, found);
        });
  }

  MOTIFLUX_DEVICE void clear() {
    for (std::uint32_t one = 0; one < args_.registers; ++one)
      for_each_reached(one, [&](std::uint32_t vertex) { set(one, vertex, 0); });
    __syncthreads();
    if (threadIdx.x < kMostRegisters) scratch_.counts[threadIdx.x] = 0;
  }

  const WalkArgs& args_;
  Lanes lanes_;
  Scratch& scratch_;
  Team team_;
  std::uint64_t first_;
  std::uint32_t root_ = 0;
  Number whole_{};
  bool failed_ = false;
};

// The body of the kernel.
MOTIFLUX_DEVICE void walk(const WalkArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Walker(args, shared_memory).run();
}

}  // namespace motiflux::local_counts
