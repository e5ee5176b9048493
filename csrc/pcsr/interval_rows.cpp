#include "pcsr/interval_rows.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace motiflux::pcsr {
namespace {

constexpr std::size_t kVerticesOfPiece = 1 << 10;

// Rows are written where `places` says: the place of each pair of a vertex and a partition.
class Writer {
 public:
  Writer(const Division& division, const Membership& membership)
      : division_(division), membership_(membership), places_(membership.partitions.size()) {}

  // Numbers rows in the order of new ids: fills in all but the neighbours.
  template <class Offset>
  void number(std::span<const std::uint32_t> renamed, IntervalRows& rows, std::vector<Offset>& offsets,
              const Workers& workers) {
    std::vector<std::uint32_t> vertex_of(renamed.size());
    for (std::size_t v = 0; v < renamed.size(); ++v) vertex_of[renamed[v]] = static_cast<std::uint32_t>(v);
    const std::size_t partitions = division_.partitions();
    std::vector<std::uint64_t> row(rows.first_row.begin(), rows.first_row.end() - 1), arc(partitions, 0);
    count_intervals(vertex_of, rows);
    std::vector<std::uint64_t> interval(rows.first_interval.begin(), rows.first_interval.end() - 1);
    std::vector<std::uint64_t> behind(partitions, kNowhere);  // the id behind the last row
    rows.firsts.resize(rows.first_interval.back());
    rows.rows_before.resize(rows.first_interval.back() + partitions);
    offsets.resize(rows.first_row.back() + partitions);
    for (std::uint64_t id = 0; id < vertex_of.size(); ++id) {
      if (id % kVerticesPerCheck == 0) workers.check();
      const std::uint32_t v = vertex_of[id];
      for (std::uint64_t pair = membership_.offsets[v]; pair < membership_.offsets[v + 1]; ++pair) {
        const std::uint32_t p = membership_.partitions[pair];
        if (behind[p] != id) {
          rows.firsts[interval[p]] = static_cast<std::uint32_t>(id);
          rows.rows_before[interval[p]++ + p] = static_cast<std::uint32_t>(row[p] - rows.first_row[p]);
        }
        behind[p] = id + 1;
        offsets[row[p]++ + p] = static_cast<Offset>(arc[p]);
        places_[pair] = rows.first_arc[p] + arc[p];
        arc[p] += membership_.arcs[pair];
      }
    }
    for (std::size_t p = 0; p < partitions; ++p) {
      rows.rows_before[rows.first_interval[p + 1] + p] =
          static_cast<std::uint32_t>(rows.first_row[p + 1] - rows.first_row[p]);
      offsets[rows.first_row[p + 1] + p] = static_cast<Offset>(arc[p]);
    }
  }

  // Writes the neighbours of a vertex in all partitions.
  void write(std::size_t v, std::uint32_t* neighbors) {
    const auto first = membership_.offsets[v], last = membership_.offsets[v + 1];
    const auto* partitions = membership_.partitions.data();
    for (std::size_t direction = 0; direction < division_.directions.size(); ++direction) {
      const Direction& arcs = division_.directions[direction];
      for (std::uint64_t arc = arcs.offsets[v]; arc < arcs.offsets[v + 1]; ++arc) {
        const auto* found =
            std::lower_bound(partitions + first, partitions + last, division_.partition_of(direction, arc));
        neighbors[places_[static_cast<std::size_t>(found - partitions)]++] = arcs.neighbors[arc];
      }
    }
    if (!division_.has_groups()) return;
    for (std::uint64_t pair = first; pair < last; ++pair) {
      std::uint32_t* end = neighbors + places_[pair];  // behind the row: all of it has been written
      std::sort(end - membership_.arcs[pair], end, [&](std::uint32_t a, std::uint32_t b) {
        const std::uint32_t left = division_.vertex_labels[a], right = division_.vertex_labels[b];
        return left != right ? left < right : a < b;
      });
    }
  }

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

  void count_intervals(std::span<const std::uint32_t> vertex_of, IntervalRows& rows) const {
    std::vector<std::uint64_t> behind(division_.partitions(), kNowhere);
    rows.first_interval.assign(division_.partitions() + 1, 0);
    for (std::uint64_t id = 0; id < vertex_of.size(); ++id) {
      const std::uint32_t v = vertex_of[id];
      for (std::uint64_t pair = membership_.offsets[v]; pair < membership_.offsets[v + 1]; ++pair) {
        const std::uint32_t p = membership_.partitions[pair];
        if (behind[p] != id) ++rows.first_interval[p + 1];
        behind[p] = id + 1;
      }
    }
    std::partial_sum(rows.first_interval.begin(), rows.first_interval.end(), rows.first_interval.begin());
  }

  const Division& division_;
  const Membership& membership_;
  std::vector<std::uint64_t> places_;
};

}  // namespace

IntervalRows interval_rows(const Division& division, const Membership& membership,
                           std::span<const std::uint32_t> renamed, std::uint64_t most_arcs,
                           const Workers& workers) {
  const std::size_t partitions = division.partitions();
  IntervalRows rows;
  rows.first_row.assign(partitions + 1, 0);
  rows.first_arc.assign(partitions + 1, 0);
  for (std::size_t pair = 0; pair < membership.partitions.size(); ++pair) {
    ++rows.first_row[membership.partitions[pair] + 1];
    rows.first_arc[membership.partitions[pair] + 1] += membership.arcs[pair];
  }
  const bool wide = std::ranges::any_of(rows.first_arc, [&](std::uint64_t arcs) { return arcs > most_arcs; });
  std::partial_sum(rows.first_row.begin(), rows.first_row.end(), rows.first_row.begin());
  std::partial_sum(rows.first_arc.begin(), rows.first_arc.end(), rows.first_arc.begin());
  Writer writer(division, membership);
  if (wide)
    writer.number(renamed, rows, rows.wide_offsets, workers);
  else
    writer.number(renamed, rows, rows.offsets, workers);
  rows.neighbors = Unwritten<std::uint32_t>(rows.first_arc.back());
  std::uint32_t* neighbors = rows.neighbors.data();
  parallel_for(workers, division.vertices(), kVerticesOfPiece, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) writer.write(v, neighbors);
  });
  return rows;
}

}  // namespace motiflux::pcsr
