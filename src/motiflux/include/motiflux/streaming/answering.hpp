// The goal of a resident kernel's searches: some plans are counted, others list their matches.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/match/count.cuh"
#include "motiflux/streaming/answers.hpp"

namespace motiflux::streaming {

// `lists`: whether a plan may list its matches.
template <class Lanes, bool lists>
class Answering : public match::EveryLevel {
 public:
  static constexpr bool kCountsTails = true;

  explicit MOTIFLUX_DEVICE Answering(const Stream& stream) : stream_(stream) {}

  template <class Search>
  MOTIFLUX_DEVICE std::uint32_t count_alone(Search& search, std::uint32_t level) {
    return is_listed(search) ? 0 : counting_.count_alone(search, level);
  }

  // Plans that list have no tails.
  template <class Search>
  MOTIFLUX_DEVICE void count_tail(Search& search) {
    counting_.count_tail(search);
  }

  template <class Search>
  MOTIFLUX_DEVICE bool skip_last(Search& search) {
    return !is_listed(search) && counting_.skip_last(search);
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_last(Search& search, sets::Span candidates) {
    return !is_listed(search) && counting_.take_last(search, candidates);
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_strip(Search&) {
    return false;
  }

  // Writes the rows of the next candidates.
  template <class Search>
  MOTIFLUX_DEVICE bool walk_last(Search& search) {
    if constexpr (lists) {
      match::Cursor& walk = search.cursor();
      std::uint32_t kept = 0;
      for (std::uint32_t strip = 0; strip < match::kStaged && strip < walk.end - walk.next;
           strip += Lanes::kLanes)
        kept |= search.judge(search.last(), walk, walk.next + strip) << strip;
      if (kept != 0 && !write(search, walk, kept)) {
        stopped_ = true;
        return false;
      }
      walk.next = walk.end - walk.next > match::kStaged ? walk.next + match::kStaged : walk.end;
    }
    return true;
  }

  MOTIFLUX_DEVICE bool stopped() const { return stopped_; }

  template <class Search>
  MOTIFLUX_DEVICE void report(Search& search) {
    if (!search.keep(counting_)) counting_.report(search);
  }

 private:
  template <class Search>
  static MOTIFLUX_DEVICE bool is_listed(const Search& search) {
    if constexpr (lists)
      return (search.plan().root(search.root()).listed & 1) != 0;
    else
      return false;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool write(const Search& search, const match::Cursor& walk, std::uint32_t kept) const {
    const Lanes& lanes = search.lanes();
    std::uint32_t* staged = search.shared().staged;
    for (std::uint32_t place = lanes.lane(); place < match::kStaged; place += Lanes::kLanes)
      if (kept >> place & 1) staged[count_bits(kept & bits_below(place))] = walk.base[walk.next + place];
    lanes.sync();
    const std::uint32_t last = search.last();
    const bool written = write_rows(lanes, stream_, search.plan().root(search.root()), count_bits(kept),
                                    last + 1, [&](std::uint32_t row, std::uint32_t level) {
                                      return level == last ? staged[row] : search.vertex(level);
                                    });
    lanes.sync();  // the rows are read before the next staging
    return written;
  }

  const Stream& stream_;
  match::Counting<Lanes> counting_;
  bool stopped_ = false;
};

}  // namespace motiflux::streaming
