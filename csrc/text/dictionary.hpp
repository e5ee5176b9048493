// Distinct strings, numbered in order of first appearance.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/parallel.hpp"
#include "text/growing.hpp"

namespace motiflux::text {

// Concatenated strings: string i is text[offsets[i], offsets[i + 1]).
struct Strings {
  Growing<std::uint8_t> text;
  Growing<std::int64_t> offsets;

  std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::string_view at(std::size_t index) const {
    return {reinterpret_cast<const char*>(text.data()) + offsets[index],
            static_cast<std::size_t>(offsets[index + 1] - offsets[index])};
  }
  void add(std::string_view string);
};

// A hash table with linear probing, at most half full.
class Dictionary {
 public:
  // The number of a string: 0, 1, ... in order of first appearance.
  std::uint32_t code(std::string_view string) {
    if (last_ < size() && strings_.at(last_) == string) return last_;
    return last_ = look_up(string);
  }

  // code() throws Cancelled if *stop becomes true while growing takes long; nothing is lost then. Null:
  // never.
  void stop_on(const std::atomic<bool>* stop) { stop_ = stop; }
  // Throws Cancelled if *stop is true.
  void check() const { Workers{1, stop_}.check(); }

  std::size_t size() const { return strings_.size(); }
  std::string_view at(std::size_t code) const { return strings_.at(code); }

  // The strings by code; empties the dictionary.
  Strings take();

  // The strings in ascending order of their bytes, and for each code its place among them; empties the
  // dictionary. Throws Cancelled after a stop request; nothing is lost then.
  Strings take_sorted(Growing<std::uint32_t>& place_of_code, const std::atomic<bool>* stop);

 private:
  static constexpr std::size_t kSmallest = 64;
  struct Slot {
    std::uint32_t hash;
    std::uint32_t code_and_one;  // 0: free
  };

  std::uint32_t look_up(std::string_view string);
  void grow();
  std::size_t slots_when_grown() const;

  Strings strings_;
  Growing<Slot> slots_;  // a power of two, or empty
  std::uint32_t last_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace motiflux::text
