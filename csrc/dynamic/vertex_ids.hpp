// The external ids of vertices, numbered in the order in which they came. The last ones can be taken back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dynamic/flat_map.hpp"
#include "dynamic/rows.hpp"

namespace motiflux::dynamic {

inline constexpr Vertex kUnknown = ~Vertex{0};

// Hash tables below are only emptied from the end, in the reverse order of insertion: then no later entry was
// displaced past a slot that is freed. So growing a table inserts the entries again by number.

// Ids that are integers. The first ones are their own numbers; small ones are looked up in an array, 4 bytes
// each, and others in a hash table.
class IntegerIds {
 public:
  using Value = std::int64_t;
  using Owned = std::int64_t;

  // Ids below `fewest`, or below kSparsest per vertex, may be in the array.
  explicit IntegerIds(std::size_t fewest) : fewest_(fewest) {}

  std::size_t size() const { return own_ + values_.size(); }
  Value at(Vertex number) const { return number < own_ ? Value{number} : values_[number - own_]; }

  Vertex find(Value id) const {
    const auto key = static_cast<std::uint64_t>(id);
    if (key < own_) return static_cast<Vertex>(key);
    if (key - own_ < array_.size()) return array_[key - own_];
    return hashed_ == 0 ? kUnknown : slots_[slot_of(id)].number;
  }
  void prefetch(Value id) const {
    const auto key = static_cast<std::uint64_t>(id);
    if (key < own_) return;
    if (key - own_ < array_.size()) return __builtin_prefetch(&array_[key - own_]);
    if (hashed_ > 0) __builtin_prefetch(&slots_[mixed(key) & (slots_.size() - 1)]);
  }

  // The number of an id that is new.
  Vertex add(Value id);
  // Adds many ids to none.
  void load(const Value* ids, std::size_t count);
  void keep(std::size_t count);

 private:
  static constexpr std::size_t kSparsest = 8;
  static constexpr std::size_t kSmallest = 64;

  struct Slot {
    Value id = 0;
    Vertex number = kUnknown;
  };

  bool in_array(Value id) const { return static_cast<std::uint64_t>(id) - own_ < array_.size(); }
  // The slot of the id, or the free slot for it.
  std::size_t slot_of(Value id) const {
    std::size_t at = mixed(static_cast<std::uint64_t>(id)) & (slots_.size() - 1);
    while (slots_[at].number != kUnknown && slots_[at].id != id) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void widen_array(Value id);
  void hash_again(std::size_t slots);

  std::size_t fewest_;
  std::size_t own_ = 0;  // the ids below are their own numbers
  std::vector<Value> values_;
  std::vector<Vertex> array_;  // of ids from own_ on
  std::vector<Slot> slots_;    // a power of two, or empty; at most half full
  std::size_t hashed_ = 0;
};

// Ids that are strings, in UTF-8 (of lone surrogates too).
class StringIds {
 public:
  using Value = std::string_view;
  using Owned = std::string;

  std::size_t size() const { return ends_.size(); }
  Value at(Vertex number) const {
    const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {text_.data() + begin, ends_[number] - begin};
  }
  // The most characters of an id so far.
  std::size_t widest() const { return widest_; }

  static std::uint32_t hash_of(Value id) {
    return static_cast<std::uint32_t>(mixed(std::hash<std::string_view>()(id)));
  }
  Vertex find(Value id) const { return find(id, hash_of(id)); }
  Vertex find(Value id, std::uint32_t hash) const {
    return ends_.empty() ? kUnknown : slots_[slot_of(id, hash)].number;
  }
  void prefetch(Value) const {}
  // Prefetches what find() reads, in three steps: the slot, where its text is, and the text.
  void prefetch_slot(std::uint32_t hash) const {
    if (!ends_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  void prefetch_end(std::uint32_t hash) const {
    if (const Vertex number = first_number(hash); number != kUnknown) __builtin_prefetch(&ends_[number]);
  }
  void prefetch_text(std::uint32_t hash) const {
    if (const Vertex number = first_number(hash); number != kUnknown)
      __builtin_prefetch(text_.data() + ends_[number] - 1);
  }
  Vertex add(Value id) { return add(id, hash_of(id)); }
  Vertex add(Value id, std::uint32_t hash);
  void keep(std::size_t count);

 private:
  static constexpr std::size_t kSmallest = 64;

  struct Slot {
    std::uint32_t hash = 0;
    Vertex number = kUnknown;
  };

  Vertex first_number(std::uint32_t hash) const {
    return ends_.empty() ? kUnknown : slots_[hash & (slots_.size() - 1)].number;
  }
  std::size_t slot_of(Value id, std::uint32_t hash) const {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number != kUnknown && (slots_[at].hash != hash || this->at(slots_[at].number) != id))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<char> text_;
  std::vector<std::size_t> ends_;
  std::vector<std::uint32_t> hashes_;
  std::vector<Slot> slots_;  // a power of two, or empty; at most half full
  std::size_t widest_ = 0;
};

// Integers or strings; none of either decides which.
class VertexIds {
 public:
  explicit VertexIds(std::size_t fewest) : integers(fewest) {}

  std::size_t size() const { return integers.size() + strings.size(); }
  void keep(std::size_t count) {
    if (count < integers.size()) integers.keep(count);
    if (count < strings.size()) strings.keep(count);
  }

  IntegerIds integers;
  StringIds strings;
};

}  // namespace motiflux::dynamic
