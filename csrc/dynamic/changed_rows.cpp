#include "dynamic/changed_rows.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "dynamic/threads.hpp"
#include "motiflux/changing/gpma.hpp"
#include "motiflux/changing/write_rows.cuh"

namespace motiflux::dynamic {
namespace {

using changing::Change;
using changing::PackedUpdate;
using changing::Piece;
using changing::TouchedRow;

// The least number of ends of a slice.
constexpr std::size_t kSlice = std::size_t{1} << 14;

constexpr std::uint64_t kNeighborBytes = sizeof(Vertex), kLifeBytes = sizeof(view::Life);

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + 15) / 16 * 16;
}

template <class T>
T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

// The first moment of an end in a kernel, where moments of updates begin with 1: what was there before lives
// from 0.
std::uint32_t since(const RunEnd& end) {
  return end.fresh != 0 ? end.first + 1 : 0;
}

bool dies(const RunEnd& end) {
  return end.last != Lifetimes::kForever;
}

// Whether an end is the first of its neighbour in a row, and the run brings it; rows of one class.
bool brings_first(std::span<const RunEnd> ends, std::size_t number) {
  return ends[number].fresh != 0 && (number == 0 || ends[number - 1].neighbor != ends[number].neighbor);
}

}  // namespace

ChangedRows::Sums& ChangedRows::Sums::operator+=(const Sums& other) {
  changes += other.changes;
  rows += other.rows;
  entries += other.entries;
  growth += other.growth;
  room += other.room;
  merged += other.merged;
  settled += other.settled;
  updates += other.updates;
  inserts += other.inserts;
  return *this;
}

// The ends of a vertex, and how many of them come and go.
struct ChangedRows::Row {
  std::span<const RunEnd> ends;
  std::uint64_t fresh, dead;
};

template <class Visit>
void ChangedRows::for_each_row(std::span<const RunEnd> ends, Visit&& visit) {
  for (std::size_t first = 0, last; first < ends.size(); first = last) {
    Row row{{}, 0, 0};
    for (last = first; last < ends.size() && ends[last].vertex == ends[first].vertex; ++last) {
      row.fresh += ends[last].fresh;
      row.dead += dies(ends[last]);
    }
    row.ends = ends.subspan(first, last - first);
    visit(row);
  }
}

ChangedRows::ChangedRows(std::shared_ptr<const Run> run, const RowKind& kind, const PlacesOfRows& places,
                         std::uint32_t piece, Watch& watch)
    : run_(std::move(run)),
      piece_(piece),
      packed_(kind.packed),
      brings_(places.own.rows != nullptr && run_->is_written) {
  cut_ends();
  for_each_partition(static_cast<int>(slices_.size()), run_->threads, watch, [&](int number, Watch& guarded) {
    Slice& slice = slices_[static_cast<std::size_t>(number)];
    select(slice, kind);
    measure(slice, places);
    if (!guarded.keep_going()) throw Stopped();
  });
  for (Slice& slice : slices_) {
    longest_ = std::max(longest_, slice.longest);
    const Sums before = sums_;
    sums_ += slice.sums;
    slice.sums = before;
  }
  layout_.moments = aligned(sizeof(Change) * sums_.changes);
  layout_.touched = layout_.moments + aligned(words_of_moments() * sizeof(Moment) * sums_.changes);
  layout_.merged = layout_.touched + aligned(sizeof(TouchedRow) * sums_.rows);
  layout_.settled = layout_.merged + aligned(sizeof(Piece) * sums_.merged);
  layout_.updates = layout_.settled + aligned(sizeof(Piece) * sums_.settled);
  layout_.size = layout_.updates + aligned(sizeof(PackedUpdate) * sums_.updates);
}

void ChangedRows::cut_ends() {
  const std::span<const RunEnd> ends = run_->all_ends();
  for (std::size_t first = 0, last; first < ends.size(); first = last) {
    last = std::min(first + kSlice, ends.size());
    while (last < ends.size() && ends[last].vertex == ends[last - 1].vertex) ++last;
    slices_.push_back({ends.subspan(first, last - first), {}, {}, 0});
  }
}

// Leaves the ends that the rows hold, ordered by vertex, neighbour and time.
void ChangedRows::select(Slice& slice, const RowKind& kind) const {
  const bool one_way = kind.directed && kind.way != Way::kEither;
  if (!one_way && kind.accepts.empty() && !kind.mixes) return;
  for (const RunEnd& end : slice.ends) {
    if (one_way && ((end.of & End::kBack) != 0) != (kind.way == Way::kIn)) continue;
    const Class of = end.of & ~End::kBack;
    if (!kind.accepts.empty() && (of >= kind.accepts.size() || kind.accepts[of] == 0)) continue;
    slice.own.push_back(end);
  }
  slice.ends = slice.own;
  if (!kind.mixes) return;
  const auto order = [](const RunEnd& end) { return std::tuple(end.neighbor, since(end)); };
  for (auto first = slice.own.begin(); first != slice.own.end();) {
    const auto last =
        std::find_if(first, slice.own.end(), [&](const RunEnd& end) { return end.vertex != first->vertex; });
    std::ranges::stable_sort(first, last, {}, order);
    first = last;
  }
}

// Calls visit(neighbour, insertions less deletions) for neighbours where these differ, ascending: equal
// entries are the same to an array.
template <class Visit>
void ChangedRows::for_each_net_change(const Row& row, Visit&& visit) const {
  if (!packed_) return;
  for (std::size_t first = 0, last; first < row.ends.size(); first = last) {
    std::int64_t net = 0;
    for (last = first; last < row.ends.size() && row.ends[last].neighbor == row.ends[first].neighbor; ++last)
      net += std::int64_t{row.ends[last].fresh != 0} - std::int64_t{dies(row.ends[last])};
    if (net != 0) visit(row.ends[first].neighbor, net);
  }
}

// Of the neighbours that the row has, those that the run brings. A neighbour that was there before is there
// once, though the run takes it away and brings it again: its first end says so.
std::uint64_t ChangedRows::brought(const Row& row) const {
  if (!brings_) return 0;
  std::uint64_t count = 0;
  for (std::size_t number = 0; number < row.ends.size(); ++number) count += brings_first(row.ends, number);
  return count;
}

void ChangedRows::measure(Slice& slice, const PlacesOfRows& places) const {
  Sums& sums = slice.sums;
  const bool own = places.own.rows != nullptr;
  const std::size_t vertices = own ? places.own.rows->vertices() : places.size.size();
  for_each_row(slice.ends, [&](const Row& row) {
    const Vertex vertex = row.ends.front().vertex;
    if (vertex >= vertices) throw std::out_of_range("a run names a vertex without a row");
    const auto there = own ? places.own.row(vertex).size() : static_cast<std::uint64_t>(places.size[vertex]);
    const std::uint64_t old = there - brought(row), all = old + row.fresh, after = all - row.dead;
    ++sums.rows;
    sums.changes += row.ends.size();
    sums.entries += all;
    sums.growth += after - old;
    if (!own && after > static_cast<std::uint64_t>(places.capacity[vertex])) sums.room += room_of(after);
    sums.merged += std::max<std::uint64_t>(1, (there + piece_ - 1) / piece_);
    sums.settled += own ? 1 : std::max<std::uint64_t>(1, (all + piece_ - 1) / piece_);
    slice.longest = std::max(slice.longest, all);
    for_each_net_change(row, [&](Vertex, std::int64_t net) {
      sums.updates += static_cast<std::uint64_t>(net < 0 ? -net : net);
      if (net > 0) sums.inserts += static_cast<std::uint64_t>(net);
    });
  });
}

std::uint64_t ChangedRows::memory_size() const {
  return aligned(kNeighborBytes * sums_.entries) + aligned(kLifeBytes * sums_.entries) +
         aligned(sizeof(std::uint32_t) * sums_.changes);
}

void ChangedRows::write(const Destination& to, const PlacesOfRows& places, Watch& watch) {
  for_each_partition(static_cast<int>(slices_.size()), run_->threads, watch, [&](int number, Watch& guarded) {
    write(slices_[static_cast<std::size_t>(number)], to, places);
    if (!guarded.keep_going()) throw Stopped();
  });
}

namespace {

// Notes where a row of so many entries is after the run; `taken`: entries of the room that are given away.
void settle_in(const PlacesOfRows& places, Vertex vertex, std::uint64_t size, std::uint64_t room,
               std::uint64_t& taken) {
  if (size > static_cast<std::uint64_t>(places.capacity[vertex])) {
    places.address[vertex] = room + kNeighborBytes * taken;
    places.capacity[vertex] = static_cast<std::int64_t>(room_of(size));
    taken += room_of(size);
  }
  places.size[vertex] = static_cast<std::int64_t>(size);
}

}  // namespace

void ChangedRows::write(const Slice& slice, const Destination& to, const PlacesOfRows& places) const {
  Sums at = slice.sums;
  auto* change = reinterpret_cast<Change*>(to.block) + at.changes;
  const bool own = places.own.rows != nullptr;
  const std::size_t words = words_of_moments();
  auto* moments = reinterpret_cast<Moment*>(to.block + layout_.moments) + words * at.changes;
  auto* touched = reinterpret_cast<TouchedRow*>(to.block + layout_.touched) + at.rows;
  auto* merged = reinterpret_cast<Piece*>(to.block + layout_.merged) + at.merged;
  auto* settled = reinterpret_cast<Piece*>(to.block + layout_.settled) + at.settled;
  auto* update = reinterpret_cast<PackedUpdate*>(to.block + layout_.updates) + at.updates;
  const std::uint64_t lives = to.memory + aligned(kNeighborBytes * sums_.entries);
  const std::uint64_t positions = lives + aligned(kLifeBytes * sums_.entries);
  const auto cut_up = [&](Piece*& piece, std::uint64_t size) {
    std::uint64_t first = 0;
    do {
      *piece++ = {static_cast<std::uint32_t>(at.rows), static_cast<std::uint32_t>(first)};
      first += piece_;
    } while (first < size);
  };
  for_each_row(slice.ends, [&](const Row& row) {
    const Vertex vertex = row.ends.front().vertex;
    std::uint32_t fresh = 0, dead = 0, brought = 0;
    const std::span<Moment> first(moments, row.ends.size()), last(first.data() + first.size(), first.size());
    Moment* const brought_before = last.data() + last.size();
    moments += words * row.ends.size();
    for (std::size_t number = 0; const RunEnd& end : row.ends) {
      const Change one{end.neighbor, since(end), dies(end) ? end.last + 1 : Lifetimes::kForever, fresh, dead};
      first[number] = one.first;
      last[number] = one.last;
      if (brings_) {
        const bool again = number > 0 && row.ends[number - 1].neighbor == end.neighbor;
        brought_before[number] = again ? brought_before[number - 1] : brought;
        brought += brings_first(row.ends, number);
      }
      ++number;
      *change++ = one;
      fresh += end.fresh;
      dead += dies(end);
    }
    std::ranges::sort(first);
    std::ranges::sort(last);
    const sets::Span there =
        own ? places.own.row(vertex)
            : sets::Span{pointer<const Vertex>(places.address[vertex]),
                         pointer<const Vertex>(places.address[vertex]) + places.size[vertex]};
    const std::uint64_t all = there.size() - brought + fresh, after = all - dead;
    if (!own) settle_in(places, vertex, after, to.room, at.room);
    *touched++ = {there.first,
                  pointer<std::uint32_t>(to.memory + kNeighborBytes * at.entries),
                  pointer<view::Life>(lives + kLifeBytes * at.entries),
                  pointer<std::uint32_t>(own ? 0 : places.address[vertex]),
                  pointer<const Change>(to.address + sizeof(Change) * at.changes),
                  pointer<const Moment>(to.address + layout_.moments + words * sizeof(Moment) * at.changes),
                  pointer<std::uint32_t>(positions + sizeof(std::uint32_t) * at.changes),
                  vertex,
                  static_cast<std::uint32_t>(there.size()),
                  static_cast<std::uint32_t>(row.ends.size()),
                  static_cast<std::uint32_t>(all),
                  static_cast<std::uint32_t>(after),
                  brought};
    cut_up(merged, there.size());
    cut_up(settled, own ? 1 : all);
    for_each_net_change(row, [&](Vertex neighbor, std::int64_t net) {
      for (std::uint32_t turn = 0; turn < (net < 0 ? -net : net); ++turn) {
        *update++ = {changing::key_of(vertex, neighbor), static_cast<std::uint32_t>(at.inserts),
                     net > 0 ? PackedUpdate::kInserts : turn};
        at.inserts += net > 0;
      }
    });
    at.changes += row.ends.size();
    at.entries += all;
    ++at.rows;
  });
}

}  // namespace motiflux::dynamic
