// Walking what hangs where pieces meet others (view/meeting.hpp): the walk of match/tail.cuh, and what its
// parts come to.
//
// What a part has to choose from is written to the memory of the group, a word array each:
//
//   slot   | vertices, ascending | ways, 64 bits each |
//   list   | vertices of each of three doors | ways | ways times a number of each further set of levels |
//
// and in shared memory, behind what a tail has there:
//
//   | PartState of each part | totals: a Number per meeting | sizes | sums, ways: a Number per mask |
#pragma once

#include "motiflux/match/disjoint.cuh"
#include "motiflux/match/slots.cuh"
#include "motiflux/match/tail.cuh"

namespace motiflux::match {

template <class Plan, class Lanes, class Within>
class MeetingWalk {
 public:
  using Counting = TailCounting<Plan, Lanes, TailForm::kMeetings, Within>;

  explicit MOTIFLUX_DEVICE MeetingWalk(Counting& counting)
      : counting_(counting),
        search_(counting.search_),
        tail_(counting.tail_),
        meetings_(counting.args_.meetings),
        at_(meetings_, counting.key_ + view::kMostKeyWords + view::kMostKeyWords % 2) {}

  // The sum over the candidates of `top` of what belongs to each, levels below included; each lane gets a
  // share. False to break off.
  MOTIFLUX_DEVICE bool sum(std::uint32_t top, Cursor walk, Number& result) {
    level_ = top;
    walk_ = walk;
    sum_ = {0, 0};
    for (;;) {
      if (is_full()) {
        if (!make_room()) return false;
        continue;
      }
      if (counting_.at(level_).by_lane) {
        if (!sum_by_strips()) return false;
        if (walk_.next < walk_.end) continue;
      }
      Number product{1, 0};
      std::uint32_t child = 0;
      if (!counting_.next(level_, walk_)) {
        if (level_ == top) break;
        Number below = counting_.all_of(sum_);
        if (meetings_.begins[level_] != 0) {
          const After after = end_part(below);
          if (after == After::kStopped) return false;
          if (after == After::kGoesOn) continue;
        }
        level_ = counting_.at(level_).parent;
        const TailFrame& frame = resume();
        product = frame.product;
        child = frame.child + 1;
        counting_.beyond_ |= multiply(product, below);
      } else {
        if (!counting_.tick(1)) return false;
        if (counting_.keeps(level_) && counting_.memo().find(counting_.at(level_), level_, product)) {
          add_candidate(product);
          continue;
        }
        counting_.multiply_together(level_, product);
      }
      if (!product.is_zero() && child < counting_.at(level_).children && !begin(level_below(child)))
        product = {0, 0};
      if (product.is_zero() || child == counting_.at(level_).children) {
        if (counting_.keeps(level_)) counting_.memo().keep(counting_.at(level_), level_, product);
        add_candidate(product);
        continue;
      }
      const std::uint32_t below = level_below(child);
      leave(product, child);
      start(below);
    }
    result = sum_;
    return true;
  }

 private:
  enum class After { kEnds, kGoesOn, kStopped };
  static constexpr std::uint32_t kNothing = 0xffu;

  MOTIFLUX_DEVICE const Lanes& lanes() const { return search_.lanes(); }
  MOTIFLUX_DEVICE std::uint32_t level_below(std::uint32_t child) const {
    return tail_.children[counting_.at(level_).first_child + child];
  }
  MOTIFLUX_DEVICE const view::Meeting& meeting_of(const view::MeetingPart& part) const {
    return meetings_.all[part.meeting];
  }
  MOTIFLUX_DEVICE Choices choices_of(const view::MeetingPart& part) const {
    return {search_.memory() + part.at, part.room, meeting_of(part).lists != 0};
  }

  // The part that ends with the level at hand, or kNothing.
  MOTIFLUX_DEVICE std::uint32_t ending() const { return meetings_.ends[level_] - 1u; }

  MOTIFLUX_DEVICE void leave(const Number& product, std::uint32_t child) {
    const Number so_far = counting_.all_of(sum_);
    lanes().sync();  // the frame was read
    if (lanes().leads()) counting_.frames_[level_] = {so_far, product, walk_, child, 0};
  }

  MOTIFLUX_DEVICE const TailFrame& resume() {
    const TailFrame& frame = counting_.frames_[level_];
    walk_ = frame.walk;
    sum_ = lanes().leads() ? frame.sum : Number{0, 0};
    return frame;
  }

  // Goes on with the first candidate of another level.
  MOTIFLUX_DEVICE void start(std::uint32_t level) {
    level_ = level;
    const std::uint32_t part = meetings_.begins[level];
    if (part != 0) {
      lanes().sync();  // the part's state was read
      if (lanes().leads()) at_.parts[part - 1] = {{0, 0}, 0, 0};
    }
    walk_ = counting_.open(level);
    lanes().sync();
    sum_ = {0, 0};
  }

  // Makes ready for the meeting that begins with a level, if one does. False if nothing comes of it.
  MOTIFLUX_DEVICE bool begin(std::uint32_t level) {
    const std::uint32_t number = meetings_.begins[level];
    if (number == 0) return true;
    const std::uint32_t which = meetings_.part[number - 1].meeting;
    const view::Meeting& meeting = meetings_.all[which];
    std::uint64_t* const sizes = at_.sizes + meeting.sizes;
    bool some = true;
    lanes().sync();  // the sizes were read
    for (std::uint32_t mask = 1; some && mask >> meeting.plain == 0; ++mask) {
      std::uint32_t known = 1;
      while (meeting.common[known] != meeting.common[mask]) ++known;
      std::uint64_t size = 0;
      if (known < mask) {
        size = sizes[known - 1];
      } else {
        const Measured found =
            size_together(lanes(), search_.shared(), search_.plan(), tail_, meeting.common[mask]);
        search_.spend(found.steps);
        size = found.size;
      }
      if (lanes().leads()) sizes[mask - 1] = size;
      lanes().sync();
      some = size != 0 || (mask & (mask - 1)) != 0;
    }
    if (lanes().leads()) at_.totals[which] = {0, 0};
    lanes().sync();
    return some;
  }

  // Adds the ways for the candidate at hand of the level at hand.
  MOTIFLUX_DEVICE void add_candidate(const Number& ways) {
    if (lanes().leads()) counting_.beyond_ |= add(sum_, ways);
    if (ending() < kNothing) {
      const bool mine = lanes().leads();
      write_down(search_.vertex(level_), mine ? ways : Number{0, 0});
    }
  }

  // Writes the choices down that lanes have, those whose ways are not zero.
  MOTIFLUX_DEVICE void write_down(std::uint32_t candidate, const Number& ways) {
    const view::MeetingPart& part = meetings_.part[ending()];
    PartState& state = at_.parts[ending()];
    counting_.beyond_ |= ways.high != 0;
    const std::uint32_t writing = lanes().ballot(!ways.is_zero());
    const std::uint32_t length = state.length;
    const std::uint32_t place = length + count_bits(writing & bits_below(lanes().lane()));
    if (!ways.is_zero()) {
      const Choices choices = choices_of(part);
      choices.ways()[place] = ways.low;
      for (std::uint32_t door = 0; door < part.doors; ++door) {
        const std::uint32_t level = part.door[door];
        choices.vertices(door)[place] = level == part.last ? candidate : search_.vertex(level);
      }
    }
    lanes().sync();  // the length was read
    if (lanes().leads()) state.length = length + count_bits(writing);
    lanes().sync();
  }

  // Candidates by strips, as TailCounting has them, as many as there is room for. False to break off.
  MOTIFLUX_DEVICE bool sum_by_strips() {
    const view::TailLevel& own = counting_.at(level_);
    while (walk_.next < walk_.end && !is_full()) {
      const std::uint32_t place = walk_.next + lanes().lane();
      const std::uint32_t candidate = place < walk_.end ? counting_.candidate_of(walk_, place) : 0;
      const bool accepted = place < walk_.end && counting_.accepts(level_, candidate);
      const bool alone = accepted && (!own.walks || counting_.takes_short_walks(level_, candidate));
      Number ways{0, 0};
      if (alone) ways = counting_.count_alone(level_, candidate);
      std::uint32_t rest = own.walks ? lanes().ballot(accepted && !alone) : 0;
      for (; rest != 0; rest &= rest - 1) {
        counting_.assign(level_, lanes().broadcast(candidate, lowest_bit(rest)));
        Number found{1, 0};
        counting_.multiply_together(level_, found);
        if (lanes().lane() == lowest_bit(rest)) ways = found;
        search_.spend(1);
      }
      counting_.beyond_ |= add(sum_, ways);
      if (ending() < kNothing) write_down(candidate, ways);
      walk_.next = walk_.end - walk_.next > Lanes::kLanes ? walk_.next + Lanes::kLanes : walk_.end;
      if (!counting_.tick(1)) return false;
    }
    walk_.waiting = 0;
    return true;
  }

  // Whether the level at hand ends a list that has no room for what comes next.
  MOTIFLUX_DEVICE bool is_full() const {
    if (ending() >= kNothing) return false;
    const view::MeetingPart& part = meetings_.part[ending()];
    return meeting_of(part).lists && part.room - at_.parts[ending()].length < Lanes::kLanes;
  }

  // Holds the lists against each other as far as they go. False to break off.
  MOTIFLUX_DEVICE bool make_room() {
    const std::uint32_t number = ending();
    if (is_inner(number)) {
      if (!pair_up(number)) return false;
      empty(number);
      return true;
    }
    leave({1, 0}, 0);
    go_over_inner(number, true);
    return true;
  }

  MOTIFLUX_DEVICE bool is_inner(std::uint32_t number) const {
    const view::Meeting& meeting = meeting_of(meetings_.part[number]);
    return number + 1 == meeting.first_part + meeting.parts;
  }

  MOTIFLUX_DEVICE void empty(std::uint32_t number) {
    lanes().sync();
    if (lanes().leads()) at_.parts[number].length = 0;
    lanes().sync();
  }

  // Walks the inner list with what is there of the outer one.
  MOTIFLUX_DEVICE void go_over_inner(std::uint32_t outer, bool comes_back) {
    const view::Meeting& meeting = meeting_of(meetings_.part[outer]);
    lanes().sync();
    if (lanes().leads()) at_.parts[outer].waits = comes_back;
    counting_.beyond_ |= weigh(lanes(), entries_of(outer), meeting.plain,
                               [&](std::uint32_t vertex) { return having(meeting, vertex); });
    start(meetings_.part[outer + 1].first);
  }

  MOTIFLUX_DEVICE Outer entries_of(std::uint32_t number) const {
    const view::MeetingPart& part = meetings_.part[number];
    return {choices_of(part), at_.parts[number].length, part.doors, true};
  }

  // A bit for each of the sets beside the lists that has a vertex.
  MOTIFLUX_DEVICE std::uint32_t having(const view::Meeting& meeting, std::uint32_t vertex) const {
    std::uint32_t bits = 0;
    for (std::uint32_t set = 0; set < meeting.plain; ++set) {
      const std::uint32_t number = meeting.common[1u << set];
      bits |= static_cast<std::uint32_t>(
                  holds(search_.plan(), tail_, number, {search_.shared().levels, kNoLevel, 0}, vertex))
              << set;
    }
    return bits;
  }

  // The walk over the part that begins with the level at hand is over; `below` is the sum of its ways, and
  // becomes the number of the meeting.
  MOTIFLUX_DEVICE After end_part(Number& below) {
    const std::uint32_t number = meetings_.begins[level_] - 1u;
    const view::MeetingPart& part = meetings_.part[number];
    const view::Meeting& meeting = meeting_of(part);
    lanes().sync();
    if (lanes().leads()) at_.parts[number].sum = below;
    lanes().sync();
    if (meeting.lists) return end_list(number, below);
    if (below.is_zero()) return After::kEnds;
    if (number + 1 < std::uint32_t{meeting.first_part} + meeting.parts) {
      start(meetings_.part[number + 1].first);
      return After::kGoesOn;
    }
    const SlotSums<typename Counting::Searching> sums(search_, tail_, meetings_, meeting, at_);
    bool beyond = false;
    const bool goes_on = sums.fill(beyond, [&](std::uint64_t steps) { return counting_.tick(steps); });
    counting_.beyond_ |= beyond;
    if (!goes_on) return After::kStopped;
    below = sums.ways();
    return After::kEnds;
  }

  MOTIFLUX_DEVICE After end_list(std::uint32_t number, Number& below) {
    const view::Meeting& meeting = meeting_of(meetings_.part[number]);
    if (!is_inner(number)) {
      if (below.is_zero()) return After::kEnds;
      go_over_inner(number, false);
      return After::kGoesOn;
    }
    if (at_.parts[number].length != 0 && !pair_up(number)) return After::kStopped;
    if (meeting.parts > 1 && at_.parts[number - 1].waits && !below.is_zero()) {
      empty(number - 1);
      level_ = meetings_.part[number - 1].last;
      resume();
      return After::kGoesOn;
    }
    const std::uint32_t which = meetings_.part[number].meeting;
    Number most = below;  // no less than what the meeting comes to
    if (meeting.parts > 1) {
      level_ = meetings_.part[number - 1].first;
      counting_.beyond_ |= !below.is_zero() && multiply(most, at_.parts[number - 1].sum);
    }
    for (std::uint32_t set = 0; set < meeting.plain; ++set)
      counting_.beyond_ |= multiply(most, {at_.sizes[meeting.sizes + (1u << set) - 1], 0});
    below = at_.totals[which];
    if (meeting.divisor > 1) divide(below, meeting.divisor);
    return After::kEnds;
  }

  // Adds what the entries at hand of the lists come to. False to break off.
  MOTIFLUX_DEVICE bool pair_up(std::uint32_t inner) {
    const view::MeetingPart& part = meetings_.part[inner];
    const view::Meeting& meeting = meeting_of(part);
    const Outer outer = meeting.parts > 1 ? entries_of(inner - 1) : Outer{};
    const Choices mine = choices_of(part);
    const std::uint32_t length = at_.parts[inner].length;
    Number share{0, 0};
    for (std::uint32_t strip = 0; strip < length; strip += Lanes::kLanes) {
      const std::uint32_t place = strip + lanes().lane();
      if (place < length)
        add(share, ways_beside(mine.entry(place, part.doors, kNoDoorHere), part.doors, outer,
                               at_.sizes + meeting.sizes, meeting.plain,
                               [&](std::uint32_t vertex) { return having(meeting, vertex); }));
      if (!counting_.tick(1 + outer.length / 4)) return false;
    }
    bool wrapped = false;
    const Number found = sum_over(lanes(), share, wrapped);
    if (lanes().leads()) add(at_.totals[part.meeting], found);
    lanes().sync();
    return true;
  }

  Counting& counting_;
  typename Counting::Searching& search_;
  const view::Tail& tail_;
  const view::Meetings& meetings_;
  MeetingMemory at_;
  std::uint32_t level_ = 0;
  Cursor walk_{};
  Number sum_{0, 0};  // each lane's share
};

// The body of a kernel: a tail in which pieces meet others.
template <class Plan, std::uint32_t Lanes, class Within = Alone>
MOTIFLUX_DEVICE void meetings(const MeetingArgs<Plan>& args) {
  count_tails<TailForm::kMeetings, Plan, Lanes, Within>(args);
}

}  // namespace motiflux::match
