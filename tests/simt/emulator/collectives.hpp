// What a warp's collectives give, once all lanes of the mask have come.
#pragma once

#include <cstdint>
#include <cstring>

#include "interface.hpp"

namespace motiflux_simt {

constexpr unsigned kLanes = 32;

inline const char* name(Kind kind) {
  switch (kind) {
    case Kind::syncwarp:
      return "__syncwarp";
    case Kind::ballot:
      return "__ballot_sync";
    case Kind::any:
      return "__any_sync";
    case Kind::all:
      return "__all_sync";
    case Kind::match_any:
      return "__match_any_sync";
    case Kind::shfl:
      return "__shfl_sync";
    case Kind::shfl_up:
      return "__shfl_up_sync";
    case Kind::shfl_down:
      return "__shfl_down_sync";
    case Kind::shfl_xor:
      return "__shfl_xor_sync";
    case Kind::reduce_add:
      return "__reduce_add_sync";
    case Kind::reduce_min_signed:
      return "__reduce_min_sync(int)";
    case Kind::reduce_min_unsigned:
      return "__reduce_min_sync(unsigned)";
    case Kind::reduce_max_signed:
      return "__reduce_max_sync(int)";
    case Kind::reduce_max_unsigned:
      return "__reduce_max_sync(unsigned)";
    case Kind::reduce_and:
      return "__reduce_and_sync";
    case Kind::reduce_or:
      return "__reduce_or_sync";
    case Kind::reduce_xor:
      return "__reduce_xor_sync";
  }
  return "?";
}

inline bool is_shuffle(Kind kind) {
  return kind >= Kind::shfl && kind <= Kind::shfl_xor;
}

// What each lane brought, and what it takes away.
struct Exchange {
  Call calls[kLanes];
  std::uint64_t results[kLanes];
};

template <class Visit>
void for_lanes(std::uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<unsigned>(__builtin_ctz(mask)));
}

// The lane that a shuffle reads, as PTX defines `shfl.sync`: five bits of the operand count, and where they
// point out of the lane's segment of `width` lanes, it reads itself.
inline unsigned source_lane(const Call& call, unsigned lane) {
  const auto width = static_cast<unsigned>(call.width);
  const unsigned first = lane & ~(width - 1);
  const unsigned last = first + width - 1;
  const unsigned operand = call.operand & 31U;
  switch (call.kind) {
    case Kind::shfl:
      return first | (operand & (width - 1));
    case Kind::shfl_up:
      return lane >= first + operand ? lane - operand : lane;
    case Kind::shfl_down:
      return lane + operand <= last ? lane + operand : lane;
    default:
      return (lane ^ operand) <= last ? lane ^ operand : lane;
  }
}

inline std::uint64_t reduce(Kind kind, std::uint64_t left, std::uint64_t right) {
  const auto a = static_cast<std::uint32_t>(left);
  const auto b = static_cast<std::uint32_t>(right);
  const bool less = kind == Kind::reduce_min_signed || kind == Kind::reduce_max_signed
                        ? static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b)
                        : a < b;
  switch (kind) {
    case Kind::reduce_add:
      return a + b;
    case Kind::reduce_min_signed:
    case Kind::reduce_min_unsigned:
      return less ? a : b;
    case Kind::reduce_max_signed:
    case Kind::reduce_max_unsigned:
      return less ? b : a;
    case Kind::reduce_and:
      return a & b;
    case Kind::reduce_or:
      return a | b;
    default:
      return a ^ b;
  }
}

// Lanes that brought the same value get the same set of lanes.
inline void match(Exchange& exchange, std::uint32_t mask) {
  for_lanes(mask, [&](unsigned lane) {
    std::uint32_t equal = 0;
    for_lanes(mask, [&](unsigned other) {
      equal |= std::uint32_t{exchange.calls[other].value == exchange.calls[lane].value} << other;
    });
    exchange.results[lane] = equal;
  });
}

inline std::uint64_t vote_or_reduce(const Exchange& exchange, Kind kind, std::uint32_t mask) {
  std::uint32_t yes = 0;
  for_lanes(mask, [&](unsigned lane) { yes |= std::uint32_t{exchange.calls[lane].value != 0} << lane; });
  if (kind == Kind::ballot) return yes;
  if (kind == Kind::any) return yes != 0;
  if (kind == Kind::all) return yes == mask;
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  std::uint64_t total = exchange.calls[first].value;
  for_lanes(mask & (mask - 1),
            [&](unsigned lane) { total = reduce(kind, total, exchange.calls[lane].value); });
  return total;
}

// Fills the results of all lanes of the mask. Where a lane reads one outside of it, returns that lane; else
// -1.
inline int resolve(Exchange& exchange, Kind kind, std::uint32_t mask) {
  if (kind == Kind::syncwarp) return -1;
  if (kind == Kind::match_any) {
    match(exchange, mask);
    return -1;
  }
  if (is_shuffle(kind)) {
    int wrong = -1;
    for_lanes(mask, [&](unsigned lane) {
      const unsigned source = source_lane(exchange.calls[lane], lane);
      if ((mask >> source & 1U) == 0) wrong = static_cast<int>(lane);
      exchange.results[lane] = exchange.calls[source].value;
    });
    return wrong;
  }
  const std::uint64_t result = vote_or_reduce(exchange, kind, mask);
  for_lanes(mask, [&](unsigned lane) { exchange.results[lane] = result; });
  return -1;
}

}  // namespace motiflux_simt
