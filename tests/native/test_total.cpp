// Totals are exact beyond 64 bits, refuse to pass 128, and go on as wide ones.
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "check.hpp"
#include "common/total.hpp"
#include "common/wide.hpp"

namespace {

using motiflux::add_checked;
using motiflux::Total;
using motiflux::Wide;

constexpr Total kLargest = ~Total{0};

constexpr Total from_halves(std::uint64_t high, std::uint64_t low) {
  return Total{high} << 64 | low;
}

bool overflows(Total total, Total more) {
  try {
    add_checked(total, more);
    return false;
  } catch (const std::overflow_error& error) {
    return std::strcmp(error.what(), "the count exceeds 2^128 - 1") == 0;
  }
}

void sums_below_64_bits_are_exact() {
  Total total = 0;
  add_checked(total, 0);
  CHECK(total == 0);
  for (std::uint64_t term = 1; term <= 1000; ++term) add_checked(total, term);
  CHECK(total == 500500);
}

void one_more_than_64_bits_carries() {
  Total total = UINT64_MAX;
  add_checked(total, 1);
  CHECK(total == from_halves(1, 0));
  add_checked(total, UINT64_MAX);
  CHECK(total == from_halves(1, UINT64_MAX));
}

void many_large_terms_sum_exactly() {
  // n * (2^64 - 1) = n * 2^64 - n.
  constexpr std::uint64_t kTerms = 100'000;
  Total total = 0;
  for (std::uint64_t i = 0; i < kTerms; ++i) add_checked(total, UINT64_MAX);
  CHECK(total == from_halves(kTerms - 1, UINT64_MAX - kTerms + 1));
}

void the_largest_total_is_reached() {
  Total total = kLargest - 1;
  add_checked(total, 1);
  CHECK(total == kLargest);
  add_checked(total, 0);
  CHECK(total == kLargest);
  total = 0;
  add_checked(total, kLargest);
  CHECK(total == kLargest);
}

void nothing_passes_the_largest_total() {
  CHECK(overflows(kLargest, 1));
  CHECK(overflows(1, kLargest));
  CHECK(overflows(kLargest, kLargest));
  CHECK(overflows(kLargest - UINT64_MAX + 1, UINT64_MAX));
  CHECK(overflows(from_halves(std::uint64_t{1} << 63, 0), from_halves(std::uint64_t{1} << 63, 0)));
  CHECK(!overflows(kLargest - UINT64_MAX, UINT64_MAX));
}

void wide_totals_carry_borrow_multiply_and_divide() {
  Wide one(1), power(1);
  for (int bit = 0; bit < 1000; ++bit) power += power;  // 2^1000
  CHECK(power.length() == 1000 / 64 + 1);
  Wide less = power;
  less -= one;
  for (std::size_t word = 0; word < 1000 / 64; ++word) CHECK(less.words()[word] == UINT64_MAX);
  less += one;
  CHECK(less == power);
  Wide product(kLargest);
  product *= Wide(kLargest);  // 2^256 - 2^129 + 1
  product += Wide(kLargest);
  product += Wide(kLargest);
  product += one;
  CHECK(product.length() == 5 && product.words()[4] == 1 && product.words()[0] == 0);
  Wide factorial(1);
  for (std::uint64_t factor = 2; factor <= 100; ++factor) factorial *= Wide(factor);
  for (std::uint64_t factor = 100; factor > 25; --factor) factorial /= factor;
  Total expected = 1;
  for (unsigned factor = 2; factor <= 25; ++factor) expected *= factor;
  CHECK(factorial.length() <= 2 && factorial.low() == expected);
}

void what_goes_below_zero_comes_back() {
  Wide total(5);
  total -= Wide(kLargest);
  total += Wide(kLargest);
  CHECK(total == Wide(5));
}

}  // namespace

int main() {
  sums_below_64_bits_are_exact();
  one_more_than_64_bits_carries();
  many_large_terms_sum_exactly();
  the_largest_total_is_reached();
  nothing_passes_the_largest_total();
  wide_totals_carry_borrow_multiply_and_divide();
  what_goes_below_zero_comes_back();
}
