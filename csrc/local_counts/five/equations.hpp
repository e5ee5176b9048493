// Numbers of induced subgraphs from sums that are linear in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/total.hpp"
#include "local_counts/orbits.hpp"

namespace motiflux::local_counts::five {

class Equations {
 public:
  // The coefficients of each sum, [all - small][all]. The first `small` numbers are known; the sum at
  // position s has number small + s, and later ones. The first `unnamed` numbers are not in results.
  Equations(std::span<const std::uint64_t> coefficients, std::size_t small, std::size_t all,
            std::size_t unnamed = 0)
      : small_(small), all_(all), unnamed_(unnamed), rows_(all - small), own_(all - small) {
    for (std::size_t sum = 0; sum < rows_.size(); ++sum) {
      for (std::size_t at = 0; at < all; ++at) {
        const std::uint64_t coefficient = coefficients[sum * all + at];
        if (at == small + sum) {
          own_[sum] = coefficient;
        } else if (coefficient != 0) {
          if (at >= small && at < small + sum) throw std::logic_error("equations are not triangular");
          rows_[sum].push_back({at, coefficient});
        }
      }
      if (own_[sum] == 0) throw std::logic_error("a sum without its orbit");
    }
  }

  // Each number times this is less than a word holds, or solved() is wrong.
  std::uint64_t greatest() const { return *std::max_element(own_.begin(), own_.end()); }

  // The numbers of each row, from the small ones and the sums. Sums and products wrap; results do not, since
  // each is divided when all else was subtracted. Throws Cancelled.
  template <class Word>
  Orbits solved(const Orbits& small, const Uncleared<Word>& sums, std::size_t rows,
                const Workers& workers) const {
    const std::size_t named = all_ - unnamed_;
    Orbits found{Uncleared<std::uint64_t>(rows * named), {}};
    auto above = small.above;
    std::sort(above.begin(), above.end());
    std::mutex mutex;
    parallel_for(workers, rows, kGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<Word> numbers(all_);
      for (std::size_t row = begin; row < end; ++row) {
        for (std::size_t at = 0; at < small_; ++at) numbers[at] = small.words[row * small_ + at];
        const std::pair<std::size_t, Total> first{row * small_, 0};
        for (auto at = std::lower_bound(above.begin(), above.end(), first);
             at != above.end() && at->first < first.first + small_; ++at)
          numbers[at->first - first.first] += static_cast<Word>(at->second);
        solve(sums.data() + row * rows_.size(), numbers);
        for (std::size_t at = 0; at < named; ++at) {
          const Total number = numbers[unnamed_ + at];
          found.words[row * named + at] = static_cast<std::uint64_t>(number);
          if (const Total high = number >> 64 << 64; high != 0) {
            const std::scoped_lock lock(mutex);
            found.above.emplace_back(row * named + at, high);
          }
        }
      }
    });
    return found;
  }

 private:
  static constexpr std::size_t kGrain = 256;

  template <class Word>
  void solve(const Word* sums, std::vector<Word>& numbers) const {
    for (std::size_t sum = rows_.size(); sum-- > 0;) {
      Word rest = sums[sum];
      for (const auto& [at, coefficient] : rows_[sum]) rest -= coefficient * numbers[at];
      if (rest % own_[sum] != 0) throw std::logic_error("a sum that is no multiple of its orbit's number");
      numbers[small_ + sum] = rest / own_[sum];
    }
  }

  const std::size_t small_, all_, unnamed_;
  std::vector<std::vector<std::pair<std::size_t, std::uint64_t>>> rows_;  // without the own coefficient
  std::vector<std::uint64_t> own_;
};

}  // namespace motiflux::local_counts::five
