#include "local_counts/five/hub.hpp"

namespace motiflux::local_counts::five {
namespace {

// The bits of both rows, and their number.
__attribute__((always_inline)) inline std::uint64_t meet_in(const std::uint64_t* a, const std::uint64_t* b,
                                                            std::size_t words, std::uint64_t* both) {
  std::uint64_t common = 0;
  for (std::size_t at = 0; at < words; ++at) {
    both[at] = a[at] & b[at];
    common += static_cast<std::uint64_t>(std::popcount(both[at]));
  }
  return common;
}

template <class Word>
struct OfBoth {
  const std::uint64_t* bits;
  std::size_t words;
  std::size_t j;
  std::uint64_t common;
  std::uint64_t closed;  // triangles of i j
  Word* apexes;
  Word* fives;
  Word* far;  // null without sums of edges
};

// Adds to the numbers of the members k in `both`; returns the sum over k > j of the members greater than j
// that are in `both` and adjacent to k.
template <class Word>
__attribute__((always_inline)) inline Word add_members_in(const OfBoth<Word>& of, const std::uint64_t* both) {
  Word found = 0;
  for (std::size_t word = 0; word < of.words; ++word) {
    for (std::uint64_t left = both[word]; left != 0; left &= left - 1) {
      const std::size_t k = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
      of.apexes[k] += of.common;
      if (of.far) of.far[k] += of.closed;
      if (k <= of.j) continue;
      const std::uint64_t* const row = of.bits + k * of.words;
      const std::size_t first = of.j / 64;
      // Shifted twice: a shift by 64 is undefined.
      std::uint64_t number = static_cast<std::uint64_t>(
          std::popcount(both[first] & row[first] & (~std::uint64_t{0} << (of.j % 64) << 1)));
      for (std::size_t at = first + 1; at < of.words; ++at)
        number += static_cast<std::uint64_t>(std::popcount(both[at] & row[at]));
      of.fives[k] += 2 * number;
      found += number;
    }
  }
  return found;
}

struct Plain {
  static std::uint64_t meet(const std::uint64_t* a, const std::uint64_t* b, std::size_t words,
                            std::uint64_t* both) {
    return meet_in(a, b, words, both);
  }
  template <class Word>
  static Word add_members(const OfBoth<Word>& of, const std::uint64_t* both) {
    return add_members_in(of, both);
  }
};

#ifdef MOTIFLUX_X86_SIMD
struct Avx2 {
  __attribute__((target("avx2,bmi,bmi2,popcnt"))) static std::uint64_t meet(const std::uint64_t* a,
                                                                            const std::uint64_t* b,
                                                                            std::size_t words,
                                                                            std::uint64_t* both) {
    return meet_in(a, b, words, both);
  }
  template <class Word>
  __attribute__((target("avx2,bmi,bmi2,popcnt"))) static Word add_members(const OfBoth<Word>& of,
                                                                          const std::uint64_t* both) {
    return add_members_in(of, both);
  }
};
#endif

}  // namespace

template <class Word>
void HubSearch<Word>::add(const Hub& hub, HubSums<Word>& sums, const Workers& workers) {
  if (hub.words == 0) {
    add_by_lists(hub, sums, workers);
    return;
  }
#ifdef MOTIFLUX_X86_SIMD
  if (sets::runs_here(sets::Simd::kAvx2)) {
    add_by_bits(hub, sums, workers, Avx2{});
    return;
  }
#endif
  add_by_bits(hub, sums, workers, Plain{});
}

template <class Word>
template <class Each>
void HubSearch<Word>::add_by_bits(const Hub& hub, HubSums<Word>& sums, const Workers& workers, Each&& each) {
  both_.resize(hub.words);
  for (std::size_t i = 0; i < hub.size(); ++i) {
    workers.check();
    const std::uint64_t* const row = hub.bits.data() + i * hub.words;
    for (std::size_t entry = hub.starts[i]; entry != hub.starts[i + 1]; ++entry) {
      const std::size_t j = hub.others[entry];
      if (j < i) continue;
      if (sums.of_edges) add_fan(hub, sums, i, entry);
      const std::uint64_t common = each.meet(row, hub.bits.data() + j * hub.words, hub.words, both_.data());
      if (common == 0) continue;
      add_pair(hub, sums, i, j, common);
      if (i < hub.above && !sums.of_edges) continue;
      const Word fives = each.template add_members<Word>(
          {hub.bits.data(), hub.words, j, common, sums.of_edges ? triangles_.closed[hub.between[entry]] : 0,
           sums.apexes.data(), sums.fives.data(), sums.of_edges ? sums.far.data() : nullptr},
          both_.data());
      sums.own_fives += fives;
      sums.fives[i] += fives;
      sums.fives[j] += fives;
    }
  }
}

template <class Word>
void HubSearch<Word>::add_by_lists(const Hub& hub, HubSums<Word>& sums, const Workers& workers) {
  near_.resize(hub.size(), 0), both_near_.resize(hub.size(), 0);
  const auto first = [&](std::size_t at) { return hub.others.data() + hub.starts[at]; };
  const auto last = [&](std::size_t at) { return hub.others.data() + hub.starts[at + 1]; };
  for (std::size_t i = 0; i < hub.size(); ++i) {
    workers.check();
    for (const std::uint32_t* k = first(i); k != last(i); ++k) near_[*k] = 1;
    for (const std::uint32_t* at = first(i); at != last(i); ++at) {
      const std::size_t j = *at;
      if (j < i) continue;
      const auto entry = static_cast<std::size_t>(at - hub.others.data());
      if (sums.of_edges) add_fan(hub, sums, i, entry);
      found_.clear();
      for (const std::uint32_t* k = first(j); k != last(j); ++k)
        if (near_[*k] != 0) found_.push_back(*k);
      if (found_.empty()) continue;
      add_pair(hub, sums, i, j, found_.size());
      if (i < hub.above && !sums.of_edges) continue;
      for (const std::uint32_t k : found_) both_near_[k] = 1;
      Word fives = 0;
      for (const std::uint32_t k : found_) {
        sums.apexes[k] += found_.size();
        if (sums.of_edges) sums.far[k] += triangles_.closed[hub.between[entry]];
        if (k <= j) continue;
        std::uint64_t number = 0;
        for (const std::uint32_t* other = first(k); other != last(k); ++other)
          number += *other > j && both_near_[*other] != 0;
        sums.fives[k] += 2 * number;
        fives += number;
      }
      for (const std::uint32_t k : found_) both_near_[k] = 0;
      sums.own_fives += fives;
      sums.fives[i] += fives;
      sums.fives[j] += fives;
    }
    for (const std::uint32_t* k = first(i); k != last(i); ++k) near_[*k] = 0;
  }
}

template <class Word>
void HubSearch<Word>::add_fan(const Hub& hub, HubSums<Word>& sums, std::size_t i, std::size_t entry) {
  const std::size_t j = hub.others[entry];
  const Word closed = triangles_.closed[hub.between[entry]];
  sums.fans[i] += closed * triangles_.closed[hub.arcs[j]];
  sums.fans[j] += closed * triangles_.closed[hub.arcs[i]];
}

template <class Word>
void HubSearch<Word>::add_pair(const Hub& hub, HubSums<Word>& sums, std::size_t i, std::size_t j,
                               std::uint64_t common) {
  sums.cliques[i] += common;
  sums.cliques[j] += common;
  sums.opposite[i] += Word{common} * triangles_.closed[hub.arcs[j]];
  sums.opposite[j] += Word{common} * triangles_.closed[hub.arcs[i]];
  sums.squares += Word{common} * common;
  if (!sums.of_edges) return;
  sums.squares_at[i] += Word{common} * common;
  sums.squares_at[j] += Word{common} * common;
  sums.ends[i] += Word{common} * triangles_.rows.degree(hub.members[j]);
  sums.ends[j] += Word{common} * triangles_.rows.degree(hub.members[i]);
}

template class HubSearch<std::uint64_t>;
template class HubSearch<Total>;

}  // namespace motiflux::local_counts::five
