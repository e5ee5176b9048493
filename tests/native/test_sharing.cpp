// Threads share a search whose work lies below a single root arc, and together find what one finds.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"
#include "search/count.hpp"
#include "search/enumerate.hpp"
#include "search/pool.hpp"
#include "search/walker.hpp"

namespace {

namespace search = motiflux::search;
namespace view = motiflux::view;
using motiflux::Total;

// Cliques above one arc 0 -> 1 of the complete graph: levels 2, 3 and 4 ascend and are neighbours of 1 and of
// each other. Level 4 starts from the set of level 3, so a part cannot be gone on with without that.
class OneArc {
 public:
  explicit OneArc(std::uint32_t vertices) : vertices_(vertices) {
    root_offsets_.assign(vertices + 1, 1);
    root_offsets_[0] = 0;
    root_neighbors_ = {1};
    offsets_ = {0};
    for (std::uint32_t u = 0; u < vertices; ++u) {
      for (std::uint32_t v = 0; v < vertices; ++v)
        if (u != v) neighbors_.push_back(v);
      offsets_.push_back(neighbors_.size());
    }
    using enum view::Direction;
    sources_ = {{0, kOut}, {1, kOut}, {1, kOut}, {2, kOut}, {3, kOut}};
    source_adjacencies_ = {0, 1, 1, 1, 1};
    steps_ = {step(0, 0, 0, 0), step(0, 1, 0, 0), step(1, 1, 1, 0), step(2, 2, 2, 1u << 2),
              step(4, 1, 3, 1u << 3)};
    steps_[4].reuse = 3;
    steps_[2].distinct = 1;
    steps_[3].distinct = 1;
    steps_[4].distinct = 1;
    bounds_.assign(steps_.size(), {0, 0});
    native_plan_.plan = {{static_cast<std::uint32_t>(steps_.size()), steps_.data(), sources_.data()},
                         {bounds_.data(), source_adjacencies_.data()}};
    native_plan_.adjacencies = {{root_offsets_.data(), root_neighbors_.data()},
                                {offsets_.data(), neighbors_.data()}};
    native_plan_.out = native_plan_.in = native_plan_.adjacencies[1];
    native_plan_.vertices = native_plan_.roots = vertices;
    native_plan_.tail.start = static_cast<int>(steps_.size());
  }

  const search::NativePlan& native_plan() const { return native_plan_; }
  int levels() const { return static_cast<int>(steps_.size()); }
  std::uint64_t count() const {
    const std::uint64_t others = vertices_ - 2;  // but 0 and 1
    return others * (others - 1) * (others - 2) / 6;
  }

 private:
  static view::StepShape step(std::uint32_t first, std::uint32_t sources, int anchor, std::uint32_t after) {
    return {.first_source = first,
            .source_count = sources,
            .reuse = view::kNoReuse,
            .anchor = anchor,
            .after = after,
            .before = 0,
            .distinct = 0,
            .not_out = 0,
            .not_in = 0,
            .bounds_out = false,
            .bounds_in = false};
  }

  std::uint32_t vertices_;
  std::vector<std::uint64_t> root_offsets_, offsets_;
  std::vector<std::uint32_t> root_neighbors_, neighbors_;
  std::vector<view::Source> sources_;
  std::vector<std::uint16_t> source_adjacencies_;
  std::vector<view::StepShape> steps_;
  std::vector<view::StepArgs> bounds_;
  search::NativePlan native_plan_;
};

void counts_and_sizes_do_not_depend_on_threads() {
  const OneArc work(130);
  std::vector<std::uint64_t> alone;
  for (int threads : {1, 2, 3, 8}) {
    search::Control control(work.native_plan().root_arcs(), threads, std::nullopt);
    std::vector<std::uint64_t> sizes;
    CHECK(search::count(work.native_plan(), control, threads, std::nullopt, &sizes) == work.count());
    CHECK(control.done() == control.total());
    if (threads == 1) alone = sizes;
    CHECK(sizes == alone);
  }
}

void several_searches_in_one_pass_share_too() {
  const OneArc work(90);
  for (int threads : {1, 3}) {
    search::Control pass(work.native_plan().root_arcs(), threads, std::nullopt);
    std::deque<search::Member> members;
    for (int member = 0; member < 2; ++member)
      members.emplace_back(work.native_plan(), std::nullopt, work.native_plan().root_arcs(), threads,
                           std::nullopt);
    search::count_together(members, pass, threads);
    for (const search::Member& member : members) CHECK(member.total == work.count());
  }
}

std::vector<std::vector<std::uint32_t>> listed(const OneArc& work, int threads) {
  search::Enumeration rows(work.native_plan(), {4, 2, 0, 1, 3},
                           {.threads = threads, .block_rows = 1000, .limit = {}, .timeout = {}});
  std::vector<std::vector<std::uint32_t>> result;
  while (!rows.finished()) {
    const auto block = rows.next(std::chrono::milliseconds(10));
    if (!block) continue;
    for (std::size_t at = 0; at < block->size(); at += 5)
      result.emplace_back(block->begin() + static_cast<std::ptrdiff_t>(at),
                          block->begin() + static_cast<std::ptrdiff_t>(at + 5));
  }
  std::sort(result.begin(), result.end());
  return result;
}

void listings_are_the_same() {
  const OneArc work(60);
  const auto alone = listed(work, 1);
  CHECK(alone.size() == work.count());
  CHECK(std::adjacent_find(alone.begin(), alone.end()) == alone.end());
  for (const auto& row : alone) CHECK(row[4] == 0 && row[2] == 1);
  for (int threads : {2, 5}) CHECK(listed(work, threads) == alone);
}

void a_listing_that_is_left_ends_its_threads() {
  const OneArc work(120);
  for (int round = 0; round < 10; ++round) {
    search::Enumeration rows(work.native_plan(), {0, 1, 2, 3, 4},
                             {.threads = 4, .block_rows = 64, .limit = {}, .timeout = {}});
    for (int taken = 0; taken < round; ++taken) rows.next(std::chrono::milliseconds(50));
  }
}

void a_limit_stops_all() {
  const OneArc work(200);
  search::Control control(work.native_plan().root_arcs(), 4, std::nullopt);
  CHECK(search::count(work.native_plan(), control, 4, 1000).low() > 1000);
  CHECK(control.reason() == search::Stop::kLimit);
}

class Counter final : public search::Visitor {
 public:
  void rows(const std::uint32_t*, motiflux::sets::Span) override {}
  void count(Total embeddings) override { total += embeddings; }
  void count_wide(const motiflux::Wide&) override { CHECK(false); }
  bool keep_going() override { return true; }

  Total total = 0;
};

// Whatever the machine does meanwhile: who waits before the work begins gets some of it.
void a_thread_that_waits_is_given_work() {
  const OneArc work(130);
  search::Control control(work.native_plan().root_arcs(), 2, std::nullopt);
  search::Pool pool(control);
  Counter first, second;
  std::atomic<int> parts{0};
  search::Pool::Worker worker(pool);
  std::thread other([&] {
    search::Walker walker(work.native_plan(), second, true);
    walker.share(pool);
    search::Pool::Worker own(pool);
    while (const auto item = own.wait()) {
      ++parts;
      CHECK(walker.search(*item));
    }
  });
  while (!pool.wants_work()) std::this_thread::yield();
  search::Walker walker(work.native_plan(), first, true);
  walker.share(pool);
  auto item = worker.take();
  CHECK(item && item->to - item->from == 1);
  for (; item; item = worker.wait()) {
    CHECK(walker.search(*item));
    // What is given away may be taken back by who gave it, if the other does not wake in time.
    for (int round = 0; parts == 0 && round < 60'000; ++round)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  other.join();
  CHECK(parts > 0 && second.total > 0);
  CHECK(first.total + second.total == work.count());
}

// A search that hands back what is left at each check, until nothing is: all embeddings, each once.
void portions_add_up() {
  const OneArc work(70);
  for (int threads : {1, 3}) {
    Total total = 0;
    int portions = 0;
    std::deque<search::WorkItem> left{{.level = 0, .from = 0, .to = 1, .arcs = 1}};
    while (!left.empty()) {
      search::Portion portion{{left.front()}, 0.0, std::nullopt};
      left.pop_front();
      search::Control control(0, threads, std::nullopt);
      search::Pool pool(control, portion);
      total += search::count(work.native_plan(), control, threads, std::nullopt, nullptr, &pool).low();
      for (const search::WorkItem& item : pool.left()) left.push_back(item);
      ++portions;
    }
    CHECK(total == work.count());
    CHECK(portions > 3);
  }
}

// With a bound on work, one thread stops at the same candidate each time.
void portions_of_rows_are_the_same_each_time() {
  const OneArc work(40);
  std::vector<std::vector<std::uint32_t>> rows[2];
  for (auto& found : rows) {
    std::deque<search::WorkItem> left{{.level = 0, .from = 0, .to = 1, .arcs = 1}};
    while (!left.empty()) {
      search::EnumerationOptions options{.threads = 1, .block_rows = 1000, .limit = {}, .timeout = {}};
      options.portion = search::Portion{{left.front()}, std::nullopt, 1, 500};
      left.pop_front();
      search::Enumeration listing(work.native_plan(), {4, 2, 0, 1, 3}, options);
      while (!listing.finished()) {
        const auto block = listing.next(std::chrono::milliseconds(10));
        if (!block) continue;
        for (std::size_t at = 0; at < block->size(); at += 5)
          found.emplace_back(block->begin() + static_cast<std::ptrdiff_t>(at),
                             block->begin() + static_cast<std::ptrdiff_t>(at + 5));
      }
      for (const search::WorkItem& item : listing.left()) left.push_back(item);
    }
  }
  CHECK(rows[0] == rows[1]);
  std::sort(rows[0].begin(), rows[0].end());
  CHECK(rows[0] == listed(work, 1));
}

// Wherever a part is cut: all that is given away is searched by another walker, nothing twice.
void parts_add_up() {
  const OneArc work(40);
  search::Control control(work.native_plan().root_arcs(), 1, std::nullopt);
  Counter whole;
  search::Walker walker(work.native_plan(), whole, true);
  const std::uint64_t levels[] = {work.native_plan().root_arcs(), 1, 39, 38};
  CHECK(levels[0] == 1);
  std::array<std::uint32_t, view::kMaxLevels> prefix{0, 1, 2};
  for (int level : {1, 2, 3}) {
    const std::uint64_t end = levels[level] - (level == 3 ? 1 : 0);
    for (std::uint64_t cut = 0; cut <= end; ++cut) {
      Counter at_once, in_two;
      const search::WorkItem all{
          .level = level, .from = 0, .to = end, .arcs = 0, .slice = {0, 1}, .prefix = prefix};
      search::WorkItem low = all, high = all;
      low.to = high.from = cut;
      search::Walker one(work.native_plan(), at_once, true), other(work.native_plan(), in_two, true);
      one.search(all);
      other.search(high);
      other.search(low);
      CHECK(at_once.total > 0 && at_once.total == in_two.total);
    }
  }
}

}  // namespace

int main() {
  counts_and_sizes_do_not_depend_on_threads();
  several_searches_in_one_pass_share_too();
  listings_are_the_same();
  a_listing_that_is_left_ends_its_threads();
  a_limit_stops_all();
  a_thread_that_waits_is_given_work();
  portions_add_up();
  portions_of_rows_are_the_same_each_time();
  parts_add_up();
}
