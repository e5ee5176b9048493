// The candidates of an embedding: the rows of its sources, cut to a label and to vertices in ascending order.
#pragma once

#include "motiflux/pvm/rows.hpp"

namespace motiflux::pvm {

// Numbers of members of both sets, and whether members of one set may have equal candidates: then items are
// tuples instead of combinations.
template <std::uint32_t First, std::uint32_t Second, bool Tuples = false>
struct Shape {
  static constexpr std::uint32_t kFirst = First, kSecond = Second, kMembers = First + Second;
  static constexpr bool kTuples = Tuples;
  static constexpr std::uint32_t kSets = Second == 0 ? 1 : 2;
};

class Candidates {
 public:
  MOTIFLUX_DEVICE Candidates(const ExtendArgs& args, const Tables& tables) : args_(args), tables_(tables) {}

  // Whether the first phase begins with a vertex; true for all embeddings of other phases.
  MOTIFLUX_DEVICE bool is_root(std::uint64_t embedding) const {
    if (args_.in.words != nullptr) return true;
    const std::uint32_t vertex = args_.in.read(0, embedding);
    if (args_.root_labels != nullptr && !has_bit(args_.root_labels, tables_.label(vertex))) return false;
    return args_.root_mask == nullptr || has_bit(args_.root_mask, vertex);
  }

  // Candidates of a set. Labels of a set, filters and columns of a row that does not ascend are not checked yet.
  MOTIFLUX_DEVICE sets::Span of(const CandidateSet& set, std::uint64_t embedding) const {
    sets::Span row = tables_.open(set.table, args_.in.read(set.source, embedding));
    if (set.label != kAnyLabel) row = tables_.with_label(row, set.label);
    if (set.ascends != 0 && set.after != 0) {
      std::uint32_t least = 0;
      for_each_bit(set.after, [&](std::uint32_t column) {
        const std::uint32_t vertex = args_.in.read(column, embedding);
        if (vertex > least) least = vertex;
      });
      row.first = sets::lower_bound(row.first, row.last, std::uint64_t{least} + 1);
    }
    return row;
  }

 private:
  const ExtendArgs& args_;
  const Tables& tables_;
};

}  // namespace motiflux::pvm
