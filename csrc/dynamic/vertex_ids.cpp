#include "dynamic/vertex_ids.hpp"

namespace motiflux::dynamic {
namespace {

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

Vertex IntegerIds::add(Value id) {
  const auto number = static_cast<Vertex>(size());
  if (!in_array(id)) widen_array(id);
  values_.push_back(id);
  if (in_array(id)) return array_[static_cast<std::uint64_t>(id) - own_] = number;
  if (2 * (hashed_ + 1) > slots_.size()) {
    hash_again(std::max(kSmallest, 2 * slots_.size()));  // `id` with all others
    return number;
  }
  slots_[slot_of(id)] = {id, number};
  ++hashed_;
  return number;
}

void IntegerIds::load(const Value* ids, std::size_t count) {
  while (own_ < count && ids[own_] == static_cast<Value>(own_)) ++own_;
  if (own_ < count) {
    values_.reserve(count - own_);
    const Value most = *std::max_element(ids + own_, ids + count);
    const auto end = static_cast<std::uint64_t>(most) + 1;
    if (most >= 0 && end <= std::max(kSparsest * count, fewest_)) array_.assign(end - own_, kUnknown);
  }
  for (std::size_t at = own_; at < count; ++at) add(ids[at]);
}

// Makes the array reach an id, if it may and grows by half at least: so growing takes constant time per id.
void IntegerIds::widen_array(Value id) {
  if (id < 0) return;
  const std::size_t most = std::max(kSparsest * (size() + 1), fewest_), before = own_ + array_.size();
  const auto wanted = static_cast<std::uint64_t>(id) + 1;
  const std::size_t after = std::min(most, std::max<std::size_t>(wanted, 2 * before));
  if (wanted > most || 2 * (after - own_) < 3 * array_.size()) return;
  array_.resize(after - own_, kUnknown);
  if (hashed_ == 0) return;
  for (std::size_t at = 0; at < values_.size(); ++at)
    if (in_array(values_[at]))
      array_[static_cast<std::uint64_t>(values_[at]) - own_] = static_cast<Vertex>(own_ + at);
  hash_again(slots_.size());
}

void IntegerIds::hash_again(std::size_t slots) {
  slots_.assign(slots, {});
  hashed_ = 0;
  for (std::size_t at = 0; at < values_.size(); ++at) {
    if (in_array(values_[at])) continue;
    slots_[slot_of(values_[at])] = {values_[at], static_cast<Vertex>(own_ + at)};
    ++hashed_;
  }
}

void IntegerIds::keep(std::size_t count) {
  for (; size() > count && !values_.empty(); values_.pop_back()) {
    const Value id = values_.back();
    if (in_array(id)) {
      array_[static_cast<std::uint64_t>(id) - own_] = kUnknown;
      continue;
    }
    if (slots_.empty()) continue;
    Vertex& number = slots_[slot_of(id)].number;
    if (number == kUnknown) continue;  // memory was short when it was added
    number = kUnknown;
    --hashed_;
  }
}

// All that needs memory comes first, or leaves nothing behind: an id is added as a whole or not at all.
Vertex StringIds::add(Value id, std::uint32_t hash) {
  const auto number = static_cast<Vertex>(size());
  if (ends_.size() == ends_.capacity()) ends_.reserve(std::max(kSmallest, 2 * ends_.size()));
  hashes_.resize(number + std::size_t{1});
  if (2 * hashes_.size() > slots_.size()) {
    slots_.assign(std::max(kSmallest, 2 * slots_.size()), {});
    for (Vertex one = 0; one < number; ++one) {
      std::size_t at = hashes_[one] & (slots_.size() - 1);
      while (slots_[at].number != kUnknown) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {hashes_[one], one};
    }
  }
  text_.insert(text_.end(), id.begin(), id.end());
  ends_.push_back(text_.size());
  hashes_[number] = hash;
  widest_ = std::max(widest_, characters(id));
  slots_[slot_of(id, hash)] = {hash, number};
  return number;
}

void StringIds::keep(std::size_t count) {
  while (size() > count) {
    const auto last = static_cast<Vertex>(size() - 1);
    if (!slots_.empty()) slots_[slot_of(at(last), hashes_[last])].number = kUnknown;
    ends_.pop_back();
    hashes_.resize(ends_.size());
    text_.resize(ends_.empty() ? 0 : ends_.back());
  }
}

}  // namespace motiflux::dynamic
