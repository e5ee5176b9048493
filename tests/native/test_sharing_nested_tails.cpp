// Threads share the sums that a tail in parts begins with, and together find what there is.
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"
#include "common/wide.hpp"
#include "search/pool.hpp"
#include "search/walker.hpp"

namespace {

namespace search = motiflux::search;
namespace view = motiflux::view;
using motiflux::Total;
using motiflux::Wide;

// Walks, level by level, through a random graph whose degrees differ much; each is worth the choices for so
// many leaves, neighbours of its last vertex. From `start` on, the levels are a tail: sums of sums.
class Walks {
 public:
  Walks(std::uint32_t vertices, int length, int leaves, int start, bool kept)
      : vertices_(vertices), length_(length), leaves_(leaves) {
    std::mt19937 random(vertices);
    for (std::uint32_t u = 0; u < vertices; ++u) {
      for (std::uint32_t v = 0; v < vertices; ++v)
        if (u != v && random() % vertices >= u) neighbors_.push_back(v);
      offsets_.push_back(neighbors_.size());
    }
    const int levels = length + leaves;
    for (int level = 0; level < levels; ++level) add_step(level);
    native_plan_.plan = {{static_cast<std::uint32_t>(levels), steps_.data(), sources_.data()},
                         {bounds_.data(), source_adjacencies_.data()}};
    native_plan_.adjacencies = {{offsets_.data(), neighbors_.data()}};
    native_plan_.out = native_plan_.in = native_plan_.adjacencies[0];
    native_plan_.vertices = native_plan_.roots = vertices;
    native_plan_.check_every = 12;
    add_tail(start, kept);
  }

  const search::NativePlan& native_plan() const { return native_plan_; }
  view::Adjacency rows() const { return native_plan_.adjacencies[0]; }

  // The number of them that begin with `prefix` and then one of its candidates from `from` to `to`.
  Wide count(std::vector<std::uint32_t> prefix, std::uint64_t from, std::uint64_t to) const {
    std::vector<Wide> worth(vertices_);
    for (std::uint32_t v = 0; v < vertices_; ++v) {
      worth[v] = Wide(1);
      for (int leaf = 0; leaf < leaves_; ++leaf) worth[v] *= Wide(rows().degree(v));
    }
    for (int left = length_ - static_cast<int>(prefix.size()) - 1; left > 0; --left) {
      std::vector<Wide> longer(vertices_);
      for (std::uint32_t u = 0; u < vertices_; ++u)
        for (const std::uint32_t* v = rows().begin(u); v != rows().end(u); ++v) longer[u] += worth[*v];
      worth = longer;
    }
    Wide sum;
    for (std::uint64_t at = from; at < to; ++at) sum += worth[rows().begin(prefix.back())[at]];
    return sum;
  }

 private:
  // Levels of the walk are neighbours of the one before, leaves of its last.
  void add_step(int level) {
    const int source = level == 0 ? 0 : std::min(level, length_) - 1;
    sources_.push_back({static_cast<std::uint16_t>(source), view::Direction::kOut});
    source_adjacencies_.push_back(0);
    bounds_.push_back({0, 0});
    view::StepShape step{};
    step.first_source = static_cast<std::uint32_t>(level);
    step.source_count = level == 0 ? 0 : 1;
    step.reuse = view::kNoReuse;
    step.anchor = source;
    steps_.push_back(step);
  }

  void add_tail(int start, bool kept) {
    search::Tail& tail = native_plan_.tail;
    tail.start = start;
    tail.matched.assign(steps_.size(), 0);
    for (int level = start; level < length_; ++level) {
      search::TailBlock block;
      block.kept = kept;
      block.exact = {level - 1};
      const int child = static_cast<int>(tail.blocks.size()) + 1;
      block.components.push_back(
          {.levels = {level}, .set_of = {0}, .chains = {}, .blocks = {child}, .lists = {}});
      tail.blocks.push_back(block);
    }
    search::TailBlock last;
    for (int leaf = length_; leaf < length_ + leaves_; ++leaf)
      last.components.push_back({.levels = {leaf}, .set_of = {0}, .chains = {}, .blocks = {}, .lists = {}});
    tail.blocks.push_back(last);
  }

  std::uint32_t vertices_;
  int length_, leaves_;
  std::vector<std::uint64_t> offsets_{0};
  std::vector<std::uint32_t> neighbors_;
  std::vector<view::Source> sources_;
  std::vector<std::uint16_t> source_adjacencies_;
  std::vector<view::StepShape> steps_;
  std::vector<view::StepArgs> bounds_;
  search::NativePlan native_plan_;
};

class Sum final : public search::Visitor {
 public:
  void rows(const std::uint32_t*, motiflux::sets::Span) override { CHECK(false); }
  void count(Total embeddings) override { total += Wide(embeddings); }
  void count_wide(const Wide& embeddings) override {
    total += embeddings;
    ++wide;
  }
  bool keep_going() override { return !stopped; }

  Wide total;
  int wide = 0;
  bool stopped = false;
};

// Leaves with which some walks are worth more than 2^128 and some are not, and few.
constexpr int kManyLeaves = 25, kFewLeaves = 2;

// Wherever a part is cut: all of it is counted, nothing twice.
void parts_of_a_tail_add_up() {
  for (int leaves : {kFewLeaves, kManyLeaves})
    for (bool kept : {false, true})
      for (int start : {1, 2, 3}) {
        const Walks work(44, 4, leaves, start, kept);
        const std::vector<std::uint32_t> walk{0, 1, 2};
        for (int level = start; level < 4; ++level) {
          const std::vector<std::uint32_t> before(walk.begin(), walk.begin() + level);
          std::array<std::uint32_t, view::kMaxLevels> prefix{};
          std::copy(before.begin(), before.end(), prefix.begin());
          const std::uint64_t end = work.rows().degree(before.back());
          Sum sum;
          search::Walker walker(work.native_plan(), sum, true);
          for (std::uint64_t cut : {std::uint64_t{0}, std::uint64_t{1}, end / 2, end}) {
            search::WorkItem low{
                .level = level, .from = 0, .to = cut, .arcs = 0, .slice = {}, .prefix = prefix};
            search::WorkItem high = low;
            high.from = cut;
            high.to = end;
            sum.total = {};
            CHECK(walker.search(high));
            CHECK(sum.total == work.count(before, cut, end));
            CHECK(walker.search(low));
            CHECK(sum.total == work.count(before, 0, end));
          }
          CHECK((sum.wide > 0) == (leaves == kManyLeaves));
        }
      }
}

// One thread begins a root arc once all others wait, which can only be given parts of the tail below it.
void those_who_wait_are_given_parts_of_a_tail(int others, int leaves, bool kept) {
  const Walks work(44, kept ? 5 : 4, leaves, 2, kept);
  const std::uint64_t arcs = work.rows().degree(0);
  std::atomic<int> cut{0};
  for (std::uint64_t arc = 0; arc < arcs; arc += 10) {
    search::Control control(0, others + 1, std::nullopt);
    search::Pool pool(control);
    std::vector<Sum> sums(static_cast<std::size_t>(others) + 1);
    std::atomic<int> seated{0};
    search::Pool::Worker worker(pool);
    std::vector<std::thread> threads;
    for (int other = 0; other < others; ++other)
      threads.emplace_back([&, other] {
        search::Walker walker(work.native_plan(), sums[static_cast<std::size_t>(other)], true);
        walker.share(pool);
        search::Pool::Worker own(pool);
        ++seated;
        while (const auto item = own.wait()) {
          ++cut;
          CHECK(item->level >= 2 && item->from < item->to);
          CHECK(walker.search(*item));
        }
      });
    while (seated < others || !pool.wants_work()) std::this_thread::yield();
    search::Walker walker(work.native_plan(), sums.back(), true);
    walker.share(pool);
    std::optional<search::WorkItem> item =
        search::WorkItem{.level = 0, .from = arc, .to = arc + 1, .arcs = 1};
    for (; item; item = worker.wait()) {
      cut += item->level >= 2;  // nobody may have woken up yet to take it
      CHECK(walker.search(*item));
    }
    for (std::thread& thread : threads) thread.join();
    Wide total;
    for (const Sum& sum : sums) total += sum.total;
    CHECK(total == work.count({0}, arc, arc + 1));
  }
  CHECK(cut > 0);
}

// A thread that is told to stop in the middle of a part says so.
void a_part_can_be_stopped() {
  const Walks work(48, 5, kFewLeaves, 2, false);
  Sum sum;
  sum.stopped = true;
  search::Walker walker(work.native_plan(), sum, true);
  CHECK(!walker.search({.level = 2, .from = 0, .to = 40, .arcs = 0, .slice = {}, .prefix = {0, 1}}));
  CHECK(!(sum.total == work.count({0, 1}, 0, 40)));
}

}  // namespace

int main() {
  parts_of_a_tail_add_up();
  for (int others : {1, 3})
    for (int leaves : {kFewLeaves, kManyLeaves})
      for (bool kept : {false, true}) those_who_wait_are_given_parts_of_a_tail(others, leaves, kept);
  a_part_can_be_stopped();
}
