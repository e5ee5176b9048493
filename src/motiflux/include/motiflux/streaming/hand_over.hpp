// Updates become works of executors: once their rows have memory, once they are published, or early.
//
//   early    received, handed over | those before are published: searched | has memory: answered
//   else     received | rows have memory: handed over | published: searched, answered
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/streaming/answers.hpp"
#include "motiflux/streaming/lines.hpp"
#include "motiflux/streaming/shortcuts.hpp"
#include "motiflux/streaming/updater.hpp"

namespace motiflux::streaming {

namespace detail {

// Instead of the ticket of a work: the update is done when it is published.
inline constexpr std::uint64_t kNoSearch = kNoTicket - 1;

// The plans of the kind that updates had before: most have the same one. Kinds do not change while the kernel
// runs.
struct KnownPlans {
  std::uint32_t of = ~std::uint32_t{0};
  std::uint32_t begin = 0, count = 0;
  std::uint32_t plan = 0, listed = 0;  // of the only one
  bool is_root = false;                // whether that one is searched

  MOTIFLUX_DEVICE void know(const Stream& stream, std::uint32_t kind) {
    if (kind == of) return;
    of = kind;
    begin = stream.first_plan(kind);
    count = stream.end_plan(kind) - begin;
    is_root = false;
    if (count != 1) return;
    plan = stream.plans[begin];
    listed = stream.listed[plan];
    is_root = stream.plan.plans[plan].level_count > kPair;
  }
};

// The same of updates that may be handed over early.
struct KnownEarly : KnownPlans {
  Early early = Early::kNot;  // the least of all plans

  MOTIFLUX_DEVICE void know(const Stream& stream, std::uint32_t kind) {
    if (kind == of) return;
    KnownPlans::know(stream, kind);
    early = count != 0 ? Early::kOfPair : Early::kNot;
    for (std::uint32_t number = begin; number < begin + count; ++number) {
      const auto of_plan = static_cast<Early>(stream.early[stream.plans[number]]);
      if (of_plan < early) early = of_plan;
    }
  }
};

// Whether an update has work: it concerns a plan and has an effect.
MOTIFLUX_DEVICE bool has_work(const Stream& stream, const Update& update, std::uint64_t moment,
                              const KnownPlans& plans) {
  if (plans.count == 0) return false;
  return (update.inserts & Update::kJudged) != 0 ||
         static_cast<Effect>(stream.graph.stages.slot(moment).effect) != Effect::kNone;
}

// Writes the work of an update, which is to be handed over; `early` and `awaited`: as of Work.
MOTIFLUX_DEVICE void write_work(const Stream& stream, const Update& update, std::uint64_t moment,
                                const KnownPlans& plans, std::uint64_t ticket, bool early,
                                std::uint64_t awaited) {
  device::device_wide(stream.parts[stream.slot_of(moment)]).store(1u, device::Order::kRelaxed);
  Work& work = stream.work.of(ticket);
  work.kind = static_cast<std::uint32_t>(plans.is_root ? WorkKind::kRoot : WorkKind::kUpdate);
  work.moment = moment;
  work.plans = plans.begin;
  work.count = plans.count;
  work.early = early ? 1 : 0;
  work.awaited = awaited;
  match::UpdateRoot& root = work.root;
  root.vertices[0] = update.source;
  root.vertices[1] = update.target;
  root.listed = (update.is_insertion() ? kAppears : 0) << 1 | (early ? match::kReadsBefore : 0);
  if (!plans.is_root) return;
  root.plan = plans.plan;
  root.number = 0;
  root.moment = moment;
  root.slot = stream.total_of(moment, 0);
  root.listed |= plans.listed;
}

// Writes the work of an update; returns its ticket, or kNoSearch if it has none. kNoTicket: the kernel ends.
MOTIFLUX_DEVICE std::uint64_t open_update(const Stream& stream, const Update& update, std::uint64_t moment) {
  KnownPlans plans;
  plans.know(stream, update.of);
  if (!has_work(stream, update, moment, plans)) return kNoSearch;
  const std::uint64_t ticket = open_work(stream.work, 1);
  if (!wait_for_place(stream.work, stream.graph.stages, ticket)) return kNoTicket;
  write_work(stream, update, moment, plans, ticket, false, moment);
  return ticket;
}

// The next tickets, as a group expects them, and whether the lane's place is free: then it is if that is the
// ticket that the lane gets.
struct ExpectedTicket {
  std::uint64_t ticket = kNoTicket;

  template <class Lanes>
  MOTIFLUX_DEVICE void look(const Lanes& lanes, const Stream& stream, bool has_update) {
    std::uint64_t first = 0;
    if (lanes.leads()) first = device::device_wide(stream.work.counts->issued).load(device::Order::kRelaxed);
    ticket = lanes.broadcast(first) + count_bits(lanes.ballot(has_update) & bits_below(lanes.lane()));
    if (!has_update || !is_free(stream.work, ticket)) ticket = kNoTicket;
  }
};

// The same as open_update for the updates of a group's lanes.
template <class Lanes>
MOTIFLUX_DEVICE std::uint64_t open_updates(const Lanes& lanes, const Stream& stream, const Update& update,
                                           std::uint64_t moment, bool has_update, const KnownPlans& plans,
                                           const ExpectedTicket& expected) {
  const bool works = has_update && has_work(stream, update, moment, plans);
  const std::uint32_t working = lanes.ballot(works);
  std::uint64_t first = 0;
  if (lanes.leads() && working != 0) first = open_work(stream.work, count_bits(working));
  const std::uint64_t ticket = lanes.broadcast(first) + count_bits(working & bits_below(lanes.lane()));
  if (!has_update) return kNoTicket;
  if (!works) return kNoSearch;
  if (ticket != expected.ticket && !wait_for_place(stream.work, stream.graph.stages, ticket))
    return kNoTicket;
  write_work(stream, update, moment, plans, ticket, false, moment);
  return ticket;
}

// Ends an update that has no work, once it is published.
MOTIFLUX_DEVICE void finish_without_work(const Stream& stream, std::uint64_t moment) {
  if (stream.lines != nullptr) write_empty_line(stream, moment);
  finish(stream.graph.stages, moment);
}

// Hands published updates to executors. `first`: the moment of the first; `early`: those that they have
// already, as bits.
template <class Team>
MOTIFLUX_DEVICE void issue_updates(const Team& team, const Stream& stream, const Update* updates,
                                   std::uint64_t first, std::uint32_t count, std::uint64_t begun,
                                   std::uint64_t early) {
  const std::uint64_t published = stamp_now();
  for_each(team, count, [&](std::uint32_t i) {
    const std::uint64_t moment = first + i;
    stream.stamp(moment, Stamp::kBegun, begun);
    stream.stamp(moment, Stamp::kPublished, published);
    if ((early >> i & 1) != 0) return;
    const std::uint64_t ticket = open_update(stream, updates[i], moment);
    if (ticket == kNoTicket) return;
    if (ticket == kNoSearch) return finish_without_work(stream, moment);
    issue_work(stream.work, ticket);
    stream.stamp(moment, Stamp::kIssued, stamp_now());
  });
  team.sync();
}

// Whether updates of lanes before have an end of the lane's one; `count` lanes have updates.
template <class Lanes>
MOTIFLUX_DEVICE bool shares_end(const Lanes& lanes, const Update& own, std::uint32_t count) {
  bool shares = false;
  for (std::uint32_t other = 0; other + 1 < count; ++other) {
    const std::uint32_t source = lanes.broadcast(own.source, other);
    const std::uint32_t target = lanes.broadcast(own.target, other);
    const bool is_common =
        source == own.source || source == own.target || target == own.source || target == own.target;
    shares |= lanes.lane() > other && is_common;
  }
  return shares;
}

// Hands those updates over before they are written and published whose searches may begin as soon as the ones
// before all of these are published. `first`: the moment of the first; `awaited`: the one before, or 0 if it
// is published; `free_until`: as of UpdaterPlace. Called by all lanes of the warp that issues.
template <class Lanes>
MOTIFLUX_DEVICE_CALL void hand_over_early(const Lanes& lanes, const Stream& stream, Pending& pending,
                                          EarlySearches& searches, std::uint64_t first, std::uint64_t awaited,
                                          std::uint64_t free_until, KnownEarly& plans,
                                          const ExpectedTicket& expected) {
  if constexpr (!kSearchesEarly) return;
  const std::uint32_t written = pending.written, lane = lanes.lane();
  const std::uint32_t count =
      pending.count - written < Lanes::kLanes ? pending.count - written : Lanes::kLanes;
  if (count == 0) return;
  const Update update = pending.updates[written + (lane < count ? lane : 0)];
  plans.know(stream, update.of);
  const bool shares = count > 1 && shares_end(lanes, update, count);
  const std::uint64_t before = pending.early_unwritten();
  const Early early = lane != 0 && shares ? Early::kNot : plans.early;
  const bool fits = lane < count && (before >> lane & 1) == 0 && first + lane <= free_until &&
                    (update.inserts & Update::kJudged) != 0 && update.source != update.target &&
                    early >= (lane == 0 ? Early::kNext : Early::kOfPair);
  // Groups that wait for their updates to be published leave some for those that the updater waits for.
  const std::uint32_t groups = (gridDim.x - 1) * (blockDim.x / Lanes::kLanes) - kCollectorWarps;
  const std::uint32_t waiting =
      count_bits(static_cast<std::uint32_t>(before)) + count_bits(static_cast<std::uint32_t>(before >> 32));
  const std::uint32_t fitting = lanes.ballot(fits), number = count_bits(fitting & bits_below(lane));
  const std::uint32_t given = lanes.ballot(fits && waiting + number < groups / 2);
  if (given == 0) return;
  lanes.sync();  // all have read what is noted now
  std::uint64_t ticket = 0;
  if (lanes.leads()) {
    ticket = open_work(stream.work, count_bits(given));
    pending.early |= std::uint64_t{given} << written;
    searches.begun += count_bits(given);
  }
  ticket = lanes.broadcast(ticket) + number;
  const bool has_place =
      (given >> lane & 1) != 0 &&
      (ticket == expected.ticket || wait_for_place(stream.work, stream.graph.stages, ticket));
  if (has_place) {
    write_work(stream, update, first + lane, plans, ticket, true, awaited);
    issue_work(stream.work, ticket);
    stream.stamp(first + lane, Stamp::kIssued, stamp_now());
  }
  lanes.sync();
}

}  // namespace detail

}  // namespace motiflux::streaming
