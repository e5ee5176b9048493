// Counting a tail that begins with sums, which threads share (PartCounter::Link).
#include <algorithm>

#include "search/part_candidates.hpp"

namespace motiflux::search {

// The links are as many as there are blocks of one sum each, from the whole tail on.
void PartCounter::find_links() {
  for (int index = 0; index != kNoBlock;) {
    const std::vector<TailComponent>& components = tail_.blocks[static_cast<std::size_t>(index)].components;
    const int level = tail_.start + static_cast<int>(links_.size());
    if (components.size() != 1 || components[0].levels.size() != 1 || components[0].levels[0] != level ||
        !components[0].lists.empty() || components[0].blocks.empty() || components[0].blocks[0] == kNoBlock)
      return;
    links_.push_back({.block = index, .level = level, .hanging = components[0].blocks[0]});
    index = components[0].blocks[0];
  }
}

void PartCounter::close_links(std::size_t first) {
  for (std::size_t at = first; at < links_.size(); ++at) links_[at].open = {};
}

// Whether the numbers of the links up to this one will be all of theirs.
bool PartCounter::is_whole(std::size_t at) const {
  return std::all_of(links_.begin(), links_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                     [](const Link& link) { return link.whole; });
}

// They will not.
void PartCounter::split(std::size_t at) {
  for (std::size_t link = 0; link <= at; ++link) links_[link].whole = false;
}

bool PartCounter::count() {
  try {
    const Total ways = links_.empty() ? block<Total>(0) : link(0);
    if (ways != 0) walker_.found(ways);
    return ways != 0 || (!links_.empty() && !links_[0].whole);
  } catch (const Beyond&) {
    close_links(0);  // all of it is counted anew
    walker_.visitor_.count_wide(block<Wide>(0));
    return true;
  }
}

// The number of the block of a link, less what others are given and what is handed over on the way.
Total PartCounter::link(std::size_t at) {
  Link& here = links_[at];
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
  const Total number = sum_link(at);
  if (block.kept && here.whole) keep(kept, number, walker_.work() - before);
  return number;
}

// The sum over what is open of a link. Throws Beyond only if it would be whole, so that all can be counted
// anew.
Total PartCounter::sum_link(std::size_t at) {
  Link& here = links_[at];
  Total sum = 0;
  const std::uint32_t apart = tail_.matched[static_cast<std::size_t>(here.level)];
  for_each_open(here.level, apart, here.open, [&](Vertex) {
    Total ways = 0;
    try {
      ways = at + 1 < links_.size() ? link(at + 1) : block<Total>(here.hanging);
    } catch (const Beyond&) {
      if (is_whole(at)) throw;
      close_links(at + 1);
      split(at);
      walker_.visitor_.count_wide(block<Wide>(here.hanging));
      return;
    }
    if (!__builtin_add_overflow(sum, ways, &sum)) return;
    if (is_whole(at)) throw Beyond();
    split(at);
    walker_.found(sum - ways);  // as it was, modulo 2^128
    sum = ways;
  });
  return sum;
}

void PartCounter::give_away(Pool& pool) {
  for (std::size_t at = 0; at < links_.size(); ++at) {
    Link& link = links_[at];
    if (link.open.size() == 0) continue;
    const Vertex* middle = link.open.first + link.open.size() / 2;
    pool.give({.level = link.level,
               .from = static_cast<std::uint64_t>(middle - link.start),
               .to = static_cast<std::uint64_t>(link.open.last - link.start),
               .arcs = 0,
               .prefix = walker_.value_});
    link.open.last = middle;
    split(at);
    return;
  }
}

void PartCounter::go_on(int level, std::uint64_t from, std::uint64_t to) {
  const auto at = static_cast<std::size_t>(level - tail_.start);
  const sets::Span candidates = walker_.clipped(level);
  close_links(0);
  split(at);  // others have the rest
  links_[at].start = candidates.first;
  links_[at].open = {candidates.first + from, candidates.first + to};
  if (const Total ways = sum_link(at)) walker_.found(ways);
}

}  // namespace motiflux::search
