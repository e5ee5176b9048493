// Counting a tail that begins with nested sums, which threads share (NestedTailCounter::NestedSum).
#include <algorithm>

#include "search/nested_tail_candidates.hpp"

namespace motiflux::search {

// Nested sums: the blocks that are one sum each, from the whole tail down.
void NestedTailCounter::find_nested_sums() {
  for (int index = 0; index != kNoBlock;) {
    const std::vector<TailComponent>& components = tail_.blocks[static_cast<std::size_t>(index)].components;
    const int level = tail_.start + static_cast<int>(nested_sums_.size());
    if (components.size() != 1 || components[0].levels.size() != 1 || components[0].levels[0] != level ||
        !components[0].lists.empty() || components[0].blocks.empty() || components[0].blocks[0] == kNoBlock)
      return;
    nested_sums_.push_back({.block = index, .level = level, .child_block = components[0].blocks[0]});
    index = components[0].blocks[0];
  }
}

void NestedTailCounter::close_nested_sums(std::size_t first) {
  for (std::size_t at = first; at < nested_sums_.size(); ++at) nested_sums_[at].open = {};
}

// Whether the numbers of the nested sums 0..at will be complete.
bool NestedTailCounter::is_whole(std::size_t at) const {
  return std::all_of(nested_sums_.begin(), nested_sums_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                     [](const NestedSum& sum) { return sum.whole; });
}

// Marks the nested sums 0..at as incomplete.
void NestedTailCounter::split(std::size_t at) {
  for (std::size_t sum = 0; sum <= at; ++sum) nested_sums_[sum].whole = false;
}

bool NestedTailCounter::count() {
  try {
    const Total ways = nested_sums_.empty() ? block<Total>(0) : nested_sum(0);
    if (ways != 0) walker_.found(ways);
    return ways != 0 || (!nested_sums_.empty() && !nested_sums_[0].whole);
  } catch (const Overflow&) {
    close_nested_sums(0);  // the whole tail is counted again
    walker_.visitor_.count_wide(block<Wide>(0));
    return true;
  }
}

// The number of the block of a nested sum, without the parts given to other threads or reported meanwhile.
Total NestedTailCounter::nested_sum(std::size_t at) {
  NestedSum& here = nested_sums_[at];
  const TailBlock& block = tail_.blocks[static_cast<std::size_t>(here.block)];
  Kept& kept = kept_[static_cast<std::size_t>(here.block)];
  here.whole = true;
  if (block.kept)
    if (const std::optional<Total> number = known(block, kept)) return *number;
  const std::uint64_t before = walker_.work();
  const sets::Span candidates = walker_.clipped(here.level);
  if (!walker_.spend(candidates.size() + 1)) throw Stopped();
  here.start = candidates.first;
  here.open = candidates;  // only now: a thread tries one candidate at least before it gives any away
  const Total number = add_open_candidates(at);
  if (block.kept && here.whole) keep(kept, number, walker_.work() - before);
  return number;
}

// The sum over the open candidates of a nested sum. Throws Overflow only if the sum would be complete, so
// that all of it can be counted again.
Total NestedTailCounter::add_open_candidates(std::size_t at) {
  NestedSum& here = nested_sums_[at];
  Total sum = 0;
  const std::uint32_t apart = tail_.matched[static_cast<std::size_t>(here.level)];
  for_each_open(here.level, apart, here.open, [&](Vertex) {
    Total ways = 0;
    try {
      ways = at + 1 < nested_sums_.size() ? nested_sum(at + 1) : block<Total>(here.child_block);
    } catch (const Overflow&) {
      if (is_whole(at)) throw;
      close_nested_sums(at + 1);
      split(at);
      walker_.visitor_.count_wide(block<Wide>(here.child_block));
      return;
    }
    if (!__builtin_add_overflow(sum, ways, &sum)) return;
    if (is_whole(at)) throw Overflow();
    split(at);
    walker_.found(sum - ways);  // the sum before this addition
    sum = ways;
  });
  return sum;
}

void NestedTailCounter::share_work(Pool& pool) {
  for (std::size_t at = 0; at < nested_sums_.size(); ++at) {
    NestedSum& sum = nested_sums_[at];
    if (sum.open.size() == 0) continue;
    const Vertex* middle = pool.hands_back() ? sum.open.first : sum.open.first + sum.open.size() / 2;
    pool.add({.level = sum.level,
              .from = static_cast<std::uint64_t>(middle - sum.start),
              .to = static_cast<std::uint64_t>(sum.open.last - sum.start),
              .arcs = 0,
              .prefix = walker_.value_});
    sum.open.last = middle;
    split(at);
    if (!pool.hands_back()) return;
  }
}

void NestedTailCounter::go_on(int level, std::uint64_t from, std::uint64_t to) {
  const auto at = static_cast<std::size_t>(level - tail_.start);
  const sets::Span candidates = walker_.clipped(level);
  Walker::check_positions({.level = level, .from = from, .to = to, .arcs = 0}, candidates);
  close_nested_sums(0);
  split(at);  // other threads have the rest
  nested_sums_[at].start = candidates.first;
  nested_sums_[at].open = {candidates.first + from, candidates.first + to};
  if (const Total ways = add_open_candidates(at)) walker_.found(ways);
}

}  // namespace motiflux::search
