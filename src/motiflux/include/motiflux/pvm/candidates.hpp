// The candidates of an embedding: the rows of its sources, cut to a label and to vertices in ascending order.
#pragma once

#include "motiflux/pvm/combinations.hpp"
#include "motiflux/pvm/rows.hpp"

namespace motiflux::pvm {

// Numbers of members of both sets, and whether members of one set may have equal candidates: then items are
// tuples instead of combinations. Nested: items are those of algorithm 6, for three members or more: tuples
// of the second set and of the first one without its last two members, which have combinations.
template <std::uint32_t First, std::uint32_t Second, bool Tuples = false, bool Nested = false>
struct Shape {
  static constexpr std::uint32_t kFirst = First, kSecond = Second, kMembers = First + Second;
  static constexpr bool kTuples = Tuples;
  static constexpr bool kNested = Nested;
  static constexpr std::uint32_t kSets = Second == 0 ? 1 : 2;
};

// The vertices of an embedding of the input.
struct InputColumns {
  const Columns& in;
  std::uint64_t embedding;

  MOTIFLUX_DEVICE std::uint32_t operator()(std::uint32_t column) const { return in.read(column, embedding); }
};

// Candidates of a set for the embedding whose vertices `read` gives by column. Labels of a set, filters and
// columns of a row that does not ascend are not checked yet.
template <class Rows, class Read>
MOTIFLUX_DEVICE sets::Span candidates(const Tables<Rows>& tables, const CandidateSet& set, Read&& read) {
  sets::Span row = tables.open(set.table, read(set.source));
  if (set.label != kAnyLabel) row = tables.with_label(row, set.label);
  if (set.ascends != 0 && set.after != 0) {
    std::uint32_t least = 0;
    for_each_bit(set.after, [&](std::uint32_t column) {
      const std::uint32_t vertex = read(column);
      if (vertex > least) least = vertex;
    });
    row.first = sets::lower_bound(row.first, row.last, std::uint64_t{least} + 1);
  }
  return row;
}

// Candidates of a set that are not in the embedding, if all others are valid.
template <class Rows, class Read>
MOTIFLUX_DEVICE std::uint64_t valid_candidates(const Tables<Rows>& tables, const CandidateSet& set,
                                               Read&& read) {
  const sets::Span row = candidates(tables, set, read);
  std::uint64_t size = row.size();
  const bool grouped = set.label == kAnyLabel && set.ascends == 0;
  for_each_bit(set.distinct, [&](std::uint32_t column) {
    if (size != 0 && tables.contains(row, read(column), grouped)) --size;
  });
  return size;
}

// Extensions of an embedding by a phase without comparisons between its members: combinations of valid
// candidates, each in all of its orders; kTooMany if there are that many, or more.
template <class Rows, class Read>
MOTIFLUX_DEVICE std::uint64_t extensions(const Tables<Rows>& tables, const CandidateSet* sets,
                                         std::uint32_t count, bool tuples, Read&& read) {
  std::uint64_t number = 1;
  for (std::uint32_t at = 0; at < count && number != 0; ++at) {
    const CandidateSet& set = sets[at];
    const std::uint64_t size = valid_candidates(tables, set, read);
    const std::uint64_t items = tuples ? power(size, set.members) : choose(size, set.members);
    number = multiply(number, multiply(items, set.orders));
  }
  return number;
}

// Whether the first phase begins with a vertex; true for all embeddings of other phases.
template <class Args>
MOTIFLUX_DEVICE bool is_root(const Args& args, std::uint64_t embedding) {
  if (args.in.words != nullptr) return true;
  const std::uint32_t vertex = args.in.read(0, embedding);
  if (args.root_labels != nullptr && !has_bit(args.root_labels, args.vertex_labels[vertex])) return false;
  return args.root_mask == nullptr || has_bit(args.root_mask, vertex);
}

}  // namespace motiflux::pvm
