// A set of tuples of one width that is cleared often: each tuple gets a number, from 0 in order of arrival.
//
// Tuples of one value below a known bound are looked up by that value, all others by a hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace motiflux::search {

class TupleSet {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // `bound` is above all values of tuples of one value.
  TupleSet(std::size_t width, std::uint32_t bound)
      : width_(width), direct_(width == 1), slots_(direct_ ? bound : kFewest) {}

  std::size_t size() const { return size_; }
  const std::uint32_t* tuple(std::size_t number) const { return values_.data() + number * width_; }

  // The number of a tuple, or kNone.
  std::uint32_t find(const std::uint32_t* tuple) const {
    const Slot& slot = slots_[place(tuple)];
    return slot.epoch == epoch_ ? slot.number : kNone;
  }

  // Adds a tuple unless it is there; returns its number.
  std::uint32_t insert(const std::uint32_t* tuple) {
    std::size_t at = place(tuple);
    if (slots_[at].epoch == epoch_) return slots_[at].number;
    if (size_ == kNone) throw std::length_error("more than 2^32 - 1 rows of one group");
    if (!direct_ && size_ >= slots_.size() / 2) {
      grow();
      at = place(tuple);
    }
    values_.insert(values_.end(), tuple, tuple + width_);
    slots_[at] = {epoch_, static_cast<std::uint32_t>(size_)};
    return static_cast<std::uint32_t>(size_++);
  }

  void clear() {
    size_ = 0;
    values_.clear();
    if (++epoch_ != 0) return;
    slots_.assign(slots_.size(), {});
    epoch_ = 1;
  }

 private:
  static constexpr std::size_t kFewest = 64;  // slots; a power of two, as all their numbers

  struct Slot {
    std::uint32_t epoch = 0;  // of the tuple; others are of sets before
    std::uint32_t number = 0;
  };

  // The slot that holds a tuple, or the free slot for it.
  std::size_t place(const std::uint32_t* tuple) const {
    if (direct_) return *tuple;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash(tuple) & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.epoch != epoch_ ||
          std::memcmp(values_.data() + slot.number * width_, tuple, width_ * sizeof *tuple) == 0)
        return at;
    }
  }

  std::size_t hash(const std::uint32_t* tuple) const {
    std::uint64_t mixed = 0x9E3779B97F4A7C15;
    for (std::size_t at = 0; at < width_; ++at) {
      mixed = (mixed ^ tuple[at]) * 0xBF58476D1CE4E5B9;
      mixed ^= mixed >> 29;
    }
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }

  void grow() {
    const std::size_t slots = slots_.size() * 2;
    slots_.assign(slots, {});
    for (std::size_t number = 0; number < size_; ++number)
      slots_[place(tuple(number))] = {epoch_, static_cast<std::uint32_t>(number)};
  }

  const std::size_t width_;
  const bool direct_;
  std::uint32_t epoch_ = 1;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> values_;
  std::vector<Slot> slots_;
};

}  // namespace motiflux::search
