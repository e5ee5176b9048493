// Extension phases: all matching patterns 0 to 7 by one kernel (GENEVA, sections 5.1 to 5.4).
//
// An embedding has one or two sets of candidates. Its *items* are the combinations of candidates of the first
// set, as many as its members, with those of the second. So pattern 0 has an item per candidate, pattern 1
// one per unordered pair, patterns 2 to 4 one per pair of both sets.
//
// A warp takes a batch of 32 embeddings. Each lane opens the rows of one; then the items of all of them are
// numbered one after another, and lanes take items, not embeddings. So all lanes work however short rows are,
// and any range of the numbers can be left to a later launch:
//
//   embedding     | 0: 3 items | 1: none | 2: 40 items | ...
//   items         | 0 1 2      |         | 3 4 5 ... 42 | ...
//   lanes         | 0 1 2 ...                    31 | 0 1 2 ...
//
// An item gives as many rows as orders in which its candidates pass all checks. The rows of all lanes are
// written behind one reservation; rows that fail are not written.
//
// The kernel can do the work of later phases, whose embeddings then need no memory: it tests query edges of
// elimination phases, and counts the extensions of a last phase by the numbers of candidates (close.cuh).
#pragma once

#include "motiflux/pvm/candidates.hpp"
#include "motiflux/pvm/combinations.hpp"
#include "motiflux/pvm/units.hpp"

namespace motiflux::pvm {

// The batch of a warp, in shared memory.
struct OpenedBatch {
  sets::Span rows[2][kBatch];
  std::uint64_t before[kBatch + 1];  // items of the embeddings before each, and of all
};

enum class Goal { kWrite, kCount, kCountNext };

template <class Args, class Shape, Goal goal, Pass pass>
class Extension {
  using AllTables = Tables<typename Args::Rows>;

 public:
  MOTIFLUX_DEVICE Extension(const Args& args, const AllTables& tables, OpenedBatch& opened,
                            Units<pass>& units)
      : args_(args), tables_(tables), opened_(opened), units_(units) {}

  MOTIFLUX_DEVICE void run() {
    Unit unit;
    while (units_.next(unit)) {
      if constexpr (pass == Pass::kPlace)
        if (!units_.begin_placed(unit)) continue;
      const std::uint64_t total = open(unit.batch);
      const bool later = pass != Pass::kPlace && total != kTooMany && units_.put_off(unit, total);
      if constexpr (pass == Pass::kMeasure)
        if (later) units_.measured_as_put_off(unit);
      units_.opened(unit, later);
      if (later || total == kTooMany) continue;  // so many pass the range: the result is not used
      if (!extend(unit, unit.end < total ? unit.end : total)) break;
      if constexpr (pass == Pass::kMeasure) {
        units_.measured(unit, counted_);
        counted_ = 0;
      }
    }
    units_.tell(made_, goal == Goal::kCountNext ? stayed_ : 0);
    units_.finish(pass == Pass::kMeasure ? 0 : counted_);
  }

 private:
  static constexpr std::uint32_t kMembers = Shape::kMembers;
  static constexpr bool kOrdersAreItems = kMembers >= 3;

  // Opens the rows of a batch; returns the number of its items.
  MOTIFLUX_DEVICE std::uint64_t open(std::uint64_t batch) {
    const std::uint32_t lane = units_.warp().lane();
    const std::uint64_t embedding = batch * kBatch + lane;
    const bool live = embedding < units_.size() && is_root(args_, embedding);
    std::uint64_t items = live ? 1 : 0;
    units_.warp().sync();  // nobody reads the batch before any more
#pragma unroll
    for (std::uint32_t at = 0; at < Shape::kSets; ++at) {
      const sets::Span row = live && items != 0
                                 ? candidates(tables_, args_.sets[at], InputColumns{args_.in, embedding})
                                 : sets::Span{};
      opened_.rows[at][lane] = row;
      items = multiply(items, at == 0 ? items_of<Shape, Shape::kFirst, true>(row.size())
                                      : items_of<Shape, Shape::kSecond, false>(row.size()));
    }
    if constexpr (kOrdersAreItems) items = multiply(items, orders());
    std::uint64_t sum = items;
#pragma unroll
    for (std::uint32_t step = 1; step < 32; step *= 2) {
      const std::uint64_t below =
          __shfl_up_sync(~0u, static_cast<unsigned long long>(sum), static_cast<int>(step), 32);
      if (lane >= step) sum = sum + below < kTooMany ? sum + below : kTooMany;
    }
    if (sum == kTooMany) units_.overflow();
    if (lane == 0) opened_.before[0] = 0;
    opened_.before[lane + 1] = sum;
    units_.warp().sync();
    return opened_.before[kBatch];
  }

  // Extends the embeddings of the opened batch; returns false if the output is full, or the warp is to stop.
  MOTIFLUX_DEVICE bool extend(const Unit& unit, std::uint64_t end) {
    const std::uint32_t lane = units_.warp().lane();
    std::uint32_t turn = 0;
    for (std::uint64_t first = unit.first; first < end; first += 32) {
      if (++turn % kTurns == 0) {
        if (pass != Pass::kMeasure && args_.work.limit != match::kNoLimit) {
          units_.add(counted_);
          counted_ = 0;
        }
        if (const match::Stop stop = units_.stop(); stop != match::Stop::kNone) {
          if (stop == match::Stop::kPause) units_.park(unit, first, end);
          return false;
        }
      }
      Item item;
      const bool live = first + lane < end && pick(unit.batch, first + lane, item);
      if constexpr (pass == Pass::kMeasure) {
        if (live) counted_ += orders_that_pass(item).number;
      } else if constexpr (goal == Goal::kWrite) {
        if (!write(live, item)) {
          units_.park(unit, first, end);
          return false;
        }
      } else if constexpr (goal == Goal::kCount) {
        if (live) counted_ += orders_that_pass(item).number;
      } else {
        if (live) count_next(item);
        if (units_.warp().ballot(counted_ >= kMostOfLane) != 0) {
          units_.add(counted_);
          counted_ = 0;
        }
      }
    }
    return true;
  }

  // The embedding and the candidates of an item, and the orders in which these are given to members. With
  // three members or more, each order is an item of its own: there may be hundreds.
  struct Item {
    std::uint64_t embedding;
    std::uint32_t found[kMembers];
    std::uint32_t first_order;
    std::uint32_t end_order;
  };

  // Finds an item; returns whether all candidates pass the checks of their set.
  MOTIFLUX_DEVICE bool pick(std::uint64_t batch, std::uint64_t number, Item& item) const {
    std::uint32_t at = 0;
#pragma unroll
    for (std::uint32_t step = 16; step > 0; step /= 2)
      if (opened_.before[at + step] <= number) at += step;
    item.embedding = batch * kBatch + at;
    number -= opened_.before[at];
    item.first_order = 0;
    item.end_order = orders();
    if constexpr (kOrdersAreItems) {
      const std::uint64_t combination = divide(number, item.end_order);
      item.first_order = static_cast<std::uint32_t>(number - combination * item.end_order);
      item.end_order = item.first_order + 1;
      number = combination;
    }
    if constexpr (Shape::kSets == 2) {
      const std::uint64_t many = items_of<Shape, Shape::kFirst, true>(opened_.rows[0][at].size());
      const std::uint64_t second = divide(number, many);
      if (!pick_of<Shape::kSecond, false>(args_.sets[1], opened_.rows[1][at], second, item.embedding,
                                          item.found + Shape::kFirst))
        return false;
      number -= second * many;
    }
    return pick_of<Shape::kFirst, true>(args_.sets[0], opened_.rows[0][at], number, item.embedding,
                                        item.found);
  }

  MOTIFLUX_DEVICE static std::uint64_t divide(std::uint64_t a, std::uint64_t b) {
    if ((a | b) >> 32 == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
    return a / b;
  }

  template <std::uint32_t Members, bool IsFirst>
  MOTIFLUX_DEVICE bool pick_of(const CandidateSet& set, sets::Span row, std::uint64_t number,
                               std::uint64_t embedding, std::uint32_t* found) const {
    std::uint32_t positions[Members];
    if constexpr (Shape::kNested && IsFirst)
      nested<Members>(number, static_cast<std::uint32_t>(row.size()), positions);
    else if constexpr (Shape::kTuples || Shape::kNested)
      tuple<Members>(number, static_cast<std::uint32_t>(row.size()), positions);
    else
      combination<Members>(number, static_cast<std::uint32_t>(row.size()), positions);
    bool passes = true;
#pragma unroll
    for (std::uint32_t at = 0; at < Members; ++at) {
      found[at] = row.first[positions[at]];
      passes = passes && is_candidate(set, found[at], embedding);
    }
    return passes;
  }

  MOTIFLUX_DEVICE bool is_candidate(const CandidateSet& set, std::uint32_t vertex,
                                    std::uint64_t embedding) const {
    if (set.labels != nullptr && !has_bit(set.labels, tables_.label(vertex))) return false;
    if (set.mask != nullptr && !has_bit(set.mask, vertex)) return false;
    return compares(vertex, embedding, set.distinct, set.ascends != 0 ? 0 : set.after);
  }

  // Whether a vertex differs from those in some columns, and is greater than those in others.
  MOTIFLUX_DEVICE bool compares(std::uint32_t vertex, std::uint64_t embedding, std::uint32_t distinct,
                                std::uint32_t after) const {
    bool passes = true;
    for_each_bit(distinct, [&](std::uint32_t column) {
      passes = passes && args_.in.read(column, embedding) != vertex;
    });
    for_each_bit(after,
                 [&](std::uint32_t column) { passes = passes && args_.in.read(column, embedding) < vertex; });
    return passes;
  }

  MOTIFLUX_DEVICE std::uint32_t orders() const {
    return static_cast<std::uint32_t>(args_.sets[0].orders * (Shape::kSets == 2 ? args_.sets[1].orders : 1));
  }

  // Gives candidates to the members in one of the orders.
  MOTIFLUX_DEVICE void arrange(const std::uint32_t (&found)[kMembers], std::uint32_t order,
                               std::uint32_t (&members)[kMembers]) const {
    std::uint32_t first = order, second = 0;
    if constexpr (Shape::kSets == 2) {
      const std::uint32_t orders = static_cast<std::uint32_t>(args_.sets[0].orders);
      first = order % orders;
      second = order / orders;
    }
    arrange_of<Shape::kFirst>(args_.sets[0], found, first, members);
    if constexpr (Shape::kSets == 2)
      arrange_of<Shape::kSecond>(args_.sets[1], found + Shape::kFirst, second, members + Shape::kFirst);
  }

  template <std::uint32_t Members>
  MOTIFLUX_DEVICE static void arrange_of(const CandidateSet& set, const std::uint32_t* found,
                                         std::uint32_t order, std::uint32_t* members) {
#pragma unroll
    for (std::uint32_t at = 0; at < Members; ++at) {
      const std::uint32_t position =
          Members == 1 || set.order_positions == nullptr ? at : set.order_positions[order * Members + at];
      std::uint32_t vertex = found[0];  // without an index that the compiler does not know: no local memory
#pragma unroll
      for (std::uint32_t other = 1; other < Members; ++other)
        if (position == other) vertex = found[other];
      members[at] = vertex;
    }
  }

  // Whether members pass their own checks, and those among each other.
  MOTIFLUX_DEVICE bool pass_checks(std::uint64_t embedding, const std::uint32_t (&members)[kMembers]) const {
    bool passes = true;
#pragma unroll
    for (std::uint32_t at = 0; at < kMembers; ++at) {
      const CandidateSet& set = args_.sets[at < Shape::kFirst ? 0 : 1];
      const std::uint32_t number = at < Shape::kFirst ? at : at - Shape::kFirst;
      if ((set.own_distinct[number] | set.own_after[number]) != 0)
        passes = passes && compares(members[at], embedding, set.own_distinct[number], set.own_after[number]);
#pragma unroll
      for (std::uint32_t before = 0; before < at; ++before) {
        if ((args_.less[at] >> before & 1) != 0) passes = passes && members[before] < members[at];
        if ((args_.different[at] >> before & 1) != 0) passes = passes && members[before] != members[at];
      }
    }
    return passes;
  }

  // Vertices of the embedding that an item gives in one of its orders, by source of a column.
  struct Extended {
    const Extension& of;
    std::uint64_t embedding;
    const std::uint32_t (&members)[kMembers];

    MOTIFLUX_DEVICE std::uint32_t operator()(std::uint32_t source) const {
      if (source < kMember) return of.args_.in.read(source, embedding);
      std::uint32_t vertex = members[0];  // without an index that the compiler does not know: no local memory
#pragma unroll
      for (std::uint32_t at = 1; at < kMembers; ++at)
        if (source == kMember + at) vertex = members[at];
      return vertex;
    }
  };

  // The same by columns of the output.
  struct Output {
    Extended extended;

    MOTIFLUX_DEVICE std::uint32_t operator()(std::uint32_t column) const {
      return extended(extended.of.args_.out_sources[column]);
    }
  };

  MOTIFLUX_DEVICE bool pass_tests(const Extended& extended, std::uint32_t first, std::uint32_t end) const {
    for (std::uint32_t at = first; at < end; ++at)
      if (!tables_.passes(args_.tests[at], extended)) return false;
    return true;
  }

  // Whether a row passes the tests of the phase and of those behind it; it is made if it passes the former.
  MOTIFLUX_DEVICE bool stays(const Extended& extended) {
    if (!pass_tests(extended, 0, args_.own_test_count)) return false;
    ++made_;
    return pass_tests(extended, args_.own_test_count, args_.test_count);
  }

  // Orders of an item that pass: their number, and themselves as bits.
  struct Passing {
    std::uint32_t number;
    std::uint32_t bits;
  };

  MOTIFLUX_DEVICE Passing orders_that_pass(const Item& item) {
    Passing passing{0, 0};
    for (std::uint32_t order = item.first_order; order < item.end_order; ++order) {
      std::uint32_t members[kMembers];
      arrange(item.found, order, members);
      if (!pass_checks(item.embedding, members)) continue;
      if (!stays({*this, item.embedding, members})) continue;
      ++passing.number;
      passing.bits |= 1u << (order - item.first_order);
    }
    return passing;
  }

  // Counts the extensions of all rows of an item by the next phase.
  MOTIFLUX_DEVICE void count_next(const Item& item) {
    for (std::uint32_t order = item.first_order; order < item.end_order; ++order) {
      std::uint32_t members[kMembers];
      arrange(item.found, order, members);
      if (!pass_checks(item.embedding, members)) continue;
      const Extended extended{*this, item.embedding, members};
      if (!stays(extended)) continue;
      ++stayed_;
      const std::uint64_t number = extensions(tables_, args_.next_sets, args_.next_set_count,
                                              args_.next_tuples != 0, Output{extended});
      counted_ += number;
      if (number >= kMostOfLane || counted_ >= 2 * kMostOfLane) units_.overflow();
    }
  }

  // Writes the rows of one item of each lane; returns false, and writes none, if there is no room for all.
  MOTIFLUX_DEVICE bool write(bool live, const Item& item) {
    const std::uint64_t made = made_;
    const Passing passing = live ? orders_that_pass(item) : Passing{0, 0};
    const std::uint32_t before = units_.warp().sums_before(passing.number);
    const std::uint32_t all = units_.warp().broadcast(before + passing.number, 31);
    if (all == 0) return true;
    std::uint64_t place = 0;
    if (!units_.reserve(all, args_.out.capacity, place)) {
      made_ = made;
      return false;
    }
    place += before;
    for_each_bit(passing.bits, [&](std::uint32_t bit) {
      std::uint32_t members[kMembers];
      arrange(item.found, item.first_order + bit, members);
      write_row(place++, {*this, item.embedding, members});
    });
    return true;
  }

  MOTIFLUX_DEVICE void write_row(std::uint64_t place, const Extended& extended) const {
    for (std::uint32_t column = 0; column < args_.out_count; ++column)
      args_.out.words[column * args_.out.capacity + place] = extended(args_.out_sources[column]);
  }

  static constexpr std::uint32_t kTurns = 16;  // between looks at the flag that stops

  const Args& args_;
  const AllTables& tables_;
  OpenedBatch& opened_;
  Units<pass>& units_;
  std::uint64_t counted_ = 0;
  std::uint64_t made_ = 0;    // rows before tests of later phases
  std::uint64_t stayed_ = 0;  // and after them, if none is written
};

// Shared memory: interval indexes | OpenedBatch of each warp.
template <class Shape, Goal goal, Pass pass = Pass::kSingle, class Args>
MOTIFLUX_DEVICE void extend(const Args& args) {
  MOTIFLUX_DYNAMIC_SHARED(memory);
  const Tables<typename Args::Rows> tables(args, reinterpret_cast<std::uint32_t*>(memory));
  __syncthreads();
  auto* opened =
      reinterpret_cast<OpenedBatch*>(memory + std::size_t{4} * args.table_count * args.index_words);
  Units<pass> units(args.work);
  Extension<Args, Shape, goal, pass>(args, tables, opened[threadIdx.x / 32], units).run();
}

}  // namespace motiflux::pvm
