// A hash table of numbers by keys of a few words, in bounded memory.
//
//   slot    number of words plus 1; 0: empty | words ... | number
//
// A key goes to one of two neighbouring slots: the second if the first is taken; if both are taken, it
// replaces the key of the first. The table grows while it is crowded, within a number of bytes that several
// tables share. A table with too few hits is emptied and given up, unless the numbers take so much work that
// lookups do not matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/large_pages.hpp"
#include "common/total.hpp"

namespace motiflux::search {

class Memo {
 public:
  Memo() = default;
  // Keys have at most `words` words; the bytes of the table are subtracted from `bytes`, which outlives it.
  Memo(std::size_t words, std::size_t& bytes) : words_(words), bytes_left_(&bytes) {}

  bool worthwhile() const { return !given_up_; }

  // The number kept for `key`, if any.
  std::optional<Total> find(std::span<const std::uint32_t> key) {
    ++asked_;
    if (asked_ >= kTrial) judge();
    if (slots_ == 0) return std::nullopt;
    std::size_t slot = slot_of(key);
    if (!holds(slot, key)) {
      slot ^= 1;
      if (!holds(slot, key)) return std::nullopt;
    }
    ++found_;
    Total number;
    std::memcpy(&number, &table_[slot * slot_words() + words_ + 1], sizeof number);
    return number;
  }

  // Called after find() returned nothing; `work` is the work that the number took.
  void keep(std::span<const std::uint32_t> key, Total number, std::uint64_t work) {
    worked_ += work;
    if (used_ * 2 >= slots_) grow();
    if (slots_ > 0) put(key, number);
  }

 private:
  static constexpr std::size_t kFirstSlots = 1 << 10, kMostSlots = std::size_t{1} << 26;
  static constexpr std::uint64_t kTrial = 1 << 15, kLeastShare = 16;
  // From this work per number on, lookups cost too little to matter.
  static constexpr std::uint64_t kMuchWork = 512;

  std::size_t slot_words() const { return words_ + 1 + sizeof(Total) / sizeof(std::uint32_t); }
  std::size_t slot_bytes() const { return slot_words() * sizeof(std::uint32_t); }

  std::size_t slot_of(std::span<const std::uint32_t> key) const {
    std::uint64_t hash = key.size();
    for (std::uint32_t word : key) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash & (slots_ - 1));
  }

  bool holds(std::size_t slot, std::span<const std::uint32_t> key) const {
    const std::uint32_t* at = &table_[slot * slot_words()];
    return at[0] == key.size() + 1 && std::memcmp(at + 1, key.data(), key.size_bytes()) == 0;
  }

  void put(std::span<const std::uint32_t> key, Total number) {
    std::size_t slot = slot_of(key);
    if (table_[slot * slot_words()] != 0 && table_[(slot ^ 1) * slot_words()] == 0) slot ^= 1;
    std::uint32_t* at = &table_[slot * slot_words()];
    used_ += at[0] == 0;
    at[0] = static_cast<std::uint32_t>(key.size()) + 1;
    std::memcpy(at + 1, key.data(), key.size_bytes());
    std::memcpy(at + words_ + 1, &number, sizeof number);
  }

  void grow() {
    const std::size_t slots = std::max(slots_ * 2, kFirstSlots);
    const std::size_t more = (slots - slots_) * slot_bytes();
    if (slots > kMostSlots || more > *bytes_left_) return;
    *bytes_left_ -= more;
    decltype(table_) old(slots * slot_words(), 0);
    old.swap(table_);
    const std::size_t before = std::exchange(slots_, slots);
    used_ = 0;
    for (std::size_t slot = 0; slot < before; ++slot) {
      const std::uint32_t* at = &old[slot * slot_words()];
      Total number;
      std::memcpy(&number, at + words_ + 1, sizeof number);
      if (at[0] != 0) put({at + 1, at[0] - 1}, number);
    }
  }

  // Gives the table up if too few of the last lookups were hits.
  void judge() {
    given_up_ = found_ * kLeastShare < asked_ && worked_ < kMuchWork * asked_;
    asked_ = found_ = worked_ = 0;
    if (!given_up_) return;
    *bytes_left_ += slots_ * slot_bytes();
    slots_ = used_ = 0;
    table_ = {};
  }

  std::size_t words_ = 0, slots_ = 0, used_ = 0;
  std::size_t* bytes_left_ = nullptr;
  std::vector<std::uint32_t, LargePages<std::uint32_t>> table_;
  std::uint64_t asked_ = 0, found_ = 0, worked_ = 0;  // since the last judge()
  bool given_up_ = false;
};

}  // namespace motiflux::search
