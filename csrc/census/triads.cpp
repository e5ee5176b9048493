// A triangle x < y < z is found from its middle vertex y: the greater neighbours of y are marked with their
// kinds, and the ends of the rows of its lesser neighbours x are looked up, down to y. What is found is added
// up in one word of nine numbers of seven bits, of kinds xz and yz; an entry that is not marked adds 0, so
// nothing is decided for an entry but whether it is greater than y.
//
// Rows of x are spread over memory, so they are fetched some steps ahead. Ids ascend by degree: from the
// middle vertex, the rows of light vertices are read, from the least vertex those of heavy ones, four times
// as many.
#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>

#include "census/bins.hpp"

namespace motiflux::census {
namespace {

constexpr std::size_t kTriadArcs = 1 << 14;
constexpr int kFieldBits = 7;
constexpr std::uint64_t kFieldMask = (1 << kFieldBits) - 1;
constexpr std::size_t kFieldMost = kFieldMask;
constexpr std::uint64_t kAhead = 8;  // rows

// Rows whose entries are four times a neighbour plus its kind.
template <class Entry>
struct PackedRows {
  std::vector<std::uint64_t> offsets, above;  // as of TypedRows
  std::unique_ptr<Entry[]> entries;
};

constexpr std::array<std::uint64_t, 16> unit_table() {
  std::array<std::uint64_t, 16> table{};
  for (int xz = 0; xz < kKinds; ++xz)
    for (int yz = 0; yz < kKinds; ++yz)
      table[static_cast<std::size_t>(4 * (yz + 1) + xz)] = std::uint64_t{1} << kFieldBits * (3 * xz + yz);
  return table;
}

// By four times the mark of z (0, or 1 + kind yz) plus kind xz.
constexpr std::array<std::uint64_t, 16> kUnits = unit_table();

// Numbers of triangles of one kind xy.
struct Sums {
  void flush() {
    for (std::size_t field = 0; field < totals.size(); ++field)
      totals[field] += fields >> kFieldBits * field & kFieldMask;
    fields = added = 0;
  }

  std::uint64_t fields = 0, added = 0;
  std::array<std::uint64_t, 9> totals{};  // fewer than arcs times vertices of any graph in memory
};

template <class Entry>
class Triads {
 public:
  Triads(const PackedRows<Entry>& rows, std::size_t vertices) : rows_(rows), marks_(vertices, 0) {}

  // Finds the triangles whose middle vertex is y.
  void search(std::size_t y) {
    const std::uint64_t begin = rows_.offsets[y], middle = rows_.above[y], end = rows_.offsets[y + 1];
    if (begin == middle || middle == end) return;
    const Entry* const entries = rows_.entries.get();
    for (std::uint64_t at = middle; at != end; ++at)
      marks_[entries[at] / 4] = static_cast<std::uint8_t>(4 * (entries[at] % 4 + 1));
    const auto last = static_cast<Entry>(4 * y + 3);
    for (std::uint64_t at = begin; at != middle; ++at) {
      if (at + 2 * kAhead < middle) __builtin_prefetch(&rows_.offsets[entries[at + 2 * kAhead] / 4 + 1]);
      if (at + kAhead < middle) {
        const std::uint64_t row_end = rows_.offsets[entries[at + kAhead] / 4 + 1];
        __builtin_prefetch(entries + row_end - 1);
      }
      const auto kind = static_cast<std::size_t>(reversed(static_cast<int>(entries[at] % 4)));
      look_up(entries + rows_.offsets[entries[at] / 4 + 1], last, triangles[kind]);
    }
    for (std::uint64_t at = middle; at != end; ++at) marks_[entries[at] / 4] = 0;
  }

  std::array<Sums, 3> triangles{};

 private:
  // Adds entries greater than `last`, which are before `entry`; there is one that is not.
  void look_up(const Entry* entry, Entry last, Sums& sums) {
    for (;;) {
      const Entry* const start = entry;
      const Entry* const stop = entry - (kFieldMost - sums.added);
      std::uint64_t found = 0;
      while (entry != stop && entry[-1] > last) {
        --entry;
        found += kUnits[marks_[*entry / 4] | *entry % 4];
      }
      sums.fields += found;
      sums.added += static_cast<std::uint64_t>(start - entry);
      if (entry != stop) return;
      sums.flush();
    }
  }

  const PackedRows<Entry>& rows_;
  std::vector<std::uint8_t> marks_;  // all zero between searches
};

void add_wedges(const std::array<std::uint64_t, 3>& ends, Bins& bins) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (ends[i] == 0) continue;
    bins[3 + 4 * i] += Total{ends[i]} * (ends[i] - 1) / 2;
    for (std::size_t j = i + 1; j < 3; ++j) bins[3 + 3 * i + j] += Total{ends[i]} * ends[j];
  }
}

void add(const Bins& more, std::mutex& mutex, Bins& bins) {
  const std::scoped_lock lock(mutex);
  for (std::size_t at = 0; at < bins.size(); ++at) bins[at] += more[at];
}

// Packs rows, and counts pairs and wedges.
template <class Entry>
PackedRows<Entry> packed(const view::Adjacency& forward, const view::Adjacency& reverse,
                         std::uint32_t vertices, const Workers& workers, Bins& bins) {
  PackedRows<Entry> rows{std::vector<std::uint64_t>(std::size_t{vertices} + 1, 0),
                         std::vector<std::uint64_t>(vertices, 0), nullptr};
  std::mutex mutex;
  const std::span arcs(forward.offsets, std::size_t{vertices} + 1);
  parallel_rows(workers, arcs, kTriadArcs, [&](std::size_t begin, std::size_t end) {
    Bins own(bins.size(), 0);
    for (std::size_t at = begin; at < end; ++at) {
      const auto v = static_cast<std::uint32_t>(at);
      std::array<std::uint64_t, 3> ends{}, greater{};
      merge(forward.begin(v), forward.end(v), reverse.begin(v), reverse.end(v),
            [&](std::uint32_t u, std::uint8_t kind) {
              ++ends[kind];
              greater[kind] += u > v;
            });
      const std::uint64_t size = ends[0] + ends[1] + ends[2];
      rows.offsets[at + 1] = size;
      rows.above[at] = size - greater[0] - greater[1] - greater[2];
      for (std::size_t kind = 0; kind < 3; ++kind) own[kind] += greater[kind];
      add_wedges(ends, own);
    }
    add(own, mutex, bins);
  });
  for (std::size_t v = 0; v < vertices; ++v) {
    rows.offsets[v + 1] += rows.offsets[v];
    rows.above[v] += rows.offsets[v];
  }
  rows.entries = std::make_unique_for_overwrite<Entry[]>(rows.offsets[vertices]);
  parallel_rows(workers, arcs, kTriadArcs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto v = static_cast<std::uint32_t>(at);
      Entry* next = rows.entries.get() + rows.offsets[at];
      merge(forward.begin(v), forward.end(v), reverse.begin(v), reverse.end(v),
            [&](std::uint32_t u, std::uint8_t kind) { *next++ = static_cast<Entry>(Entry{u} * 4 + kind); });
    }
  });
  return rows;
}

template <class Entry>
Bins typed_triads(const view::Adjacency& forward, const view::Adjacency& reverse, std::uint32_t vertices,
                  const Workers& workers) {
  Bins bins(num_bins(kKinds, 3), 0);
  const PackedRows<Entry> rows = packed<Entry>(forward, reverse, vertices, workers, bins);
  std::mutex mutex;
  std::vector<std::unique_ptr<Triads<Entry>>> free;
  parallel_rows(workers, rows.offsets, kTriadArcs, [&](std::size_t begin, std::size_t end) {
    std::unique_lock lock(mutex);
    std::unique_ptr<Triads<Entry>> triads;
    if (!free.empty()) {
      triads = std::move(free.back());
      free.pop_back();
    }
    lock.unlock();
    if (!triads) triads = std::make_unique<Triads<Entry>>(rows, vertices);
    for (std::size_t y = begin; y < end; ++y) {
      workers.check();
      triads->search(y);
    }
    lock.lock();
    free.push_back(std::move(triads));
  });
  for (const auto& triads : free)
    for (std::size_t xy = 0; xy < 3; ++xy) {
      triads->triangles[xy].flush();
      for (std::size_t at = 0; at < 9; ++at) bins[12 + 9 * xy + at] += triads->triangles[xy].totals[at];
    }
  return bins;
}

}  // namespace

Bins count_triads(const view::Adjacency& forward, const view::Adjacency& reverse, std::uint32_t vertices,
                  int kinds, const Workers& workers) {
  const bool narrow = vertices <= std::numeric_limits<std::uint32_t>::max() / 4;
  const Bins typed = narrow ? typed_triads<std::uint32_t>(forward, reverse, vertices, workers)
                            : typed_triads<std::uint64_t>(forward, reverse, vertices, workers);
  if (kinds == kKinds) return typed;
  Bins result(num_bins(1, 3), 0);
  for (std::size_t at = 0; at < typed.size(); ++at) result[at < 3 ? 0 : at < 12 ? 1 : 2] += typed[at];
  return result;
}

}  // namespace motiflux::census
