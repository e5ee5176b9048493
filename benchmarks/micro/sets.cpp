// Nanoseconds per intersection, with all the instructions that this processor has: compiled by sets.py.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "sets/intersect.hpp"
#include "sets/marks.hpp"

namespace {

namespace sets = motiflux::sets;
using List = std::vector<std::uint32_t>;
using sets::Method;
using sets::Policy;
using sets::Span;

constexpr int kRounds = 7;
const char* const kNames[] = {"scalar", "avx2", "avx512"};

std::mt19937_64 random_bits(1);
volatile std::size_t sink;

Span span_of(const List& list) {
  return {list.data(), list.data() + list.size()};
}

List random_list(std::size_t size, std::uint32_t below) {
  List list;
  while (list.size() < size) {
    while (list.size() < size) list.push_back(static_cast<std::uint32_t>(random_bits() % below));
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return list;
}

// Different pairs, so many that no branch is learned by heart.
struct Pairs {
  std::vector<List> a, b;

  Pairs(std::size_t size_a, std::size_t size_b, std::uint32_t below) {
    const std::size_t pairs = std::clamp<std::size_t>((1 << 19) / (size_a + size_b), 8, 2048);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      a.push_back(random_list(size_a, below));
      b.push_back(random_list(size_b, below));
    }
  }

  // The least time of several rounds for one pair.
  template <class Run>
  double time(Run&& run) const {
    double best = 1e18;
    for (int round = 0; round < kRounds; ++round) {
      std::size_t found = 0;
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t pair = 0; pair < a.size(); ++pair) found += run(span_of(a[pair]), span_of(b[pair]));
      const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
      sink = found;
      best = std::min(best, taken.count() / static_cast<double>(a.size()));
    }
    return best;
  }
};

std::vector<sets::Simd> here() {
  std::vector<sets::Simd> found;
  for (sets::Simd simd : sets::kAllSimd)
    if (sets::runs_here(simd)) found.push_back(simd);
  return found;
}

void heading(const char* first) {
  std::printf("\n| %s |", first);
  for (sets::Simd simd : here()) std::printf(" %s |", kNames[static_cast<int>(simd)]);
}

void merges(bool writes) {
  heading(writes ? "shorter x longer list, written" : "shorter x longer list, counted");
  std::printf(" galloping |\n");
  List out(1 << 20);
  for (std::size_t shorter : {1, 4, 16, 64, 512, 4096}) {
    for (std::size_t ratio : {1, 4, 16, 32, 64, 128, 256}) {
      const std::size_t longer = shorter * ratio;
      if (longer > (1 << 17)) continue;
      const Pairs pairs(shorter, longer, static_cast<std::uint32_t>(4 * longer + 16));
      std::printf("| %zu x %zu |", shorter, longer);
      const auto print = [&](const Policy& policy) {
        std::printf(" %.0f |", pairs.time([&](Span a, Span b) {
          return writes ? sets::intersect(a, b, out.data(), policy) : sets::count_common(a, b, policy);
        }));
      };
      for (sets::Simd simd : here()) print({Method::kMerge, simd});
      print({Method::kGallop, sets::Simd::kScalar});
      std::printf("\n");
    }
  }
}

// Looking a list up in a marked set, against merging it with a set of the same length.
void marked() {
  heading("list, looked up in 2^17 bits");
  std::printf("\n");
  const std::uint32_t vertices = 1 << 17;
  sets::Marks marks;
  const List set = random_list(vertices / 8, vertices);
  marks.mark(1, span_of(set), vertices);
  List out(1 << 14);
  for (const bool writes : {false, true}) {
    for (std::size_t size : {4, 16, 64, 256, 4096}) {
      const Pairs lists(size, 1, vertices);
      std::printf("| %zu, %s |", size, writes ? "written" : "counted");
      for (sets::Simd simd : here()) {
        const Policy policy(Method::kAuto, simd);
        std::printf(" %.1f |", lists.time([&](Span a, Span) {
          return writes ? marks.intersect(a, out.data(), policy) : marks.count(a, policy);
        }));
      }
      std::printf("\n");
    }
  }
}

void bounds() {
  std::printf("\n| list | bound without branches | std::lower_bound |\n");
  for (std::size_t size : {4, 16, 64, 256, 4096, 65536}) {
    const List list = random_list(size, static_cast<std::uint32_t>(4 * size));
    const Span span = span_of(list);
    List asked(1 << 16);
    for (std::uint32_t& bound : asked) bound = static_cast<std::uint32_t>(random_bits() % (4 * size));
    const auto each = [&](auto&& find) {
      double best = 1e18;
      for (int round = 0; round < kRounds; ++round) {
        const std::uint32_t* found = nullptr;
        std::size_t sum = 0;
        const auto start = std::chrono::steady_clock::now();
        for (std::uint32_t bound : asked) {
          found = find(bound);
          sum += static_cast<std::size_t>(found - span.first);
        }
        const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
        sink = sum;
        best = std::min(best, taken.count() / static_cast<double>(asked.size()));
      }
      return best;
    };
    std::printf("| %zu | %.1f | %.1f |\n", size,
                each([&](std::uint32_t bound) { return sets::lower_bound(span, bound); }),
                each([&](std::uint32_t bound) { return std::lower_bound(span.first, span.last, bound); }));
  }
}

}  // namespace

int main() {
  merges(false);
  merges(true);
  marked();
  bounds();
}
