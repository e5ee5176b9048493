// Random numbers of one place of use (motiflux/random/philox.hpp), one after another.
#pragma once

#include <cmath>
#include <cstdint>

#include "motiflux/random/philox.hpp"

namespace motiflux::dynamic {

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t stream, std::uint64_t index)
      : seed_(seed), index_(index), stream_(stream) {}

  std::uint64_t word() {
    if (left_ == 0) {
      const random::Words drawn = random::draw(seed_, stream_, index_, part_++);
      words_[0] = random::joined(drawn.word[0], drawn.word[1]);
      words_[1] = random::joined(drawn.word[2], drawn.word[3]);
      left_ = 2;
    }
    return words_[--left_];
  }
  // Above 0, at most 1.
  double unit() { return random::unit(word()) + 0x1p-54; }
  // Less than `end`, uniform up to one part in 2^64 / end.
  std::uint64_t below(std::uint64_t end) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{word()} * end >> 64);
  }
  // How many of `trials` succeed, each with `probability`. At most 2^40 trials: with more, the doubles of the
  // test below would decide wrongly once in a thousand times.
  std::uint64_t binomial(std::uint64_t trials, double probability);

 private:
  std::uint64_t few(double trials, double probability);
  std::uint64_t many(double trials, double probability);

  std::uint64_t seed_, index_;
  std::uint32_t stream_, part_ = 0;
  std::uint64_t words_[2];
  int left_ = 0;
};

inline std::uint64_t Draws::binomial(std::uint64_t trials, double probability) {
  if (trials == 0 || probability <= 0) return 0;
  if (probability >= 1) return trials;
  if (probability > .5) return trials - binomial(trials, 1 - probability);
  const auto number = static_cast<double>(trials);
  return number * probability < 16 ? few(number, probability) : many(number, probability);
}

// The trials until each success have a geometric distribution.
inline std::uint64_t Draws::few(double trials, double probability) {
  const double of_failure = std::log1p(-probability);
  std::uint64_t found = 0;
  for (double at = 0;; ++found) {
    at += std::floor(std::log(unit()) / of_failure) + 1;
    if (at > trials) return found;
  }
}

// The rejection method BTRS: Hörmann, "The generation of binomial random variates" (1993).
inline std::uint64_t Draws::many(double trials, double probability) {
  const double ratio = probability / (1 - probability);
  const double deviation = std::sqrt(trials * probability * (1 - probability));
  const double b = 1.15 + 2.53 * deviation, a = -.0873 + .0248 * b + .01 * probability;
  const double center = trials * probability + .5, accepted = .92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * deviation, mode = std::floor((trials + 1) * probability);
  // The logarithm of a factorial, less Stirling's formula.
  const auto rest = [](double value) {
    constexpr double kFirst[] = {
        .08106146679532726, .04134069595540929, .02767792568499834, .02079067210376509, .01664469118982119,
        .01387612882307075, .01189670994589177, .01041126526197209, .00925546218271273, .00833056343336287};
    if (value < 10) return kFirst[static_cast<int>(value)];
    const double next = value + 1, square = next * next;
    return (1. / 12 - (1. / 360 - 1. / 1260 / square) / square) / next;
  };
  for (;;) {
    const double u = unit() - .5, v = unit();
    const double side = .5 - std::abs(u), found = std::floor((2 * a / side + b) * u + center);
    if (found < 0 || found > trials) continue;
    if (side >= .07 && v <= accepted) return static_cast<std::uint64_t>(found);
    const double limit = (mode + .5) * std::log((mode + 1) / (ratio * (trials - mode + 1))) +
                         (trials + 1) * std::log((trials - mode + 1) / (trials - found + 1)) +
                         (found + .5) * std::log(ratio * (trials - found + 1) / (found + 1)) + rest(mode) +
                         rest(trials - mode) - rest(found) - rest(trials - found);
    if (std::log(v * alpha / (a / (side * side) + b)) <= limit) return static_cast<std::uint64_t>(found);
  }
}

}  // namespace motiflux::dynamic
