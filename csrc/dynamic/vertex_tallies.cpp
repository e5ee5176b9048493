#include "dynamic/vertex_tallies.hpp"

#include <algorithm>

namespace motiflux::dynamic {

void VertexTally::settle(std::uint64_t update) {
  moving_.take([&](Vertex vertex, Amount net) {
    if (vertex >= counts_.size())
      counts_.resize(std::max<std::size_t>(vertex + std::size_t{1}, 2 * counts_.size()));
    const Amount before = counts_[vertex];
    Amount after;
    if (__builtin_add_overflow(before, net, &after)) throw_beyond_amount();
    if (after < 0) throw std::logic_error("a count at a vertex is less than 0");
    if (threshold_.passed(before, after)) passings_.push_back({vertex, update, before, after});
    moved_.add(vertex, net);
    counts_[vertex] = after;  // last: undo() takes back what is in moved_
  });
}

void VertexTally::undo() {
  moving_.clear();
  passings_.clear();
  moved_.take([&](Vertex vertex, Amount net) { counts_[vertex] -= net; });
}

void VertexTallies::put(std::size_t pattern, VertexTally tally) {
  if (pattern >= tallies_.size()) tallies_.resize(pattern + 1);
  tallies_[pattern] = std::make_unique<VertexTally>(std::move(tally));
  any_ = true;
}

void VertexTallies::drop(std::size_t pattern) {
  if (pattern < tallies_.size()) tallies_[pattern].reset();
  any_ = std::ranges::any_of(tallies_, [](const auto& one) { return one != nullptr; });
}

void VertexTallies::open(bool one_change, std::span<const std::int64_t> origins) {
  if (!any_) return;
  origins_ = origins;
  now_ = 0;
  by_update_ = !one_change && std::ranges::any_of(
                                  tallies_, [](const auto& one) { return one != nullptr && one->watches(); });
}

void VertexTallies::settle() {
  for (const auto& one : tallies_)
    if (one != nullptr) one->settle(now_);
}

void VertexTallies::undo() {
  for (const auto& one : tallies_)
    if (one != nullptr) one->undo();
}

void VertexTallies::forget() {
  for (const auto& one : tallies_)
    if (one != nullptr) one->forget();
}

}  // namespace motiflux::dynamic
