// Listing: every embedding becomes a row in the ring that the host drains.
//
// Rows go out in packets of at most 32. A group that finds the ring full waits a little, then parks: it saves
// where it stands, before the candidates that found no room, and the kernel ends. The host drains the ring
// and launches the kernel again to go on from there. No row is lost or comes twice, and the device does not
// spin while nobody reads.
#pragma once

#include "motiflux/device/backoff.hpp"
#include "motiflux/device/group_ring.hpp"
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
  MOTIFLUX_DEVICE bool take_last(Search&, sets::View) {
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
      if (!reserve(search, ticket)) return false;
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

  // Whether the group broke off for want of room, not because it was told to.
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
  MOTIFLUX_DEVICE bool reserve(const Search& search, std::uint64_t& ticket) {
    const Task& task = search.task();
    device::Backoff backoff(0);
    for (std::uint32_t look = 0; !device::try_reserve(search.lanes(), task.ring, ticket); ++look) {
      if (search.stopped()) return false;
      if (look >= task.patience) {
        parked_ = true;
        return false;
      }
      backoff.wait();
    }
    return true;
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
    std::uint32_t* out = device::payload_of<std::uint32_t>(task.ring, ticket);
    // Word by word, so that neighbouring lanes write neighbouring words.
    for (std::uint32_t word = lanes.lane(); word < words; word += Lanes::kLanes) {
      const std::uint32_t level = task.column_levels[word % columns];
      out[word] = level == search.last() ? staged[word / columns] : search.vertex(level);
    }
    device::publish(lanes, task.ring, ticket, count_bits(kept));
  }

  std::uint64_t found_ = 0;  // the leader's
  bool parked_ = false;
};

// The body of a listing kernel.
template <class Plan, std::uint32_t Lanes>
MOTIFLUX_DEVICE void list(const SearchArgs<Plan>& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  Search<Plan, lanes::Group<Lanes>> search(args.plan, args.task, shared_memory);
  Listing<lanes::Group<Lanes>> goal;
  unsigned char* mine = args.task.saved + search.lanes().in_grid() * args.task.group_bytes;
  auto& header = *reinterpret_cast<Saved*>(mine);
  auto* levels = reinterpret_cast<LevelState*>(mine + sizeof(Saved));
  if (args.task.resume) search.restore(header, levels);
  search.run(goal);
  goal.report(search);
  search.lanes().sync();  // every lane has read what is overwritten now
  if (goal.parked())
    search.save(header, levels);
  else if (search.lanes().leads())
    header = {};
}

}  // namespace motiflux::match
