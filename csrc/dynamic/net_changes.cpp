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

void NetChanges::start(std::size_t updates, int threads) {
  size_ = 0;
  partitions_.resize(static_cast<std::size_t>(threads) + updates / kMost);
  for (Partition& partition : partitions_) {
    partition.entries.clear();
    partition.changed.clear();
    partition.copies.clear();
    partition.noops = 0;
  }
}

void NetChanges::find(int number, const std::function<bool()>& go_on) {
  Partition& partition = partitions_[static_cast<std::size_t>(number)];
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
void NetChanges::replay(Partition& partition, std::span<const Entry> entries, bool there) const {
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
  if (there != (copies > 0)) partition.changed.push_back({first.number, copies > 0});
  const std::uint64_t more = copies > 0 ? copies - 1 : 0;
  if (more != more_before) partition.copies.emplace_back(edge, more);
}

std::vector<Update> NetChanges::changes(std::span<const Update> updates,
                                        const std::function<bool()>& go_on) const {
  std::size_t vanish = 0, appear = 0;
  enum : std::uint8_t { kStays, kVanishes, kAppears };
  std::vector<std::uint8_t> effects(size_, kStays);  // of the first update of each edge
  for (const Partition& partition : partitions_)
    for (const auto& [number, appears] : partition.changed) {
      effects[number] = appears ? kAppears : kVanishes;
      ++(appears ? appear : vanish);
    }
  std::vector<Update> changes(vanish + appear);
  std::size_t vanished = 0, appeared = vanish;
  for (std::size_t number = 0; number < size_; ++number) {
    if (number % kLook == kLook - 1 && !go_on()) throw Stopped();
    if (effects[number] == kVanishes) changes[vanished++] = {updates[number].edge, false};
    if (effects[number] == kAppears) changes[appeared++] = {updates[number].edge, true};
  }
  return changes;
}

std::uint64_t NetChanges::noops() const {
  std::uint64_t all = 0;
  for (const Partition& partition : partitions_) all += partition.noops;
  return all;
}

}  // namespace motiflux::dynamic
