// Listing: every embedding becomes a row in device memory, which the host copies after the kernel.
//
// A group that finds no room parks: it saves its state before the candidates without room, and the kernel
// ends. The host takes the rows and launches the kernel again to continue. No row is lost or repeated, and
// the device does not spin while the host reads.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/device/total.hpp"
#include "motiflux/match/search.hpp"

namespace motiflux::match {

template <class Lanes>
class Listing : public EveryLevel {
 public:
  template <class Search>
  MOTIFLUX_DEVICE bool skip_last(Search&) {
    return false;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_last(Search&, sets::Span) {
    return false;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_strip(Search&) {
    return false;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool walk_last(Search& search) {
    Cursor& walk = search.cursor();
    const std::uint32_t kept = judge(search, walk);
    if (kept != 0) {
      std::uint64_t first = 0;
      parked_ = !reserve(search, count_bits(kept), first);
      if (parked_) return false;
      write(search, walk, kept, first);
      if (search.lanes().leads()) found_ += count_bits(kept);
    }
    walk.next = walk.end - walk.next > kStaged ? walk.next + kStaged : walk.end;
    return true;
  }

  template <class Search>
  MOTIFLUX_DEVICE void report(const Search& search) {
    if (found_ > 0) device::add_128(search.task().control->found, found_);
    found_ = 0;
  }

  // Whether the group broke off for lack of room, not because it was told to.
  MOTIFLUX_DEVICE bool parked() const { return parked_; }

 private:
  // A bit for each of the next 32 candidates: whether it passes.
  template <class Search>
  MOTIFLUX_DEVICE std::uint32_t judge(const Search& search, const Cursor& walk) const {
    std::uint32_t kept = 0;
    for (std::uint32_t strip = 0; strip < kStaged && strip < walk.end - walk.next; strip += Lanes::kLanes)
      kept |= search.judge(search.last(), walk, walk.next + strip) << strip;
    return kept;
  }

  // Reserves room for `rows` rows, from the row `first` on; false if there is none.
  template <class Search>
  MOTIFLUX_DEVICE bool reserve(const Search& search, std::uint32_t rows, std::uint64_t& first) const {
    const Task& task = search.task();
    std::uint64_t before = 0;
    if (search.lanes().leads()) {
      Control& control = *task.control;
      before = device::device_wide(control.reserved).fetch_add(std::uint64_t{rows}, device::Order::kRelaxed);
      if (before + rows > task.row_capacity)
        device::device_wide(control.refused).fetch_max(~before, device::Order::kRelaxed);
    }
    first = search.lanes().broadcast(before);
    return first + rows <= task.row_capacity;
  }

  // Of updates: the root, and as many levels as any plan has.
  template <class Search>
  static MOTIFLUX_DEVICE std::uint32_t columns_of(const Search& search) {
    if constexpr (Search::kChanging)
      return search.plan().columns();
    else
      return search.last() + 1;
  }

  template <class Search>
  MOTIFLUX_DEVICE void write(const Search& search, const Cursor& walk, std::uint32_t kept,
                             std::uint64_t first) const {
    const Lanes& lanes = search.lanes();
    const Task& task = search.task();
    std::uint32_t* staged = search.shared().staged;
    for (std::uint32_t place = lanes.lane(); place < kStaged; place += Lanes::kLanes)
      if (kept >> place & 1) staged[count_bits(kept & bits_below(place))] = walk.base[walk.next + place];
    lanes.sync();
    const std::uint32_t columns = columns_of(search);
    const std::uint32_t words = count_bits(kept) * columns;
    std::uint32_t* out = task.rows + first * columns;
    // Word by word, so that writes coalesce.
    for (std::uint32_t word = lanes.lane(); word < words; word += Lanes::kLanes) {
      const std::uint32_t column = word % columns;
      if constexpr (Search::kChanging) {
        std::uint32_t level = column - 1;
        if constexpr (Search::kForks) level = search.plan().with_fork(level);
        out[word] = column == 0              ? search.root()
                    : level == search.last() ? staged[word / columns]
                    : level < search.last()  ? search.vertex(level)
                                             : 0;
      } else {
        const std::uint32_t level = task.column_levels[column];
        out[word] = level == search.last() ? staged[word / columns] : search.vertex(level);
      }
    }
    lanes.sync();  // writes of rows precede the next staging
  }

  std::uint64_t found_ = 0;  // the leader's
  bool parked_ = false;
};

// The body of a kernel that lists.
template <class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void store(const SearchArgs<Plan>& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Search<Plan, lanes::Group<Lanes>, Within> search(args.plan, args.task, shared_memory);
  Listing<lanes::Group<Lanes>> goal;
  unsigned char* mine = args.task.saved + search.lanes().in_grid() * args.task.group_bytes;
  auto& header = *reinterpret_cast<Saved*>(mine);
  auto* levels = reinterpret_cast<LevelState*>(mine + sizeof(Saved));
  if (args.task.resume) search.restore(header, levels);
  search.run(goal);
  goal.report(search);
  search.lanes().sync();  // every lane has read the state to be overwritten
  if (goal.parked() || search.paused())
    search.save(header, levels);
  else if (search.lanes().leads())
    header = {};
}

}  // namespace motiflux::match
