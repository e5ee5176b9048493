#include "text/dictionary.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace motiflux::text {
namespace {

constexpr std::size_t kStringsAtOnce = 1 << 12;  // strings between two checks for a stop
constexpr std::size_t kSlotsPerCheck = 1 << 18;  // free slots between two checks

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 29;
}

std::uint64_t hash_of(std::string_view string) {
  std::uint64_t hash = string.size();
  while (string.size() >= 8) {
    std::uint64_t part;
    std::memcpy(&part, string.data(), 8);
    hash = mixed(hash ^ part) * 0xbf58476d1ce4e5b9u;
    string.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  if (!string.empty()) std::memcpy(&rest, string.data(), string.size());
  return mixed(mixed(hash ^ rest) * 0x94d049bb133111ebu);
}

// The first bytes as a number whose order is that of strings, up to this length.
std::uint64_t prefix_of(std::string_view string) {
  std::uint64_t prefix = 0;
  for (std::size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < string.size() ? static_cast<unsigned char>(string[i]) : 0u);
  return prefix;
}

}  // namespace

void Strings::add(std::string_view string) {
  if (offsets.empty()) offsets.push_back(0);
  text.append(reinterpret_cast<const std::uint8_t*>(string.data()), string.size());
  offsets.push_back(static_cast<std::int64_t>(text.size()));
}

std::uint32_t Dictionary::look_up(std::string_view string) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_of(string);
  const auto kept = static_cast<std::uint32_t>(hash >> 32);
  const std::size_t last = slots_.size() - 1;
  for (std::size_t slot = hash & last;; slot = (slot + 1) & last) {
    const Slot found = slots_[slot];
    if (found.code_and_one == 0) {
      if (size() >= std::numeric_limits<std::uint32_t>::max() - 1)
        throw std::length_error("more distinct strings than 32 bits can number");
      strings_.add(string);
      slots_[slot] = {kept, static_cast<std::uint32_t>(size())};
      return static_cast<std::uint32_t>(size() - 1);
    }
    if (found.hash == kept && strings_.at(found.code_and_one - 1) == string) return found.code_and_one - 1;
  }
}

// A cancelled sort leaves strings without slots.
std::size_t Dictionary::slots_when_grown() const {
  std::size_t count = slots_.empty() ? kSmallest : 2 * slots_.size();
  while (count < 2 * (size() + 1)) count *= 2;
  return count;
}

void Dictionary::grow() {
  const std::size_t count = slots_when_grown();
  const Workers workers{1, stop_};
  Growing<Slot> slots;
  slots.reserve(count);
  while (slots.size() < count) {  // the system allocates pages meanwhile
    workers.check();
    slots.append_copies(std::min(kSlotsPerCheck, count - slots.size()), Slot{0, 0});
  }
  for (std::size_t code = 0; code < size(); ++code) {
    if (code % kStringsAtOnce == 0) workers.check();
    const std::uint64_t hash = hash_of(strings_.at(code));
    std::size_t slot = hash & (count - 1);
    while (slots[slot].code_and_one != 0) slot = (slot + 1) & (count - 1);
    slots[slot] = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(code + 1)};
  }
  slots_ = std::move(slots);
}

Strings Dictionary::take() {
  slots_.clear();
  last_ = 0;
  return std::exchange(strings_, {});
}

Strings Dictionary::take_sorted(Growing<std::uint32_t>& place_of_code, const std::atomic<bool>* stop) {
  struct Entry {
    std::uint64_t prefix;
    std::uint32_t code;
  };
  const Workers workers{1, stop};
  const auto look = [&](std::size_t done) {
    if (done % kStringsAtOnce == 0) workers.check();
  };
  slots_.clear();
  Growing<Entry> entries;
  entries.reserve(size());
  for (std::size_t code = 0; code < size(); ++code) {
    look(code);
    entries.push_back({prefix_of(strings_.at(code)), static_cast<std::uint32_t>(code)});
  }
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    workers.check();
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return strings_.at(a.code) < strings_.at(b.code);
  });
  Strings sorted;
  sorted.text.reserve(strings_.text.size());
  sorted.offsets.reserve(size() + 1);
  sorted.offsets.push_back(0);
  place_of_code.append_copies(size(), 0);
  for (std::size_t place = 0; place < entries.size(); ++place) {
    look(place);
    sorted.add(strings_.at(entries[place].code));
    place_of_code[entries[place].code] = static_cast<std::uint32_t>(place);
  }
  strings_ = Strings();
  last_ = 0;
  return sorted;
}

}  // namespace motiflux::text
