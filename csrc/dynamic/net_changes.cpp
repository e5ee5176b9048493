#include "dynamic/net_changes.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "dynamic/matcher.hpp"
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// Entries between checks for a stop.
constexpr std::size_t kLook = 4096;

}  // namespace

void NetChanges::start(std::size_t updates, int slices) {
  added_ = Unwritten<Entry>(updates);
  slices_.assign(static_cast<std::size_t>(slices), {});
  for (int slice = 0; slice < slices; ++slice)
    slices_[static_cast<std::size_t>(slice)].first = added_.data() + begin_of_slice(updates, slice, slices);
  sorted_.start(updates, graph_.vertices(), slices);
}

void NetChanges::find(int threads, Watch& watch) {
  sorted_.place();
  for_each_partition(static_cast<int>(slices_.size()), threads, watch, [&](int number, Watch& guarded) {
    const Slice& slice = slices_[static_cast<std::size_t>(number)];
    for (const Entry& one : std::span(slice.first, slice.size)) sorted_.put(number, one.row, one);
    if (!guarded.keep_going()) throw Stopped();
  });
  const auto pieces = sorted_.pieces();
  found_ = Unwritten<Entry>(sorted_.size());
  blocks_.assign(pieces.size(), {});
  std::atomic<std::size_t> next{0};
  with_others(threads, watch, [&](int, Watch& guarded) {
    Entries entries, scratch;
    for (std::size_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < pieces.size();) {
      blocks_[number].first = sorted_.take(pieces[number], entries);
      find_in(blocks_[number], entries, scratch, guarded);
      if (!guarded.keep_going()) throw Stopped();
    }
  });
}

void NetChanges::find_in(Block& block, Entries& entries, Entries& scratch, Watch& watch) {
  sort_entries(graph_, entries, scratch, true);
  const Rows& rows = graph_.rows(Way::kOut);
  Places places(rows, entries);
  std::size_t looked = 0;
  for (std::size_t first = 0, last; first < entries.size(); first = last) {
    const Entry& one = entries[first];
    last = first;
    do {
      if (++looked % kLook == 0 && !watch.keep_going()) throw Stopped();
      ++last;
    } while (last < entries.size() && entries[last].has_edge_of(one));
    replay(block, std::span(entries).subspan(first, last - first),
           rows.is_at(one.row, places.of(first), one.to(), one.neighbor));
  }
}

// Applies the updates of one edge to the number of its copies; `there`: whether the edge exists before them.
void NetChanges::replay(Block& block, std::span<const Entry> entries, bool there) {
  const Entry& first = entries.front();
  const auto edge = [&] { return edge_of(first); };
  const std::uint64_t more_before = there ? graph_.more_copies(edge()) : 0;
  std::uint64_t copies = there ? 1 + more_before : 0;
  for (const Entry& one : entries) {
    const bool inserts = one.comes();
    block.noops += (copies > 0) == inserts;
    if (inserts)
      copies = copies == 0 || count_copies_ ? copies + 1 : copies;
    else if (copies > 0)
      --copies;
  }
  if (there != (copies > 0)) {
    found_.data()[block.first + block.changes++] = {first.row, first.neighbor,
                                                    first.to() | (there ? 0 : Entry::kComes), first.number};
    block.vanish += there;
  }
  const std::uint64_t more = copies > 0 ? copies - 1 : 0;
  if (more != more_before) block.copies.emplace_back(edge(), more);
}

Edge NetChanges::edge_of(const Entry& entry) const {
  return {entry.row, entry.neighbor, graph_.relations().classes()[entry.to()].edge};
}

Column<Update> NetChanges::changes(int threads, Watch& watch) {
  std::vector<std::array<std::size_t, 2>> places;  // of each block, among either
  std::size_t vanish = 0, all = 0;
  for (const Block& block : blocks_) {
    places.push_back({vanish, all - vanish});
    vanish += block.vanish;
    all += block.changes;
  }
  Column<Update> found;
  Update* const begin = found.extend(all);
  std::atomic<std::size_t> next{0};
  with_others(threads, watch, [&](int, Watch& guarded) {
    for (std::size_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < blocks_.size();) {
      Update* vanishing = begin + places[number][0];
      Update* appearing = begin + vanish + places[number][1];
      const Block& block = blocks_[number];
      for (const Entry& one : std::span(found_.data() + block.first, block.changes))
        *(one.comes() ? appearing : vanishing)++ = {edge_of(one), one.comes()};
      if (!guarded.keep_going()) throw Stopped();
    }
  });
  return found;
}

std::uint64_t NetChanges::noops() const {
  std::uint64_t all = 0;
  for (const Block& block : blocks_) all += block.noops;
  return all;
}

}  // namespace motiflux::dynamic
