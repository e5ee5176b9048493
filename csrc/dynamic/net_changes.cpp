#include "dynamic/net_changes.hpp"

#include <algorithm>
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
  effects_.assign(updates, kStays);
}

void NetChanges::find(int threads, Watch& watch) {
  const auto give = [&](int number, auto&& put) {
    const Slice& slice = slices_[static_cast<std::size_t>(number)];
    for (const Entry& one : std::span(slice.first, slice.size)) put(one.row, one);
  };
  sorted_.distribute(added_.size(), graph_.vertices(), static_cast<int>(slices_.size()), threads, watch,
                     give);
  blocks_.assign(sorted_.blocks(), {});
  std::atomic<std::size_t> next{0};
  with_others(threads, watch, [&](int, Watch& guarded) {
    Entries entries, scratch;
    for (std::size_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < blocks_.size();) {
      find_in(block, entries, scratch, guarded);
      if (!guarded.keep_going()) throw Stopped();
    }
  });
}

void NetChanges::find_in(std::size_t number, Entries& entries, Entries& scratch, Watch& watch) {
  const std::span<const Entry> unsorted = sorted_.of_block(number);
  entries.assign(unsorted.begin(), unsorted.end());
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
    replay(blocks_[number], std::span(entries).subspan(first, last - first),
           rows.is_at(one.row, places.of(first), one.to(), one.neighbor));
  }
}

// Applies the updates of one edge to the number of its copies; `there`: whether the edge exists before them.
void NetChanges::replay(Block& block, std::span<const Entry> entries, bool there) {
  const Entry& first = entries.front();
  const Edge edge{first.row, first.neighbor, graph_.relations().classes()[first.to()].edge};
  const std::uint64_t more_before = there ? graph_.more_copies(edge) : 0;
  std::uint64_t copies = there ? 1 + more_before : 0;
  for (const Entry& one : entries) {
    const bool inserts = one.comes();
    block.noops += (copies > 0) == inserts;
    if (inserts)
      copies = copies == 0 || count_copies_ ? copies + 1 : copies;
    else if (copies > 0)
      --copies;
  }
  if (there != (copies > 0)) effects_[first.number] = copies > 0 ? kAppears : kVanishes;
  const std::uint64_t more = copies > 0 ? copies - 1 : 0;
  if (more != more_before) block.copies.emplace_back(edge, more);
}

std::array<std::size_t, 2> NetChanges::count(std::size_t first, std::size_t last) const {
  std::array<std::size_t, 2> found{};
  for (std::size_t number = first; number < last; ++number) {
    found[0] += effects_[number] == kVanishes;
    found[1] += effects_[number] == kAppears;
  }
  return found;
}

void NetChanges::write(std::span<const Update> updates, std::size_t first, std::size_t last, Update* vanish,
                       Update* appear) const {
  for (std::size_t number = first; number < last; ++number) {
    if (effects_[number] == kVanishes) *vanish++ = {updates[number].edge, false};
    if (effects_[number] == kAppears) *appear++ = {updates[number].edge, true};
  }
}

std::uint64_t NetChanges::noops() const {
  std::uint64_t all = 0;
  for (const Block& block : blocks_) all += block.noops;
  return all;
}

}  // namespace motiflux::dynamic
