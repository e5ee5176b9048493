// The resident kernel: it stays on the device, and its warps have roles (DCSM 1.3).
//
//   block 0    updater      its warps write batches together; the last one receives updates meanwhile
//   block 1    collector    its first two warps: one finds what is finished, and tells the host; one frees
//   others     executors    a group of lanes each; so are the other warps of block 1
//
//   host -> lines -> updater -> work list -> executors -> lines, output ring -> host
//                       ^                        |
//                       +------- collector <-----+      frees versions and slots of updates
//
// No role waits without looking at the flag to stop, which the collector copies from the host's memory, and
// the updater sets when the kernel is parked: all that was published is done and collected then.
#pragma once

#if !defined(MOTIFLUX_VERSIONS)
#define MOTIFLUX_VERSIONS  // where this header is compiled alone
#endif

#include "motiflux/streaming/answering.hpp"
#include "motiflux/streaming/collecting.hpp"
#include "motiflux/streaming/executor.hpp"
#include "motiflux/streaming/hand_over.hpp"
#include "motiflux/streaming/lines.hpp"
#include "motiflux/streaming/list_few.hpp"
#include "motiflux/streaming/prepare_few.hpp"
#include "motiflux/streaming/receive.hpp"
#include "motiflux/streaming/search_tables.hpp"
#include "motiflux/streaming/team.hpp"
#include "motiflux/streaming/write_few.hpp"

namespace motiflux::streaming {

namespace detail {

// What the updater does next.
enum class Next : std::uint32_t { kWrite, kReceive, kWait, kLeave };

// Decided by one thread. `asks`: whether to look at the flags of the host and of the kernel.
MOTIFLUX_DEVICE Next next_of_updater(const Stream& stream, const Pending& pending, bool asks, bool& parks) {
  const Stages& stages = stream.graph.stages;
  if (asks && must_stop(stages)) return Next::kLeave;
  if (pending.written < pending.count && pending.reason == 0) return Next::kWrite;
  if (asks) parks = is_asked(stages.progress->parks);
  if (!parks && pending.reason == 0) return Next::kReceive;
  begin(stages, published(stages));  // no early search reads
  if (!is_all_collected(stages, published(stages))) return Next::kWait;
  end_stream(stream, End::kParked);
  return Next::kLeave;
}

// Most batches are in shared memory; those of updates that change more rows are not.
#if defined(MOTIFLUX_CHECKS_VERSIONS)
inline constexpr std::uint32_t kFewChanges = 4;  // so that tests have both
#else
inline constexpr std::uint32_t kFewChanges = 128;
#endif

// Of the updater, in shared memory.
struct UpdaterMemory {
  Pending pending;
  KeptBlocks kept;
  BatchAnywhere batch;
  BatchOf<kFewChanges> few;  // the memory of most batches
  FewChanges listed[2];      // the batch that is written, and the next one
  FewRows rows;              // of the first
  RowSlots slots;
  KnownKinds kinds;
  EarlySearches searches;
  std::uint64_t help;        // the first ticket of groups that are asked to help,
  std::uint32_t helpers;     // and how many are
  std::uint32_t looks;       // how often updates were received while a batch was written, or not to be
  std::uint32_t hands_over;  // whether some were, the last time
  std::uint32_t parks;       // whether no further update is to be received
};

// The one of the block. Functions that are not inlined ask for it, too: what they get by reference might be
// any memory.
MOTIFLUX_DEVICE UpdaterMemory& updater_memory() {
  __shared__ UpdaterMemory memory;
  return memory;
}

// Asks groups that wait for work to copy strips of long rows; each copies as many as it finds.
struct AskGroups {
  const Stream& stream;

  template <class Team>
  MOTIFLUX_DEVICE void operator()(const Team& team, std::uint32_t strips) const {
    UpdaterMemory& memory = updater_memory();
    if (team.thread() == 0) {
      std::uint64_t count = waiting_groups(stream.work);
      if (count > strips) count = strips;
      if (count > stream.most_helpers) count = stream.most_helpers;
      memory.helpers = static_cast<std::uint32_t>(count);
      if (count != 0) memory.help = open_work(stream.work, memory.helpers);
    }
    team.sync();
    for_each(team, memory.helpers, [&](std::uint32_t i) {
      const std::uint64_t ticket = memory.help + i;
      if (!wait_for_place(stream.work, stream.graph.stages, ticket)) return;
      Work& work = stream.work.of(ticket);
      work.kind = static_cast<std::uint32_t>(WorkKind::kCopy);
      work.moment = 0;
      issue_work(stream.work, ticket);
    });
  }
};

// The last moment that is published, and one up to which slots of updates are free, in all threads.
struct UpdaterPlace {
  std::uint64_t published, free_until;
  KnownPlans plans;         // of each lane of the warp that issues
  KnownEarly early_plans;   // likewise
  std::uint32_t turn = 0;   // the number of the batch in `listed`
  std::uint32_t looks = 0;  // as of UpdaterMemory
};

// What a warp of the updater does while batches of few changes are written.
struct UpdaterRoles {
  std::uint32_t warp, writers;  // the first warps write rows
  bool writes, issues, receives, fills;

  // Of few warps, one has several roles.
  MOTIFLUX_DEVICE UpdaterRoles(std::uint32_t warp, std::uint32_t warps)
      : warp(warp),
        writers(warps >= 8 ? warps - 3 : (warps >= 4 ? warps - 2 : (warps >= 2 ? warps - 1 : 1))),
        writes(warp < writers),
        issues(warp == (warps >= 4 ? warps - 2 : warps - 1)),
        receives(warp == warps - 1),
        fills(warp == (warps >= 8 ? warps - 3 : warps - 1)) {}

  // The most changes of a batch: all writers have as many rows.
  MOTIFLUX_DEVICE std::uint32_t most_changes() const {
    const std::uint32_t at_once = kRowsOfWarp * writers,
                        most = kFewChanges < kMostFew ? kFewChanges : kMostFew;
    return at_once < most ? most / at_once * at_once : most;
  }
};

// Whether a row that is changed again has left so few updates to a listed batch that all that wait are to be
// sorted. `most`: changes that it has room for. Called by one lane.
MOTIFLUX_DEVICE bool is_short(const Stream& stream, const FewChanges& listed, std::uint32_t waiting,
                              std::uint32_t most) {
  return 2 * listed.count <= most && stream.sorted_share != 0 &&
         listed.updates * stream.sorted_share <= waiting;
}

// Lists the next batch of few changes of those that are pending; called by the warp that receives. None is
// listed if a row that is changed again leaves few updates to it, while many wait: they are sorted.
template <class Lanes>
MOTIFLUX_DEVICE_CALL void list_next(const Lanes& lanes, const Stream& stream, std::uint32_t most,
                                    std::uint32_t turn) {
  UpdaterMemory& memory = updater_memory();
  const Pending& pending = memory.pending;
  FewChanges& next = memory.listed[turn];
  const std::uint32_t written = pending.written, count = pending.count - written;
  if (kWritesFew && count != 0)
    list_few(lanes, stream.graph, pending.updates + written, count, most, memory.kinds, memory.slots, next);
  lanes.sync();
  const bool lists = kWritesFew && count != 0;
  if (lanes.leads() && (!lists || is_short(stream, next, count, most))) next.updates = 0;
  lanes.sync();
}

// Whether the updater is to look for other things than the next batch; called by one thread.
MOTIFLUX_DEVICE bool is_to_look_up(const Stream& stream, UpdaterMemory& memory, bool asks) {
  if (memory.pending.reason != 0) return true;
  if (!asks) return memory.parks != 0;
  if (is_asked(stream.graph.stages.progress->parks)) memory.parks = 1;
  return memory.parks != 0 || must_stop(stream.graph.stages);
}

using ListedBatch = FewBatch<BatchOf<kFewChanges>>;

// The batch that is listed with a number; `first`: the moment of its first update.
MOTIFLUX_DEVICE ListedBatch listed_batch(std::uint32_t turn, std::uint64_t first) {
  UpdaterMemory& memory = updater_memory();
  return {memory.listed[turn], memory.rows, memory.few, first, memory.batch.times};
}

// prepare_few and write_few of a listed batch: called, so that their registers are their own.
template <bool alone, class Lanes>
MOTIFLUX_DEVICE_CALL void prepare_listed(const Lanes& lanes, const Stream& stream, std::uint32_t turn,
                                         std::uint64_t first, std::uint32_t warp, std::uint32_t warps) {
  UpdaterMemory& memory = updater_memory();
  ListedBatch batch = listed_batch(turn, first);
  prepare_few<alone>(lanes, warp, warps, stream.graph, memory.listed[turn].updates_of_batch, batch,
                     memory.kept);
}

template <class Lanes>
MOTIFLUX_DEVICE_CALL void write_prepared(const Lanes& lanes, const Stream& stream, std::uint32_t turn,
                                         std::uint64_t first, std::uint32_t warp, std::uint32_t warps) {
  ListedBatch batch = listed_batch(turn, first);
  write_few(lanes, warp, warps, stream.graph, batch);
}

// Tells the warp that issues that updates were received for the `looks`-th time, or were not to be.
template <class Lanes>
MOTIFLUX_DEVICE void tell_received(const Lanes& lanes, UpdaterMemory& memory, std::uint32_t looks,
                                   bool hands_over) {
  lanes.sync();
  if (!lanes.leads()) return;
  memory.hands_over = hands_over ? 1 : 0;
  device::block_wide(memory.looks).store(looks, device::Order::kRelease);
}

// Waits for that; whether updates may be handed over. The other warp waits for nobody meanwhile.
template <class Lanes>
MOTIFLUX_DEVICE bool has_received(const Lanes& lanes, UpdaterMemory& memory, std::uint32_t looks) {
  if (lanes.leads())
    while (device::block_wide(memory.looks).load(device::Order::kAcquire) != looks) __nanosleep(20);
  lanes.sync();
  return memory.hands_over != 0;
}

// While rows are prepared: fetches blocks, if some are missing at hand.
template <class Lanes>
MOTIFLUX_DEVICE_CALL void fetch_blocks(const Lanes& lanes, const Stream& stream) {
  UpdaterMemory& memory = updater_memory();
  const std::uint64_t step = begin_step();
  if (kFetchesBlocks && memory.kept.is_short(lanes, stream.graph.pool, 3))
    memory.kept.fetch(lanes, stream.graph.pool);
  end_step(lanes, memory.batch, Step::kFetched, step);
}

// When rows are prepared: adds these blocks, and new ones, if few are left.
template <class Lanes>
MOTIFLUX_DEVICE_CALL void add_blocks(const Lanes& lanes, const Stream& stream) {
  UpdaterMemory& memory = updater_memory();
  const std::uint64_t step = begin_step();
  if (kFetchesBlocks)
    memory.kept.add_fetched(lanes, stream.graph.pool);
  else if (memory.kept.is_short(lanes, stream.graph.pool, 1))
    memory.kept.fill(lanes, stream.graph.pool);
  end_step(lanes, memory.batch, Step::kFilled, step);
}

// Writes batches of few changes, as long as one is listed; `goes_on` becomes false if the kernel ends.
// Returns whether any was written.
//
//   rows are prepared   | lines of updates are asked for; the batch before is handed over
//   rows are written    | works are handed over; the next batch is received, listed and handed over
template <class Team, class Lanes>
MOTIFLUX_DEVICE_CALL bool write_listed(const Team& team, const Lanes& lanes, const UpdaterRoles& roles,
                                       const Stream& stream, UpdaterPlace& place, bool& goes_on) {
  constexpr std::uint32_t kTurnsOfHost = 8;  // between looks at flags
  UpdaterMemory& memory = updater_memory();
  Pending& pending = memory.pending;
  std::uint64_t begun = stamp_now();
  bool any = false;
  for (std::uint32_t turn = 1;; ++turn) {
    FewChanges& listed = memory.listed[place.turn];
    if (listed.updates == 0) return any;
    const std::uint64_t before = place.published, last = before + listed.updates;
    goes_on = wait_for_slots(team, stream.graph.stages, memory.batch, last, place.free_until);
    if (!goes_on) return any;
    end_step(team, memory.batch, Step::kRoom);
    ListedBatch batch = listed_batch(place.turn, before + 1);
    std::uint64_t step = begin_step();
    if (roles.writes && listed.count <= roles.writers)
      prepare_listed<true>(lanes, stream, place.turn, before + 1, roles.warp, roles.writers);
    else if (roles.writes)
      prepare_listed<false>(lanes, stream, place.turn, before + 1, roles.warp, roles.writers);
    if (roles.warp == 0) end_step(lanes, batch, Step::kPrepared, step);
    const auto early = static_cast<std::uint32_t>(pending.early_unwritten());  // executors have these already
    const bool has_update = roles.issues && lanes.lane() < listed.updates;
    const bool opens = has_update && (early >> lanes.lane() & 1) == 0;
    const std::uint64_t moment = before + 1 + lanes.lane();
    ExpectedTicket expected;
    if (roles.issues) {
      if (lanes.leads()) begin_ahead(stream.graph.stages, memory.searches, last);
      if (opens) place.plans.know(stream, listed.updates_of_batch[lanes.lane()].of);
      expected.look(lanes, stream, opens);
    }
    NextLines<Lanes> lines{};
    bool asked = false;
    if (roles.receives) {
      const std::uint32_t rest = pending.count - pending.written - listed.updates;
      asked = has_room_for_next<Lanes>(stream, rest) && memory.parks == 0;
      if (asked) lines.ask(lanes, stream, pending.received + 1);
    }
    if (roles.fills) fetch_blocks(lanes, stream);
    team.sync();
    end_step(team, batch, Step::kReserve);
    if (roles.fills) add_blocks(lanes, stream);
    if (batch.failed != 0 || batch.too_long != 0) {
      if (roles.issues && lanes.leads()) begin_ahead(stream.graph.stages, memory.searches, before);
      give_back_few(team, stream.graph, batch);
      return any;
    }
    step = begin_step();
    if (roles.writes) write_prepared(lanes, stream, place.turn, before + 1, roles.warp, roles.writers);
    if (roles.warp == 0) end_step(lanes, batch, Step::kWritten, step);
    std::uint64_t ticket = kNoTicket;
    ++place.looks;
    if (roles.issues) {
      if (lanes.leads()) commit(stream.graph.stages, last);
      ticket = open_updates(lanes, stream, listed.updates_of_batch[lanes.lane()], moment, opens, place.plans,
                            expected);
      if (ticket != kNoTicket && ticket != kNoSearch) issue_work(stream.work, ticket);
      end_step(lanes, batch, Step::kOpened, step);
    }
    if (roles.receives) {
      FewChanges& next = memory.listed[1 - place.turn];
      lanes.sync();
      if (lanes.leads()) pending.written += listed.updates;
      const bool looks_up =
          lanes.ballot(lanes.leads() && is_to_look_up(stream, memory, turn % kTurnsOfHost == 0)) != 0;
      lanes.sync();
      receive_next(lanes, stream, pending, lines, asked && !looks_up);
      tell_received(lanes, memory, place.looks, !looks_up);
      if (looks_up) {
        if (lanes.leads()) next.updates = 0;
      } else {
        list_next(lanes, stream, roles.most_changes(), 1 - place.turn);
      }
      end_step(lanes, batch, Step::kListed, step);
    }
    if (roles.issues) {
      ExpectedTicket next;
      next.look(lanes, stream, true);
      if (has_received(lanes, memory, place.looks))
        hand_over_early(lanes, stream, pending, memory.searches, last + 1, last, place.free_until,
                        place.early_plans, next);
      end_step(lanes, batch, Step::kHandedOver, step);
    }
    team.sync();
#if defined(MOTIFLUX_CHECKS_VERSIONS)
    check_batch(team, stream.graph, batch);
#endif
    end_step(team, batch, Step::kInstall);
    // Executors have the updates already, and wait until they are published.
    const std::uint64_t published = stamp_now();
#if defined(MOTIFLUX_STAGE_TIMES)
    lanes.sync();  // no lane looks at the clock after its batch is published
#endif
    if (roles.issues && lanes.leads()) publish(stream.graph.stages, last);
    lanes.sync();
    if (has_update) {
      if (ticket == kNoSearch) finish_without_work(stream, moment);
      stream.stamp(moment, Stamp::kBegun, begun);
      stream.stamp(moment, Stamp::kPublished, published);
      if (opens) stream.stamp(moment, Stamp::kIssued, stamp_now());
    }
    end_step(team, batch, Step::kIssue);
    place.published = last;
    place.turn = 1 - place.turn;
    any = true;
    begun = stamp_now();
  }
}

// Writes updates that are pending; the next batch is listed, if its changes are few. False if the kernel
// ends.
template <class Team, class Lanes>
MOTIFLUX_DEVICE bool write_pending(const Team& team, const Lanes& lanes, const UpdaterRoles& roles,
                                   const Stream& stream, UpdaterMemory& memory, UpdaterPlace& place) {
  Pending& pending = memory.pending;
  BatchAnywhere& batch = memory.batch;
  bool goes_on = true;
  if (write_listed(team, lanes, roles, stream, place, goes_on) || !goes_on) return goes_on;
  const std::uint64_t begun = stamp_now();
  const bool fits = fit_batch(lanes, stream.graph, pending.updates + pending.written, 1, kFewChanges) == 1;
  if (team.thread() == 0 && fits) batch.use(memory.few);
  if (team.thread() == 0 && !fits) batch.use(*stream.batch);
  team.sync();
  const std::uint32_t written = pending.written;
  std::uint32_t count = pending.count - written;
  const std::uint64_t before = place.published;
  const Update* updates = pending.updates + written;
  const Written result = write_updates(team, lanes, stream.graph, updates, before, count, batch, memory.kept,
                                       place.free_until, memory.searches, AskGroups{stream});
  if (result == Written::kStopped) return false;
  if (result == Written::kYes) {
    issue_updates(team, stream, updates, before + 1, count, begun, pending.early_unwritten());
    place.published = before + count;
    if (team.thread() == 0) pending.written = written + count;
  } else if (team.thread() == 0) {
    const End reason = result == Written::kTooLong ? End::kTooLong : End::kExhausted;
    pending.reason = static_cast<std::uint32_t>(reason);
    note_end(stream, reason);
  }
  team.sync();
  end_step(team, batch, Step::kIssue);
  return true;
}

// Copies all but the reason, which others may write.
template <class Team>
MOTIFLUX_DEVICE void copy_pending(const Team& team, const Pending& from, Pending& to) {
  for_each(team, kMostUpdates, [&](std::uint32_t i) { to.updates[i] = from.updates[i]; });
  if (team.thread() == 0) {
    to.received = from.received;
    to.known_kinds = from.known_kinds;
    to.count = from.count;
    to.written = from.written;
    to.waits_since = from.waits_since;
    to.times = from.times;
  }
  team.sync();
}

template <class Team, class Lanes>
MOTIFLUX_DEVICE void update_until_end(const Team& team, const Lanes& warp, const Stream& stream,
                                      UpdaterMemory& memory) {
  constexpr std::uint32_t kTurnsOfHost = 8;  // between looks at the host's flag
  const UpdaterRoles roles(team.thread() / Lanes::kLanes, team.threads() / Lanes::kLanes);
  Pending& pending = memory.pending;
  const std::uint64_t begins = published(stream.graph.stages);
  // All that is published is collected when a kernel is launched.
  UpdaterPlace place{begins, begins + stream.graph.stages.slot_count, {}, {}};
  device::Backoff backoff(256, 512);
  bool parks = false;
  for (std::uint32_t turn = 0;; ++turn) {
    team.sync();
    if (team.thread() == 0) {
      pending.decision =
          static_cast<std::uint32_t>(next_of_updater(stream, pending, turn % kTurnsOfHost == 0, parks));
      if (parks) memory.parks = 1;
    }
    team.sync();
    const auto next = static_cast<Next>(pending.decision);
    if (next == Next::kLeave) return;
    if (next != Next::kWrite) end_step(team, memory.batch, Step::kWait);
    // The first warp fills up what is kept, the last one looks for updates.
    if (next != Next::kWrite && roles.warp == 0) memory.kept.fill(warp, stream.graph.pool);
    if (next == Next::kReceive) {
      ExpectedTicket expected;
      if (roles.receives) receive(warp, stream, pending);
      if (roles.issues) expected.look(warp, stream, true);
      team.sync();
      if (roles.issues)
        hand_over_early(warp, stream, pending, memory.searches, place.published + 1, 0, place.free_until,
                        place.early_plans, expected);
    }
    if (roles.receives) list_next(warp, stream, roles.most_changes(), place.turn);
    team.sync();
    if (pending.written == pending.count || pending.reason != 0) {
      backoff.wait();
      continue;
    }
    if (next != Next::kWrite) end_step(team, memory.batch, Step::kReceive);
    backoff = device::Backoff(256, 512);
    if (!write_pending(team, warp, roles, stream, memory, place)) return;
  }
}

template <class Team>
MOTIFLUX_DEVICE_CALL void run_updater(const Team& team, const Stream& stream) {
  UpdaterMemory& memory = updater_memory();
  copy_pending(team, *stream.pending, memory.pending);
  if (team.thread() == 0) {
    memory.kept.clear();
    memory.kinds.clear();
    memory.pending.reason = 0;
    memory.pending.times.last = 0;  // while no kernel ran, no step took time
    memory.parks = 0;
    memory.pending.early = 0;
    memory.searches = {0, kMostUpdates};
    memory.looks = 0;
    begin_ahead(stream.graph.stages, memory.searches, published(stream.graph.stages));
    memory.listed[0].updates = memory.listed[1].updates = 0;
    memory.batch.times = &memory.pending.times;
  }
  team.sync();
  update_until_end(team, lanes::Group<32>(), stream, memory);
  team.sync();
  if (team.thread() == 0) {
    memory.kept.give_all(stream.graph.pool);
  }
  team.sync();
  copy_pending(team, memory.pending, *stream.pending);
}

}  // namespace detail

// The body of the kernel. `lists`: whether a plan may list its matches; `turns`: between looks of a group
// whether another one waits.
template <class Plans, std::uint32_t Lanes, bool lists, std::int32_t turns>
MOTIFLUX_DEVICE void run_stream(const Stream& stream) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  if (blockIdx.x == 0) {
    __shared__ std::uint32_t sums[32];
    const BlockTeam team(sums, stream.updater_warps);
    if (threadIdx.x < team.threads()) detail::run_updater(team, stream);
    return;
  }
  __shared__ SearchTables tables;
  const lanes::Group<Lanes> group;
  tables.copy(stream, blockDim.x / Lanes);
  if (blockIdx.x == 1 && threadIdx.x < 32) return detail::run_collector(stream);
  if (blockIdx.x == 1 && threadIdx.x < 32 * kCollectorWarps) return detail::run_freeing(stream);
  const bool is_shared = tables.plan.roots != stream.plan.roots;
  const auto number = static_cast<std::uint32_t>(is_shared ? group.in_block() : group.in_grid());
  match::Search<Plans, lanes::Group<Lanes>, Streamed<turns>> search(tables.plan, stream.task, shared_memory);
  Answering<lanes::Group<Lanes>, lists> goal(stream);
  search.serve(stream, const_cast<match::UpdateRoot*>(tables.plan.roots), number * stream.roots_of_group);
  search.run(goal);
}

}  // namespace motiflux::streaming
