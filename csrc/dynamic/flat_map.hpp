// A hash map in one array: keys are plain data, values are moved when the table grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace motiflux::dynamic {

inline std::uint64_t mixed(std::uint64_t word) {
  word *= 0x9E3779B97F4A7C15u;
  return word ^ (word >> 29);
}

// Key has == and hash(), 64 mixed bits.
template <class Key, class Value>
class FlatMap {
 public:
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

  Value* find(const Key& key) {
    if (slots_.empty()) return nullptr;
    const std::size_t at = place(key);
    return slots_[at].used ? &slots_[at].value : nullptr;
  }
  const Value* find(const Key& key) const { return const_cast<FlatMap*>(this)->find(key); }

  void prefetch(const Key& key) const {
    if (slots_.empty()) return;
    const Slot* const slot = &slots_[key.hash() & (slots_.size() - 1)];
    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 1);
  }

  // The value of the key, created if new. The reference is valid until the map changes again.
  Value& operator[](const Key& key) {
    // At most half full: a key that is new is compared with 1.5 others on average, with 7 at three quarters.
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    if (!slot.used) {
      slot = {key, Value{}, true};
      ++size_;
    }
    return slot.value;
  }

  void erase(const Key& key) {
    if (slots_.empty()) return;
    std::size_t hole = place(key);
    if (!slots_[hole].used) return;
    --size_;
    // Later entries that were displaced past the hole move up.
    for (std::size_t at = next(hole);; at = next(at)) {
      if (!slots_[at].used) break;
      const std::size_t home = slots_[at].key.hash() & (slots_.size() - 1);
      if (((at - home) & (slots_.size() - 1)) >= ((at - hole) & (slots_.size() - 1))) {
        slots_[hole] = std::move(slots_[at]);
        hole = at;
      }
    }
    slots_[hole] = {};
  }

  // Keeps the capacity.
  void clear() {
    if (size_ > 0) std::fill(slots_.begin(), slots_.end(), Slot{});
    size_ = 0;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.used) visit(slot.key, slot.value);
  }

 private:
  static constexpr std::size_t kFewest = 16;

  struct Slot {
    Key key{};
    Value value{};
    bool used = false;
  };

  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }
  // The place of the key, or the place to insert it.
  std::size_t place(const Key& key) const {
    std::size_t at = key.hash() & (slots_.size() - 1);
    while (slots_[at].used && !(slots_[at].key == key)) at = next(at);
    return at;
  }
  void grow() {
    std::vector<Slot> old(std::max(kFewest, 2 * slots_.size()));
    old.swap(slots_);
    for (Slot& slot : old)
      if (slot.used) slots_[place(slot.key)] = std::move(slot);
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace motiflux::dynamic
