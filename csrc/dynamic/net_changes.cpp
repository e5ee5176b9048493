#include "dynamic/net_changes.hpp"

#include <algorithm>

#include "dynamic/matcher.hpp"

namespace motiflux::dynamic {
namespace {

// Entries between checks for a stop.
constexpr std::size_t kLook = 4096;

// About the greatest number of entries of a partition: they are sorted between two checks for a stop.
constexpr std::size_t kMost = std::size_t{1} << 18;

}  // namespace

void NetChanges::start(std::size_t updates, int threads, int slices) {
  partitions_.resize(static_cast<std::size_t>(threads) + updates / kMost);
  for (Partition& partition : partitions_) {
    partition.entries.clear();
    partition.copies.clear();
    partition.noops = 0;
  }
  slices_.resize(static_cast<std::size_t>(slices));
  for (auto& slice : slices_) {
    slice.resize(partitions_.size());
    for (auto& entries : slice) entries.clear();
  }
  effects_.assign(updates, kStays);
}

void NetChanges::find(int number, const std::function<bool()>& go_on) {
  Partition& partition = partitions_[static_cast<std::size_t>(number)];
  for (const auto& slice : slices_) {
    const Entries& added = slice[static_cast<std::size_t>(number)];
    partition.entries.insert(partition.entries.end(), added.begin(), added.end());
  }
  sort_entries(graph_, partition.entries, partition.scratch, true);
  const Rows& rows = graph_.rows(Way::kOut);
  const Entries& entries = partition.entries;
  Places places(rows, entries);
  std::size_t looked = 0;
  for (std::size_t first = 0, last; first < entries.size(); first = last) {
    const Entry& one = entries[first];
    last = first;
    do {
      if (++looked % kLook == 0 && !go_on()) throw Stopped();
      ++last;
    } while (last < entries.size() && entries[last].has_edge_of(one));
    replay(partition, std::span(entries).subspan(first, last - first),
           rows.is_at(one.row, places.of(first), one.to(), one.neighbor));
  }
}

// Applies the updates of one edge to the number of its copies; `there`: whether the edge exists before them.
void NetChanges::replay(Partition& partition, std::span<const Entry> entries, bool there) {
  const Entry& first = entries.front();
  const Edge edge{first.row, first.neighbor, graph_.relations().classes()[first.to()].edge};
  const std::uint64_t more_before = there ? graph_.more_copies(edge) : 0;
  std::uint64_t copies = there ? 1 + more_before : 0;
  for (const Entry& one : entries) {
    const bool inserts = one.comes();
    partition.noops += (copies > 0) == inserts;
    if (inserts)
      copies = copies == 0 || count_copies_ ? copies + 1 : copies;
    else if (copies > 0)
      --copies;
  }
  if (there != (copies > 0)) effects_[first.number] = copies > 0 ? kAppears : kVanishes;
  const std::uint64_t more = copies > 0 ? copies - 1 : 0;
  if (more != more_before) partition.copies.emplace_back(edge, more);
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
  for (const Partition& partition : partitions_) all += partition.noops;
  return all;
}

}  // namespace motiflux::dynamic
