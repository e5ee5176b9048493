#include "dynamic/net_changes.hpp"

#include <algorithm>
#include <tuple>

#include "dynamic/matcher.hpp"
#include "dynamic/sort_by.hpp"

namespace motiflux::dynamic {
namespace {

// Entries whose rows are prefetched; and entries between checks for a stop.
constexpr std::size_t kAhead = 24;
constexpr std::size_t kLook = 4096;

// About the greatest number of entries of a partition: they are sorted between two checks for a stop.
constexpr std::size_t kMost = std::size_t{1} << 18;

// Fewer entries are sorted by comparison.
constexpr std::size_t kFew = 1024;

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

// Sorts by row, as rows are sorted; updates of one edge keep their order.
void NetChanges::order(Partition& partition) const {
  auto& [entries, scratch, copies, noops] = partition;
  if (entries.size() < kFew) {
    const auto key = [](const Entry& one) {
      return std::tuple(one.row, Rows::order(one.of & kClass), one.neighbor);
    };
    std::ranges::stable_sort(entries, {}, key);
    return;
  }
  const std::uint32_t last = graph_.vertices() - 1;
  const auto classes = static_cast<std::uint32_t>(graph_.relations().classes().size());
  sort_by(entries, scratch, last, [](const Entry& one) { return one.neighbor; });
  sort_by_class(entries, scratch, classes, [](const Entry& one) { return one.of & kClass; });
  sort_by(entries, scratch, last, [](const Entry& one) { return one.row; });
}

void NetChanges::find(int number, const std::function<bool()>& go_on) {
  Partition& partition = partitions_[static_cast<std::size_t>(number)];
  for (auto& slice : slices_) {
    std::vector<Entry>& added = slice[static_cast<std::size_t>(number)];
    partition.entries.insert(partition.entries.end(), added.begin(), added.end());
  }
  order(partition);
  const Rows& rows = graph_.rows(Way::kOut);
  const std::vector<Entry>& entries = partition.entries;
  std::size_t looked = 0, place = 0;
  for (std::size_t first = 0, last; first < entries.size(); first = last) {
    const auto& [row, neighbor, of, unused] = entries[first];
    last = first;
    do {
      if (++looked % kLook == 0 && !go_on()) throw Stopped();
      if (last + kAhead < entries.size()) rows.prefetch(entries[last + kAhead].row);
      if (last + kAhead / 2 < entries.size()) rows.prefetch_row(entries[last + kAhead / 2].row);
      ++last;
    } while (last < entries.size() && entries[last].row == row && entries[last].neighbor == neighbor &&
             (entries[last].of & kClass) == (of & kClass));
    if (first == 0 || entries[first - 1].row != row) place = 0;
    place = rows.place(row, place, of & kClass, neighbor);
    replay(partition, std::span(entries).subspan(first, last - first),
           rows.is_at(row, place, of & kClass, neighbor));
  }
}

// Applies the updates of one edge to the number of its copies; `there`: whether the edge exists before them.
void NetChanges::replay(Partition& partition, std::span<const Entry> entries, bool there) {
  const Entry& first = entries.front();
  const Edge edge{first.row, first.neighbor, graph_.relations().classes()[first.of & kClass].edge};
  const std::uint64_t more_before = there ? graph_.more_copies(edge) : 0;
  std::uint64_t copies = there ? 1 + more_before : 0;
  for (const Entry& one : entries) {
    const bool inserts = (one.of & kInserts) != 0;
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
