// The set of vertex ids a file has declared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace motiflux::text {

// Non-negative ids. Files nearly always number their vertices consecutively: such a run takes two integers;
// other ids go to a hash table with linear probing, at most half full.
class IdSet {
 public:
  bool contains(std::int64_t id) const { return in_run(id) || in_table(id); }

  // False if the id was in the set before.
  bool insert(std::int64_t id) {
    if (contains(id)) return false;
    if (run_length_ == 0) run_start_ = id;
    if (offset(id) == run_length_) {
      ++run_length_;
    } else {
      insert_in_table(id);
    }
    return true;
  }

 private:
  static constexpr std::int64_t kFree = -1;
  static constexpr std::size_t kSmallest = 64;

  std::uint64_t offset(std::int64_t id) const {
    return static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(run_start_);
  }

  bool in_run(std::int64_t id) const { return offset(id) < run_length_; }

  bool in_table(std::int64_t id) const { return used_ != 0 && slots_[slot_of(id)] == id; }

  // The slot of the id, or the free slot for it.
  std::size_t slot_of(std::int64_t id) const {
    std::uint64_t mixed = static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 32;
    std::size_t slot = mixed & (slots_.size() - 1);
    while (slots_[slot] != kFree && slots_[slot] != id) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  void insert_in_table(std::int64_t id) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    slots_[slot_of(id)] = id;
    ++used_;
  }

  void grow() {
    const std::size_t size = slots_.empty() ? kSmallest : 2 * slots_.size();
    const auto old = std::exchange(slots_, std::vector<std::int64_t>(size, kFree));
    for (const std::int64_t id : old) {
      if (id != kFree) slots_[slot_of(id)] = id;
    }
  }

  std::int64_t run_start_ = 0;
  std::uint64_t run_length_ = 0;
  std::vector<std::int64_t> slots_;  // a power of two, or empty
  std::size_t used_ = 0;
};

}  // namespace motiflux::text
