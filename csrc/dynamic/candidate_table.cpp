#include "dynamic/candidate_table.hpp"

#include <algorithm>
#include <utility>

#include "dynamic/graph.hpp"

namespace motiflux::dynamic {

void CandidateTable::set(const Graph& graph, std::vector<CandidateColumn> columns, std::uint32_t bits) {
  if (columns == columns_ && bits == bits_) return;
  columns_ = std::move(columns);
  bits_ = bits;
  width_ = (static_cast<std::uint32_t>(columns_.size()) + kWordBits - 1) / kWordBits;
  ++version_;
  try {
    encode_all(graph);
  } catch (...) {  // the next call is not to find the same columns
    columns_.clear();
    width_ = 0;
    throw;
  }
}

void CandidateTable::encode_all(const Graph& graph) {
  Label most = 0;
  for (const CandidateColumn& column : columns_)
    if (column.labels.codes)
      for (Label label : *column.labels.codes) most = std::max(most, label + 1);
  of_label_.clear();
  for (Label label = 0; label <= most; ++label) of_label_.push_back(asked_of(label));
  words_.clear();
  changed_.clear();
  cover(graph.vertices());
  std::vector<std::uint64_t> gained(width_);
  if (is_used())
    for (Vertex vertex = 0; vertex < graph.vertices(); ++vertex) encode(graph, vertex, gained.data());
  std::ranges::fill(changed_, 0);
}

auto CandidateTable::asked_of(Label label) const -> OfLabel {
  OfLabel asked;
  for (std::uint32_t number = 0; number < columns_.size(); ++number) {
    if (!columns_[number].labels.has(label)) continue;
    Wanted wanted{number, {}};
    for (const auto& [kind, least] : columns_[number].items) {
      auto at = static_cast<std::size_t>(std::ranges::find(asked.kinds, kind) - asked.kinds.begin());
      if (at == asked.kinds.size()) {
        if ((at + 1) * bits_ > kMostWords * kWordBits) continue;
        asked.kinds.push_back(kind);
      }
      for (std::size_t bit = at * bits_, end = bit + std::min(least, bits_); bit < end; ++bit)
        wanted.code[bit / kWordBits] |= std::uint64_t{1} << bit % kWordBits;
    }
    asked.wanted.push_back(wanted);
  }
  asked.words = (asked.kinds.size() * bits_ + kWordBits - 1) / kWordBits;
  return asked;
}

void CandidateTable::cover(std::uint32_t vertices) {
  words_.resize(std::size_t{vertices} * width_);
  changed_.resize((std::size_t{vertices} + kWordBits - 1) / kWordBits);
  const std::uint32_t within = vertices % kWordBits;  // the last word may have vertices that were removed
  if (within != 0) changed_.back() &= (std::uint64_t{1} << within) - 1;
}

auto CandidateTable::code_of(const Graph& graph, Vertex vertex, const OfLabel& asked) const -> Code {
  Code code{};
  for (std::size_t at = 0; at < asked.kinds.size(); ++at)
    for (std::size_t bit = at * bits_, end = bit + count(graph, vertex, asked.kinds[at]); bit < end; ++bit)
      code[bit / kWordBits] |= std::uint64_t{1} << bit % kWordBits;
  return code;
}

// The number of neighbours of a kind, at most bits(): one that several edges lead to may count several times.
std::uint32_t CandidateTable::count(const Graph& graph, Vertex vertex,
                                    const CandidateColumn::Kind& kind) const {
  const Target& target = graph.relations().target(kind.target);
  std::size_t size = 0;
  const auto add = [&](const Rows& rows) {
    if (target.everything) {
      size += rows.degree(vertex);
      return;
    }
    for (std::size_t at = 0; at < target.classes.size() && size < bits_; ++at)
      size += rows.of_class(vertex, target.classes[at]).size();
  };
  add(graph.rows(kind.way));
  if (graph.directed() && kind.way == Way::kEither) add(graph.rows(Way::kIn));
  return static_cast<std::uint32_t>(std::min<std::size_t>(size, bits_));
}

void CandidateTable::encode(const Graph& graph, Vertex vertex, std::uint64_t* gained) {
  const OfLabel& asked = of_label(graph.label(vertex));
  if (asked.wanted.empty()) return;
  const Code code = code_of(graph, vertex, asked);
  std::uint64_t* const words = words_.data() + std::size_t{vertex} * width_;
  for (const Wanted& wanted : asked.wanted) {
    bool meets = true;
    for (std::size_t word = 0; word < asked.words; ++word)
      meets = meets && (wanted.code[word] & ~code[word]) == 0;
    std::uint64_t& there = words[wanted.column / kWordBits];
    const std::uint64_t bit = std::uint64_t{1} << wanted.column % kWordBits;
    if (((there & bit) != 0) == meets) continue;
    there ^= bit;
    if (meets) gained[wanted.column / kWordBits] |= bit;
    changed_[vertex / kWordBits] |= std::uint64_t{1} << vertex % kWordBits;
  }
}

std::vector<Vertex> CandidateTable::take_changed() {
  ++taken_;
  std::vector<Vertex> found;
  for (std::size_t at = 0; at < changed_.size(); ++at)
    for (std::uint64_t left = std::exchange(changed_[at], 0); left != 0; left &= left - 1)
      found.push_back(static_cast<Vertex>(at * kWordBits) + static_cast<Vertex>(std::countr_zero(left)));
  return found;
}

}  // namespace motiflux::dynamic
