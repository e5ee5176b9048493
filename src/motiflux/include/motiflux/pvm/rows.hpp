// Rows of one partition as a lane finds them alone, and the interval indexes of a phase in shared memory.
#pragma once

#include "motiflux/pvm/phase_args.hpp"

namespace motiflux::pvm {

// The rows of a phase. All threads of a block make it, and pass a barrier before they use it.
//
//   shared memory:  index of table 0 | index of table 1 | ...      index_words each; none for hash tables
template <class Rows>
class Tables {
 public:
  template <class Args>
  MOTIFLUX_DEVICE Tables(const Args& args, std::uint32_t* memory)
      : rows_(args.tables), labels_(args.vertex_labels) {
    if constexpr (Rows::kHasIndex)
      for (std::uint32_t at = 0; at < args.table_count; ++at)
        view::load_index(rows_[at], memory + at * args.index_words, args.index_words);
    memory_ = memory;
    words_ = args.index_words;
  }

  MOTIFLUX_DEVICE sets::Span open(std::uint32_t table, std::uint32_t vertex) const {
    const Rows& rows = rows_[table];
    if constexpr (Rows::kHasIndex)
      return view::IntervalIndex::in(memory_ + table * words_, words_, rows.intervals).open(rows, vertex);
    else
      return rows.open(vertex);
  }

  // The neighbours of one label in a row that is grouped by labels.
  MOTIFLUX_DEVICE sets::Span with_label(sets::Span row, std::uint32_t label) const {
    const std::uint32_t* first = not_less(row, label);
    return {first, not_less({first, row.last}, label + 1)};
  }

  // Whether a vertex is in a row, which is in order of (label, vertex) if it is grouped, else of vertices.
  MOTIFLUX_DEVICE bool contains(sets::Span row, std::uint32_t vertex, bool grouped) const {
    if (!grouped) return sets::contains(row, vertex);
    const std::uint32_t label = labels_[vertex];
    while (row.first < row.last) {  // by both at once: each step waits for two loads
      const std::uint32_t* middle = row.first + row.size() / 2;
      const std::uint32_t found = *middle;
      if (found == vertex) return true;
      const std::uint32_t other = labels_[found];
      if (other < label || (other == label && found < vertex))
        row.first = middle + 1;
      else
        row.last = middle;
    }
    return false;
  }

  // Whether the embedding whose vertices `read` gives by column has an arc for a query edge, or lacks it.
  template <class Read>
  MOTIFLUX_DEVICE bool passes(const ArcTest& test, Read&& read) const {
    const sets::Span row = open(test.table, read(test.source));
    return contains(row, read(test.target), test.grouped != 0) == (test.absent == 0);
  }

  MOTIFLUX_DEVICE std::uint32_t label(std::uint32_t vertex) const { return labels_[vertex]; }

 private:
  MOTIFLUX_DEVICE const std::uint32_t* not_less(sets::Span row, std::uint32_t label) const {
    while (row.first < row.last) {
      const std::uint32_t* middle = row.first + row.size() / 2;
      if (labels_[*middle] < label)
        row.first = middle + 1;
      else
        row.last = middle;
    }
    return row.first;
  }

  const Rows* rows_;
  const std::uint32_t* labels_;
  const std::uint32_t* memory_;
  std::uint32_t words_;
};

MOTIFLUX_DEVICE bool has_bit(const std::uint32_t* bits, std::uint32_t at) {
  return (bits[at / 32] >> at % 32 & 1) != 0;
}

}  // namespace motiflux::pvm
