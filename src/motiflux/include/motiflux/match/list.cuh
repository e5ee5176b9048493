// Listing: every embedding becomes a row, somewhere that the host fetches it from.
//
// A group that finds no room parks: it saves where it stands, before the candidates that found none, and the
// kernel ends. The host takes the rows and launches the kernel again to go on from there. No row is lost or
// comes twice, and the device does not spin while nobody reads.
#pragma once

#include "motiflux/device/backoff.hpp"
#include "motiflux/device/group_ring.hpp"
#include "motiflux/device/total.hpp"
#include "motiflux/match/search.hpp"

namespace motiflux::match {

// Where rows go, at most 32 at a time:
//   Reservation reserve(search, rows, ticket)        whether there is room, or why to break off
//   std::uint32_t* place(task, ticket, columns)
//   void publish(lanes, task, ticket, rows)   once they are written
enum class Reservation { kGranted, kFull, kStopped };

// Packets in the ring that the host drains while the kernel runs. A group that finds it full waits a little.
struct IntoRing {
  template <class Search>
  static MOTIFLUX_DEVICE Reservation reserve(Search& search, std::uint32_t, std::uint64_t& ticket) {
    const Task& task = search.task();
    device::Backoff backoff(0);
    for (std::uint32_t attempt = 0; !device::try_reserve(search.lanes(), task.ring, ticket); ++attempt) {
      if (search.stopped()) return Reservation::kStopped;
      if (attempt >= task.patience) return Reservation::kFull;
      backoff.wait();
    }
    return Reservation::kGranted;
  }

  static MOTIFLUX_DEVICE std::uint32_t* place(const Task& task, std::uint64_t ticket, std::uint32_t) {
    return device::payload_of<std::uint32_t>(task.ring, ticket);
  }

  template <class Lanes>
  static MOTIFLUX_DEVICE void publish(const Lanes& lanes, const Task& task, std::uint64_t ticket,
                                      std::uint32_t rows) {
    device::publish(lanes, task.ring, ticket, rows);
  }
};

// Device memory that the host copies once the kernel has ended.
struct IntoMemory {
  template <class Search>
  static MOTIFLUX_DEVICE Reservation reserve(Search& search, std::uint32_t rows, std::uint64_t& ticket) {
    const Task& task = search.task();
    std::uint64_t first = 0;
    if (search.lanes().leads()) {
      Control& control = *task.control;
      first = device::device_wide(control.reserved).fetch_add(std::uint64_t{rows}, device::Order::kRelaxed);
      if (first + rows > task.row_capacity)
        device::device_wide(control.refused).fetch_max(~first, device::Order::kRelaxed);
    }
    ticket = search.lanes().broadcast(first);
    return ticket + rows <= task.row_capacity ? Reservation::kGranted : Reservation::kFull;
  }

  static MOTIFLUX_DEVICE std::uint32_t* place(const Task& task, std::uint64_t ticket, std::uint32_t columns) {
    return task.rows + ticket * columns;
  }

  template <class Lanes>
  static MOTIFLUX_DEVICE void publish(const Lanes& lanes, const Task&, std::uint64_t, std::uint32_t) {
    lanes.sync();  // what is staged next must not come before it is written
  }
};

template <class Lanes, class Into>
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
      std::uint64_t ticket = 0;
      const Reservation reservation = Into::reserve(search, count_bits(kept), ticket);
      parked_ = reservation == Reservation::kFull;
      if (reservation != Reservation::kGranted) return false;
      write(search, walk, kept, ticket);
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

  // Whether the group stopped because there was no space for rows, not because it was told to.
  MOTIFLUX_DEVICE bool parked() const { return parked_; }

 private:
  // A bit for each of the next 32 candidates that passes.
  template <class Search>
  MOTIFLUX_DEVICE std::uint32_t judge(const Search& search, const Cursor& walk) const {
    std::uint32_t kept = 0;
    for (std::uint32_t strip = 0; strip < kStaged && strip < walk.end - walk.next; strip += Lanes::kLanes)
      kept |= search.judge(search.last(), walk, walk.next + strip) << strip;
    return kept;
  }

  template <class Search>
  MOTIFLUX_DEVICE void write(const Search& search, const Cursor& walk, std::uint32_t kept,
                             std::uint64_t ticket) const {
    const Lanes& lanes = search.lanes();
    const Task& task = search.task();
    std::uint32_t* staged = search.shared().staged;
    for (std::uint32_t place = lanes.lane(); place < kStaged; place += Lanes::kLanes)
      if (kept >> place & 1) staged[count_bits(kept & bits_below(place))] = walk.base[walk.next + place];
    lanes.sync();
    const std::uint32_t columns = search.last() + 1;
    const std::uint32_t words = count_bits(kept) * columns;
    std::uint32_t* out = Into::place(task, ticket, columns);
    // Word by word, so that neighbouring lanes write neighbouring words.
    for (std::uint32_t word = lanes.lane(); word < words; word += Lanes::kLanes) {
      const std::uint32_t level = task.column_levels[word % columns];
      out[word] = level == search.last() ? staged[word / columns] : search.vertex(level);
    }
    Into::publish(lanes, task, ticket, count_bits(kept));
  }

  std::uint64_t found_ = 0;  // the leader's
  bool parked_ = false;
};

template <class Plan, std::uint32_t Lanes, class Into, class Within>
MOTIFLUX_DEVICE void list_into(const SearchArgs<Plan>& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Search<Plan, lanes::Group<Lanes>, Within> search(args.plan, args.task, shared_memory);
  Listing<lanes::Group<Lanes>, Into> goal;
  unsigned char* mine = args.task.saved + search.lanes().in_grid() * args.task.group_bytes;
  auto& header = *reinterpret_cast<Saved*>(mine);
  auto* levels = reinterpret_cast<LevelState*>(mine + sizeof(Saved));
  if (args.task.resume) search.restore(header, levels);
  search.run(goal);
  goal.report(search);
  search.lanes().sync();  // every lane has read what is overwritten now
  if (goal.parked() || search.paused())
    search.save(header, levels);
  else if (search.lanes().leads())
    header = {};
}

// The body of a kernel that lists into the ring.
template <class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void list(const SearchArgs<Plan>& args) {
  list_into<Plan, Lanes, IntoRing, Within>(args);
}

}  // namespace motiflux::match
