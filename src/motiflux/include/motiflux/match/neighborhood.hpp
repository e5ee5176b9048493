// The greater neighbours of one vertex (members), and the edges among them as bits.
//
//   | begins, lengths: of each member's row | keys, ranks: a table | bits: a row for each member |
//
// The table, with open addressing, finds a vertex's place among the members. Bit r of row i: member r, which
// is greater than member i, is in the row of member i.
//
// A team of threads builds it and reads it: a warp, or a block. The caller gives the memory, shared or not.
#pragma once

#include "motiflux/device/atomic_ref.hpp"
#include "motiflux/lanes/group.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::match {

using Warp = lanes::Group<32>;

// The threads of one warp.
struct WarpTeam {
  Warp warp;

  static MOTIFLUX_DEVICE std::uint32_t size() { return 32; }
  MOTIFLUX_DEVICE std::uint32_t place() const { return warp.lane(); }
  MOTIFLUX_DEVICE void sync() const { warp.sync(); }
  // A barrier that returns whether `yes` is true for any thread.
  MOTIFLUX_DEVICE bool any(bool yes) const {
    warp.sync();  // a vote orders no memory
    return warp.ballot(yes) != 0;
  }
};

// All threads of a block.
struct BlockTeam {
  static MOTIFLUX_DEVICE std::uint32_t size() { return blockDim.x; }
  static MOTIFLUX_DEVICE std::uint32_t place() { return threadIdx.x; }
  static MOTIFLUX_DEVICE void sync() { __syncthreads(); }
  static MOTIFLUX_DEVICE bool any(bool yes) { return __syncthreads_or(yes) != 0; }
};

class Neighborhood {
 public:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  MOTIFLUX_DEVICE Neighborhood(unsigned char* memory, std::uint32_t size)
      : size_(size), words_((size + 31) / 32), stride_(words_ | 1) {
    while ((1u << log_) < size + size / 2) ++log_;
    begins_ = reinterpret_cast<std::uint64_t*>(memory);
    lengths_ = reinterpret_cast<std::uint32_t*>(begins_ + size);
    keys_ = lengths_ + size;
    ranks_ = reinterpret_cast<std::uint16_t*>(keys_ + capacity());
    bits_ = reinterpret_cast<std::uint32_t*>(ranks_ + capacity());
  }

  MOTIFLUX_DEVICE std::uint32_t size() const { return size_; }
  MOTIFLUX_DEVICE std::uint32_t words() const { return words_; }
  MOTIFLUX_DEVICE std::uint64_t begin(std::uint32_t i) const { return begins_[i]; }
  MOTIFLUX_DEVICE std::uint32_t length(std::uint32_t i) const { return lengths_[i]; }

  // Members that may follow member i, as bits. Rows are an odd number of words apart: lanes that each read a
  // word of neighbouring rows have no bank conflicts in shared memory.
  MOTIFLUX_DEVICE std::uint32_t* row(std::uint32_t i) const { return bits_ + i * stride_; }

  // Enters the members, whose neighbours find_links() will look for in `rows`, and clears the rows of bits if
  // requested. Precondition: a barrier of the team after the last read of the memory's old contents.
  template <class Team>
  MOTIFLUX_DEVICE void open(const Team& team, const std::uint32_t* members, const view::Adjacency& rows,
                            bool bits) {
    for (std::uint32_t slot = team.place(); slot < capacity(); slot += Team::size()) keys_[slot] = kNowhere;
    if (bits)
      for (std::uint32_t word = team.place(); word < size_ * stride_; word += Team::size()) bits_[word] = 0;
    team.sync();
    for (std::uint32_t rank = team.place(); rank < size_; rank += Team::size()) {
      const std::uint32_t member = members[rank];
      begins_[rank] = rows.first(member);
      lengths_[rank] = static_cast<std::uint32_t>(rows.degree(member));
      enter(member, rank);
    }
    team.sync();
  }

  // A vertex's place among the members, or kNowhere.
  MOTIFLUX_DEVICE std::uint32_t find(std::uint32_t vertex) const {
    for (std::uint32_t slot = first_slot(vertex);; slot = (slot + 1) & (capacity() - 1)) {
      const std::uint32_t key = keys_[slot];
      if (key == vertex) return ranks_[slot];
      if (key == kNowhere) return kNowhere;
    }
  }

  // Looks for members in the rows of members first, first + step, ...: visit(i, rank) for each member in the
  // row of member i. Eight threads per row, since most rows are short, each with several loads in flight.
  // Ends with a barrier; false if stops(), which each thread calls every kTurnsPerCheck turns, told any
  // thread to stop.
  template <class Team, class Visit, class Stops>
  MOTIFLUX_DEVICE bool find_links(const Team& team, const view::Adjacency& rows, std::uint32_t first,
                                  std::uint32_t step, Visit&& visit, Stops&& stops) const {
    std::uint32_t turns = 0;
    bool whole = true;
    const std::uint32_t stride = Team::size() / kRowThreads * step;
    for (std::uint32_t i = first + team.place() / kRowThreads * step; i < size_ && whole; i += stride) {
      const std::uint64_t begin = begins_[i];
      const std::uint32_t length = lengths_[i];
      for (std::uint32_t at = team.place() % kRowThreads; at < length; at += kRowThreads * kLoadsInFlight) {
        if (++turns % kTurnsPerCheck == 0 && stops()) {
          whole = false;
          break;
        }
        std::uint32_t found[kLoadsInFlight];
#pragma unroll
        for (std::uint32_t way = 0; way < kLoadsInFlight; ++way) {
          const std::uint32_t place = at + way * kRowThreads;
          found[way] = place < length ? *rows.at(begin + place) : kNowhere;
        }
#pragma unroll
        for (std::uint32_t way = 0; way < kLoadsInFlight; ++way) {
          if (found[way] == kNowhere) continue;
          const std::uint32_t rank = find(found[way]);
          if (rank != kNowhere) visit(i, rank);
        }
      }
    }
    return !team.any(!whole);
  }

  MOTIFLUX_DEVICE void link(std::uint32_t i, std::uint32_t rank) const {
    auto word = device::block_wide(row(i)[rank / 32]);
    word.fetch_or(std::uint32_t{1} << rank % 32, device::Order::kRelaxed);
  }

 private:
  static constexpr std::uint32_t kRowThreads = 8;
  static constexpr std::uint32_t kLoadsInFlight = 4;
  static constexpr std::uint32_t kTurnsPerCheck = 512;  // about half a millisecond: 16,384 neighbours

  MOTIFLUX_DEVICE std::uint32_t capacity() const { return 1u << log_; }

  MOTIFLUX_DEVICE std::uint32_t first_slot(std::uint32_t vertex) const {
    return (vertex * 2654435769u) >> (32 - log_);  // Fibonacci hashing: neighbouring ids are spread
  }

  MOTIFLUX_DEVICE void enter(std::uint32_t vertex, std::uint32_t rank) const {
    for (std::uint32_t slot = first_slot(vertex);; slot = (slot + 1) & (capacity() - 1)) {
      std::uint32_t found = kNowhere;
      do {
        if (device::block_wide(keys_[slot]).compare_exchange(found, vertex, device::Order::kRelaxed)) {
          ranks_[slot] = static_cast<std::uint16_t>(rank);
          return;
        }
      } while (found == kNowhere);  // the exchange failed spuriously
    }
  }

  std::uint32_t size_, words_, stride_;
  std::uint32_t log_ = 5;  // of the capacity
  std::uint64_t* begins_;
  std::uint32_t* lengths_;
  std::uint32_t* keys_;
  std::uint16_t* ranks_;
  std::uint32_t* bits_;
};

}  // namespace motiflux::match
