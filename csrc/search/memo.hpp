// Numbers remembered by keys of a few words, in bounded memory.
//
//   slot    used | number of words | words ... | number
//
// Direct mapped: a key goes to one slot and takes the place of what is there. The table grows while it is
// crowded, up to its bound. A table that hardly ever has what it is asked for gives up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "common/total.hpp"

namespace motiflux::search {

class Memo {
 public:
  Memo() = default;
  // Keys have at most `words` words; the table takes at most `bytes`.
  Memo(std::size_t words, std::size_t bytes) : words_(words) {
    while (most_ < kMostSlots && 2 * most_ * slot_bytes() <= bytes) most_ *= 2;
  }

  bool worthwhile() const { return !given_up_; }

  // The number kept for `key`, or null.
  const Total* find(std::span<const std::uint32_t> key) {
    ++asked_;
    if (asked_ >= kTrial) judge();
    if (numbers_.empty()) return nullptr;
    const std::size_t slot = slot_of(key);
    if (!holds(slot, key)) return nullptr;
    ++found_;
    return &numbers_[slot];
  }

  void keep(std::span<const std::uint32_t> key, Total number) {
    if (used_ * 2 >= numbers_.size() && numbers_.size() < most_) grow();
    put(key, number);
  }

 private:
  static constexpr std::size_t kFirstSlots = 1 << 10, kMostSlots = std::size_t{1} << 26;
  static constexpr std::uint64_t kTrial = 1 << 15, kLeastShare = 16;

  std::size_t slot_bytes() const { return (words_ + 1) * sizeof(std::uint32_t) + sizeof(Total); }

  std::size_t slot_of(std::span<const std::uint32_t> key) const {
    std::uint64_t hash = key.size();
    for (std::uint32_t word : key) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash & (numbers_.size() - 1));
  }

  bool holds(std::size_t slot, std::span<const std::uint32_t> key) const {
    const std::uint32_t* at = &keys_[slot * (words_ + 1)];
    return at[0] == key.size() + 1 && std::memcmp(at + 1, key.data(), key.size_bytes()) == 0;
  }

  void put(std::span<const std::uint32_t> key, Total number) {
    const std::size_t slot = slot_of(key);
    std::uint32_t* at = &keys_[slot * (words_ + 1)];
    used_ += at[0] == 0;
    at[0] = static_cast<std::uint32_t>(key.size()) + 1;
    std::memcpy(at + 1, key.data(), key.size_bytes());
    numbers_[slot] = number;
  }

  void grow() {
    std::vector<std::uint32_t> keys(std::max(numbers_.size() * 4, kFirstSlots) * (words_ + 1), 0);
    std::vector<Total> numbers(keys.size() / (words_ + 1));
    keys.swap(keys_);
    numbers.swap(numbers_);
    used_ = 0;
    for (std::size_t slot = 0; slot < numbers.size(); ++slot) {
      const std::uint32_t* at = &keys[slot * (words_ + 1)];
      if (at[0] != 0) put({at + 1, at[0] - 1}, numbers[slot]);
    }
  }

  // Looks back on the keys asked for, and forth to the next as many.
  void judge() {
    given_up_ = found_ * kLeastShare < asked_;
    asked_ = found_ = 0;
    if (!given_up_) return;
    keys_ = {};
    numbers_ = {};
  }

  std::size_t words_ = 0, most_ = kFirstSlots, used_ = 0;
  std::vector<std::uint32_t> keys_;
  std::vector<Total> numbers_;
  std::uint64_t asked_ = 0, found_ = 0;
  bool given_up_ = false;
};

}  // namespace motiflux::search
