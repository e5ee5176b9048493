// Every way to intersect two ascending lists gives what std::set_intersection gives, with every set of
// instructions that this processor has.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "sets/intersect.hpp"
#include "sets/marks.hpp"

namespace {

namespace sets = motiflux::sets;
using List = std::vector<std::uint32_t>;
using sets::Method;
using sets::Span;

constexpr std::uint32_t kLargestVertex = 0xFFFFFFFF;
constexpr std::uint64_t kNoEnd = std::uint64_t{1} << 32;
constexpr Method kMethods[] = {Method::kAuto, Method::kMerge, Method::kGallop};

std::vector<sets::Simd> simd_here() {
  std::vector<sets::Simd> here;
  for (sets::Simd simd : sets::kAllSimd)
    if (sets::runs_here(simd)) here.push_back(simd);
  return here;
}

// An empty vector may have a null pointer: so may an empty span.
Span span_of(const List& list) {
  return {list.data(), list.data() + list.size()};
}

List common_of(const List& a, const List& b) {
  List common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return common;
}

// Exactly `size` elements, on the heap: the sanitizer sees a read or write beyond them.
List exact(const List& list) {
  return List(list.begin(), list.end());
}

void check_policy(const List& a, const List& b, const List& expected, const sets::Policy& policy) {
  CHECK(sets::count_common(span_of(a), span_of(b), policy) == expected.size());

  List out(std::min(a.size(), b.size()));
  out.resize(sets::intersect(span_of(a), span_of(b), out.data(), policy));
  CHECK(out == expected);

  List over_a = exact(a);
  over_a.resize(sets::intersect(span_of(over_a), span_of(b), over_a.data(), policy));
  CHECK(over_a == expected);

  List over_b = exact(b);
  over_b.resize(sets::intersect(span_of(a), span_of(over_b), over_b.data(), policy));
  CHECK(over_b == expected);
}

void check_pair(const List& given_a, const List& given_b) {
  const List a = exact(given_a), b = exact(given_b), expected = common_of(a, b);
  for (sets::Simd simd : simd_here())
    for (Method method : kMethods) check_policy(a, b, expected, {method, simd});
  const auto& [small, large] = a.size() <= b.size() ? std::pair(a, b) : std::pair(b, a);
  List galloped;
  sets::intersect_gallop(span_of(small), span_of(large),
                         [&](std::uint32_t vertex) { galloped.push_back(vertex); });
  CHECK(galloped == expected);
}

void check_both_ways(const List& a, const List& b) {
  check_pair(a, b);
  check_pair(b, a);
}

// `size` distinct values of [low, high], or all there are.
List random_list(std::mt19937_64& random, std::size_t size, std::uint32_t low, std::uint32_t high) {
  std::uniform_int_distribution<std::uint32_t> value(low, high);
  List list(size);
  for (std::uint32_t& element : list) element = value(random);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

List counting(std::uint32_t first, std::size_t size, std::uint32_t step = 1) {
  List list(size);
  for (std::size_t i = 0; i < size; ++i) list[i] = first + static_cast<std::uint32_t>(i) * step;
  return list;
}

void lists_at_the_edges_intersect() {
  const List lists[] = {
      {},
      {0},
      {7},
      {kLargestVertex},
      {0, kLargestVertex},
      counting(0, 5),
      counting(0, 200),
      counting(1, 200, 2),
      counting(0, 200, 2),
      counting(1'000'000, 10),
      counting(kLargestVertex - 99, 100),
      counting(kLargestVertex - 198, 100, 2),
      counting(0, 5000),
      counting(3, 3000, 1'431'655),
  };
  for (const List& a : lists)
    for (const List& b : lists) check_pair(a, b);
}

void one_element_is_found_wherever_it_is() {
  for (std::size_t size : {1, 2, 3, 31, 32, 33, 64, 65}) {
    const List odd = counting(1, size, 2);
    for (std::uint32_t vertex = 0; vertex <= 2 * size + 1; ++vertex) check_both_ways({vertex}, odd);
  }
}

void random_lists_intersect() {
  std::mt19937_64 random(20240731);
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t high = std::uint32_t{1} << (round % 12 + 1);
    const List a = random_list(random, random() % 300, 0, high);
    const List b = random_list(random, random() % 300, 0, high);
    check_both_ways(a, b);
  }
}

// Blocks are 8 or 16 elements: all lengths up to more than two of them, at every offset within a block.
void short_lists_of_every_length_and_alignment_intersect() {
  std::mt19937_64 random(31);
  for (std::size_t size_a = 0; size_a <= 36; ++size_a) {
    for (std::size_t size_b = 0; size_b <= 36; ++size_b) {
      const std::uint32_t low = random() % 2 == 0 ? 0 : kLargestVertex - 60;
      const List a = random_list(random, size_a, low, low + 60),
                 b = random_list(random, size_b, low, low + 60);
      const List expected = common_of(a, b);
      const std::size_t offset = random() % 16;
      List shifted_a(offset), shifted_b(offset / 2);  // what lies before a list is no part of it
      shifted_a.insert(shifted_a.end(), a.begin(), a.end());
      shifted_b.insert(shifted_b.end(), b.begin(), b.end());
      const Span within_a{shifted_a.data() + offset, shifted_a.data() + shifted_a.size()};
      const Span within_b{shifted_b.data() + offset / 2, shifted_b.data() + shifted_b.size()};
      for (sets::Simd simd : simd_here()) {
        CHECK(sets::count_common(within_a, within_b, {Method::kMerge, simd}) == expected.size());
        List out(std::min(a.size(), b.size()));
        out.resize(sets::intersect(within_a, within_b, out.data(), {Method::kMerge, simd}));
        CHECK(out == expected);
      }
      check_pair(a, b);
    }
  }
}

// What lies behind the result in `out` stays as it was.
void nothing_is_written_beyond_the_result() {
  std::mt19937_64 random(8);
  for (int round = 0; round < 200; ++round) {
    const List a = random_list(random, random() % 70, 0, 150), b = random_list(random, random() % 70, 0, 150);
    const List expected = common_of(a, b);
    for (sets::Simd simd : simd_here()) {
      List out(a.size() + b.size() + 20, 77);
      const std::size_t size = sets::intersect(span_of(a), span_of(b), out.data(), {Method::kMerge, simd});
      CHECK(size == expected.size());
      CHECK(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(size), out.end(),
                        [](std::uint32_t element) { return element == 77; }));
    }
  }
}

void some_instructions_run_here() {
  CHECK(sets::runs_here(sets::Simd::kScalar));
  CHECK(sets::runs_here(sets::best_here()));
  for (sets::Simd simd : simd_here()) std::printf("checked with instructions %d\n", static_cast<int>(simd));
}

void lists_of_very_uneven_length_intersect() {
  std::mt19937_64 random(17);
  for (std::size_t small : {1, 2, 5, 40}) {
    for (std::size_t ratio : {31, 32, 33, 500}) {
      List large = random_list(random, small * ratio, 0, 40'000);
      check_both_ways(random_list(random, small, 0, 40'000), large);
      List part;  // wholly contained
      std::sample(large.begin(), large.end(), std::back_inserter(part), small, random);
      check_both_ways(part, large);
      const List high = random_list(random, small * ratio, kLargestVertex - 40'000, kLargestVertex);
      check_both_ways(random_list(random, small, kLargestVertex - 40'000, kLargestVertex), high);
    }
  }
}

void disjoint_and_equal_lists_intersect() {
  std::mt19937_64 random(5);
  const List low = random_list(random, 500, 0, 10'000), high = random_list(random, 500, 10'001, 20'000);
  check_both_ways(low, high);
  check_both_ways(low, low);
}

void clipping_keeps_the_allowed_range() {
  const List lists[] = {{}, {0}, {kLargestVertex}, {0, 5, 6, 100, kLargestVertex}, counting(0, 70)};
  const std::uint64_t bounds[] = {0,          1,     5, 6, 7, 69, 70, 99, 100, 101, 1000, UINT32_MAX - 1,
                                  UINT32_MAX, kNoEnd};
  for (const List& list : lists) {
    for (std::uint64_t first : bounds) {
      for (std::uint64_t end : bounds) {
        if (first > end) continue;
        const Span clipped = sets::clip(span_of(list), first, end);
        List expected;
        for (std::uint32_t vertex : list)
          if (first <= vertex && vertex < end) expected.push_back(vertex);
        CHECK(List(clipped.begin(), clipped.end()) == expected);
      }
    }
  }
}

// Restrictions may contradict each other: nothing is allowed, and the sizes must not go below 0.
void clipping_to_nothing_is_empty() {
  const List list = counting(0, 100);
  const std::pair<std::uint64_t, std::uint64_t> ranges[] = {
      {50, 50}, {50, 10}, {1, 0}, {99, 98}, {kNoEnd, 0}, {kNoEnd, kNoEnd}, {UINT32_MAX, UINT32_MAX}};
  for (const auto& [first, end] : ranges) CHECK(sets::clip(span_of(list), first, end).size() == 0);
  CHECK(sets::clip(Span{}, 50, 10).size() == 0);
}

void membership_is_told() {
  const List list = {0, 5, 6, 100, kLargestVertex};
  for (std::uint32_t vertex : list) CHECK(sets::contains(span_of(list), vertex));
  for (std::uint32_t vertex : {1u, 4u, 7u, 99u, 101u, kLargestVertex - 1})
    CHECK(!sets::contains(span_of(list), vertex));
  CHECK(!sets::contains(Span{}, 0));
}

void check_marked(const sets::Marks& marks, const List& set, const List& given, std::uint32_t vertices) {
  const List list = exact(given), expected = common_of(set, list);
  for (sets::Simd simd : simd_here()) {
    const sets::Policy policy(Method::kAuto, simd);
    CHECK(marks.count(span_of(list), policy) == expected.size());
    List out(list.size());
    out.resize(marks.intersect(span_of(list), out.data(), policy));
    CHECK(out == expected);
  }
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex)
    CHECK(marks.has(vertex) == std::binary_search(set.begin(), set.end(), vertex));
}

void marked_sets_intersect() {
  std::mt19937_64 random(99);
  for (std::uint32_t vertices : {1u, 2u, 63u, 64u, 65u, 127u, 128u, 129u, 1000u}) {
    sets::Marks marks;
    for (std::uint64_t stamp = 1; stamp <= 20; ++stamp) {
      List set = random_list(random, random() % (2 * vertices), 0, vertices - 1);
      if (stamp == 5) set.clear();
      if (stamp == 6) set = counting(0, vertices);
      if (stamp == 7) set = {vertices - 1};
      CHECK(!marks.holds(stamp));
      marks.mark(stamp, span_of(set), vertices);
      CHECK(marks.holds(stamp));
      check_marked(marks, set, random_list(random, random() % (2 * vertices), 0, vertices - 1), vertices);
      check_marked(marks, set, {}, vertices);
      check_marked(marks, set, set, vertices);
      check_marked(marks, set, counting(0, vertices), vertices);
    }
  }
}

void a_set_is_marked_once_the_lists_it_meets_add_up() {
  sets::Marks marks;
  CHECK(!marks.worthwhile(1, 3, 2));  // the first meeting never pays
  CHECK(marks.worthwhile(1, 3, 2));
  CHECK(!marks.worthwhile(2, 1000, 2));  // a long set that meets short lists waits
  CHECK(!marks.worthwhile(2, 1000, 2));
  CHECK(!marks.worthwhile(2, 1000, 200));
  CHECK(marks.worthwhile(2, 1000, 2));
  CHECK(!marks.worthwhile(1, 3, 2));  // meetings of an earlier set are forgotten
}

}  // namespace

int main() {
  lists_at_the_edges_intersect();
  one_element_is_found_wherever_it_is();
  random_lists_intersect();
  short_lists_of_every_length_and_alignment_intersect();
  nothing_is_written_beyond_the_result();
  some_instructions_run_here();
  lists_of_very_uneven_length_intersect();
  disjoint_and_equal_lists_intersect();
  clipping_keeps_the_allowed_range();
  clipping_to_nothing_is_empty();
  membership_is_told();
  marked_sets_intersect();
  a_set_is_marked_once_the_lists_it_meets_add_up();
}
