// Arguments of the kernels that run one phase of a search (GENEVA, section 5).
//
// Embeddings of a frontier are in columns: word `column * capacity + embedding`. A phase reads one frontier
// and writes another, or counts. Its work is divided into batches of 32 embeddings, a lane each. The
// extensions of a batch are numbered (*items*; extend.cuh), so any part of the work is a batch and a range of
// its items.
#pragma once

#include "motiflux/match/task.hpp"
#include "motiflux/view/hash_rows.hpp"
#include "motiflux/view/interval_rows.hpp"

namespace motiflux::pvm {

inline constexpr std::uint32_t kMostTables = 4;   // of one phase
inline constexpr std::uint32_t kMostMembers = 6;  // query vertices of a set of candidates
inline constexpr std::uint32_t kMostTests = 32;   // query edges that a phase tests
inline constexpr std::uint32_t kThreads = 256;    // of a block
inline constexpr std::uint32_t kBatch = 32;       // embeddings
inline constexpr std::uint32_t kAnyLabel = ~std::uint32_t{0};

// A frontier. One without words has the vertices themselves in column 0: all of them, or every `step`-th one
// from `first` on. The last one is first, as its row is long and takes long, unless the other vertices of an
// embedding must be greater: then the first one is first.
struct Columns {
  std::uint32_t* words;
  std::uint64_t capacity;  // without words, the number of vertices, or 0 if these ascend
  std::uint32_t first;
  std::uint32_t step;

  MOTIFLUX_HOST_DEVICE std::uint32_t read(std::uint32_t column, std::uint64_t embedding) const {
    if (words != nullptr) return words[column * capacity + embedding];
    const std::uint64_t root = first + embedding * step;
    return static_cast<std::uint32_t>(capacity == 0 ? root : capacity - 1 - root);
  }
};

// A part of a batch.
struct Items {
  std::uint64_t batch;
  std::uint64_t first;
  std::uint64_t end;
};

// What the launches of a phase did; read by the host when they are over.
struct PhaseControl {
  std::uint64_t batches_taken;
  std::uint64_t batches_opened;
  std::uint64_t left_taken;  // these two may exceed the numbers of parts
  std::uint64_t long_taken;
  std::uint64_t made;  // rows before tests of later phases
  // Rows that stayed: places of the output that were asked for, and the complement of the first place that
  // was refused (0 if none was). Later requests were refused too, so all rows before that place are written.
  std::uint64_t reserved;
  std::uint64_t refused;
  std::uint32_t parked;      // parts saved for lack of room, or to pause
  std::uint32_t long_parts;  // parts put off
  std::uint32_t overflow;    // whether a number passed the range of the kernels
  std::uint32_t unused;
};

// The work of a launch: parts that earlier launches left, then batches, then parts of long batches, which are
// put off until all batches are opened. A warp takes a whole part at a time.
struct Work {
  PhaseControl* control;
  match::Control* search;  // of all phases: the flag that stops, and the number counted
  // The phase before, if it was launched just before: the size of the input is the number of rows that it
  // wrote, or 0 if it had no room for all. Null: `size` is known.
  const PhaseControl* before;
  std::uint64_t size;         // embeddings of the input
  std::uint64_t first_batch;  // batches before it were handed out by earlier launches
  const Items* left;
  std::uint64_t left_count;
  std::uint64_t*
      next_batches;  // round robin: the next batch of each warp, beyond its first one; null: one counter
  Items* parked;
  Items* long_parts;
  std::uint32_t most_long;   // room for these
  std::uint32_t long_batch;  // a batch of more items is put off in parts, which many warps share
  std::uint64_t limit;       // stop once more are counted, or match::kNoLimit
  std::uint64_t filled;      // rows of the output that earlier launches wrote
  // Two passes: the rows of each unit, and then their place in the output; null: one pass (offsets.cuh).
  std::uint64_t* places;
};

inline constexpr std::uint32_t kMostParts = 1024;  // of one batch

// Candidates that one row has for some query vertices, its members.
struct CandidateSet {
  std::uint32_t table;
  std::uint32_t source;   // column
  std::uint32_t label;    // of the candidates, in rows that are grouped by label; kAnyLabel: the whole row
  std::uint32_t ascends;  // whether the candidates ascend, so that positions are in order of vertices
  const std::uint32_t* labels;  // bits by label: those allowed; null: all
  const std::uint32_t* mask;    // bits by vertex: those allowed; null: all
  std::uint32_t distinct;       // columns whose vertices a candidate must not be
  std::uint32_t after;          // columns whose vertices must be less
  // Further ones of each member.
  std::uint32_t own_distinct[kMostMembers];
  std::uint32_t own_after[kMostMembers];
  // Orders in which a combination is given to the members: `orders` times the position of each member. Null:
  // the ascending order only.
  const std::uint8_t* order_positions;
  // Phases that are counted by the numbers of candidates have no positions, any number of members, and as
  // many orders as there are.
  std::uint32_t members;
  std::uint64_t orders;
};

// Where the vertex of a column comes from: a column of the input, or kMember and the number of a query vertex
// that the phase matches.
inline constexpr std::uint32_t kMember = 32;

// A query edge that needs an arc, or two query vertices between which there must be none.
struct ArcTest {
  std::uint32_t table;
  std::uint32_t source;  // columns of the input, or members
  std::uint32_t target;
  std::uint32_t grouped;  // whether rows are grouped by label
  std::uint32_t absent;   // whether there must be no arc
};

// Rows are in tables of one format of the view: view::IntervalRows, or view::HashRows to compare with.
template <class Format>
struct ExtendArgsOf {
  using Rows = Format;

  Work work;
  Columns in;
  Columns out;
  Rows tables[kMostTables];
  std::uint32_t table_count;
  std::uint32_t index_words;  // shared memory of each interval index
  const std::uint32_t* vertex_labels;
  const std::uint32_t* root_labels;  // bits by label; the first phase only
  const std::uint32_t* root_mask;    // bits by vertex
  CandidateSet sets[2];
  // Of each member, the members before it whose candidates must be less, and different. Members of the first
  // set come first. What orders of combinations imply is not repeated here.
  std::uint32_t less[kMostMembers];
  std::uint32_t different[kMostMembers];
  // Columns of the output. If the next phase is counted by this kernel, those that it would read.
  std::uint32_t out_count;
  std::uint32_t test_count;
  std::uint8_t out_sources[view::kMaxLevels];
  ArcTest tests[kMostTests];  // of this phase, then of elimination phases behind it
  // Of the phase that this kernel counts; its columns are those of the output.
  CandidateSet next_sets[2];
  std::uint32_t set_count;
  std::uint32_t next_set_count;
  std::uint32_t tuples;  // whether members of one set may have equal candidates
  std::uint32_t next_tuples;
  std::uint32_t own_test_count;  // tests of this phase
};

template <class Format>
struct EliminateArgsOf {
  using Rows = Format;

  Work work;
  Columns in;
  Columns out;
  Rows tables[kMostTables];
  std::uint32_t table_count;
  std::uint32_t index_words;
  const std::uint32_t* vertex_labels;
  std::uint32_t test_count;
  std::uint32_t kept_count;
  ArcTest tests[kMostTests];
  std::uint8_t kept[view::kMaxLevels];  // columns of the input that become columns 0, 1, ... of the output
};

// A frontier to sort by the tiles of a table (bucket.cuh).
struct BucketArgs {
  Columns in;
  Columns out;
  std::uint64_t size;              // embeddings
  const std::uint32_t* renamed;    // ids of all vertices in tables; null: those of the graph
  const std::uint32_t* least_ids;  // of each tile
  std::uint64_t* places;           // of each tile
  std::uint32_t tiles;
  std::uint32_t column;  // of the vertices whose rows are in the table
  std::uint32_t width;
  std::uint32_t unused;
};

using ExtendArgs = ExtendArgsOf<view::IntervalRows>;
using EliminateArgs = EliminateArgsOf<view::IntervalRows>;
using ExtendByHashArgs = ExtendArgsOf<view::HashRows>;
using EliminateByHashArgs = EliminateArgsOf<view::HashRows>;

}  // namespace motiflux::pvm
