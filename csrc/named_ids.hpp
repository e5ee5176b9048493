// The ends of the updates of a batch of text: integers, or codes of the batch's names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynamic/vertex_ids.hpp"
#include "text/updates.hpp"

namespace motiflux {

// Ids that are integers, or codes of names.
struct IntegerSpan {
  static constexpr bool kIsCheap = true;
  const text::Growing<std::int64_t>& values;

  std::size_t size() const { return values.size(); }
  std::int64_t at(std::size_t row) const { return values[row]; }
  bool same(std::size_t row, const IntegerSpan& other) const { return values[row] == other.values[row]; }
};

// The names of a batch as ids, by their codes there: each is looked up once, and memory is fetched ahead.
class NamedIds {
 public:
  using Value = std::int64_t;
  using Owned = std::int64_t;

  NamedIds(dynamic::StringIds& ids, const text::Dictionary& names)
      : ids_(ids), names_(names), hashes_(names.size()), known_(names.size()) {
    for (std::size_t first = 0; first < known_.size(); first += kFetched) {
      const std::size_t end = std::min(first + kFetched, known_.size());
      for (std::size_t code = first; code < end; ++code) {
        hashes_[code] = dynamic::StringIds::hash_of(names.at(code));
        ids.prefetch_slot(hashes_[code]);
      }
      for (std::size_t code = first; code < end; ++code) ids.prefetch_end(hashes_[code]);
      for (std::size_t code = first; code < end; ++code) ids.prefetch_text(hashes_[code]);
      for (std::size_t code = first; code < end; ++code)
        known_[code] = ids.find(names.at(code), hashes_[code]);
    }
  }
  std::size_t size() const { return ids_.size(); }
  dynamic::Vertex find(Value code) const { return known_[static_cast<std::size_t>(code)]; }
  void prefetch(Value) const {}
  dynamic::Vertex add(Value code) {
    const auto at = static_cast<std::size_t>(code);
    return known_[at] = ids_.add(names_.at(at), hashes_[at]);
  }

 private:
  static constexpr std::size_t kFetched = 256;

  dynamic::StringIds& ids_;
  const text::Dictionary& names_;
  std::vector<std::uint32_t> hashes_;
  std::vector<dynamic::Vertex> known_;
};

}  // namespace motiflux
