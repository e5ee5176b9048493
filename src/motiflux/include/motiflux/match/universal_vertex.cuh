// Counting patterns with a universal vertex: a block or a warp takes an image of that vertex, finds the edges
// among its neighbours (members), and counts the rest of the pattern among them in bits.
//
//   | Neighborhood | bases: words each | of each warp: a set per level, the vertices it has taken, cursors |
//
// A set is a bit for each member. A warp takes the vertices of the first levels one by one and computes the
// sets that depend on each: an AND, or an AND NOT, per word. At the level before the last one or two, each
// lane has its own vertex, or several lanes share one; the last levels are counted by the sizes of sets or
// products of them.
#pragma once

#include "motiflux/match/units.cuh"
#include "motiflux/match/universal_vertex_policy.hpp"

namespace motiflux::match {

// Masks for words before, at and behind the word of a vertex.
struct UniversalVertexClip {
  std::uint32_t below = ~std::uint32_t{0}, at = ~std::uint32_t{0}, above = ~std::uint32_t{0};

  MOTIFLUX_DEVICE UniversalVertexClip(const UniversalVertexStep& step, std::uint32_t level,
                                      std::uint32_t vertex) {
    const std::uint32_t bit = std::uint32_t{1} << level, place = vertex % 32;
    if (step.after & bit) below = 0, at &= ~bits_below(place + 1);
    if (step.before & bit) above = 0, at &= bits_below(place);
    if (step.distinct & bit) at &= ~(std::uint32_t{1} << place);
  }

  MOTIFLUX_DEVICE std::uint32_t of(std::uint32_t word, std::uint32_t home) const {
    return word < home ? below : word > home ? above : at;
  }
};

// Masks a closed level's set by the vertex of a lane.
struct UniversalVertexFilter {
  std::uint32_t ignored, turned;  // masks: whether the row is ignored; whether its bits must be clear
  UniversalVertexClip clip;

  MOTIFLUX_DEVICE UniversalVertexFilter(const UniversalVertexStep& step, std::uint32_t level,
                                        std::uint32_t vertex)
      : ignored(((step.joined | step.apart) >> level & 1) != 0 ? 0 : ~std::uint32_t{0}),
        turned((step.apart >> level & 1) != 0 ? ~std::uint32_t{0} : 0),
        clip(step, level, vertex) {}

  MOTIFLUX_DEVICE std::uint32_t of(std::uint32_t row, std::uint32_t word, std::uint32_t home) const {
    return ((row ^ turned) | ignored) & clip.of(word, home);
  }
};

template <class Shape>
class UniversalVertexCount : public UnitWalk<UniversalVertexCount<Shape>> {
  using Walk = UnitWalk<UniversalVertexCount<Shape>>;
  using Walk::done_;
  using Walk::found_;
  using Walk::read_stop;
  using Walk::spend;
  using Walk::stop_seen_;
  using Walk::task_;
  using Walk::warp_;

 public:
  MOTIFLUX_DEVICE UniversalVertexCount(const UniversalVertexArgs& args, unsigned char* shared)
      : Walk(args.task, shared), pattern_(args.pattern), shape_(args.shape) {}

  template <class Team>
  MOTIFLUX_DEVICE void count_unit(const Team& team, unsigned char* memory, const CliqueUnit unit) {
    const std::uint32_t* members = task_.rows.begin(unit.root);
    const auto size = static_cast<std::uint32_t>(task_.rows.degree(unit.root));
    team.sync();  // no thread reads the last neighbourhood any more
    Neighborhood all(memory, size);
    all.open(team, members, pattern_.above, true);
    fill_bases(team, all, members, unit.root);
    const auto link = [&](std::uint32_t i, std::uint32_t rank) {
      all.link(i, rank);
      all.link(rank, i);
    };
    if (!all.find_links(team, pattern_.above, 0, 1, link, [this] { return read_stop(); })) {
      stop_seen_ = true;  // with links missing, the count might be too large
      return;
    }
    count_slice(team, all, unit);
    if (team.place() == 0) done_ += (size - unit.slice + unit.slices - 1) / unit.slices;
  }

 private:
  // Fills the set of members of each base: 32 members at a time, one per lane.
  template <class Team>
  MOTIFLUX_DEVICE void fill_bases(const Team& team, const Neighborhood& all, const std::uint32_t* members,
                                  std::uint32_t root) {
    const std::uint32_t words = all.words();
    bases_ = all.row(all.size());
    for (std::uint32_t word = team.place() / 32; word < words; word += Team::size() / 32) {
      const std::uint32_t rank = 32 * word + warp_.lane();
      const std::uint32_t member = rank < all.size() ? members[rank] : 0;
      std::uint32_t kinds = 0;
      if (rank < all.size()) kinds = pattern_.kinds == nullptr ? 1 : pattern_.kinds[member];
      for (std::uint32_t number = 0; number < shape_.bases(); ++number) {
        const UniversalVertexBase base = shape_.base(number);
        bool holds = (kinds >> base.kind & 1) != 0;
        if (base.order == UniversalVertexOrder::kAboveRoot) holds = holds && member > root;
        if (base.order == UniversalVertexOrder::kBelowRoot) holds = holds && member < root;
        const std::uint32_t bits = warp_.ballot(holds);
        if (warp_.leads()) bases_[number * words + word] = bits;
      }
    }
  }

  // Each warp takes the vertices of level 0 at a stride.
  template <class Team>
  MOTIFLUX_DEVICE void count_slice(const Team& team, const Neighborhood& all, const CliqueUnit& unit) {
    const std::uint32_t warp = team.place() / 32, step = Team::size() / 32 * unit.slices;
    const std::uint32_t words = all.words(), levels = shape_.levels();
    sets_ = bases_ + shape_.bases() * words + warp * levels * (words + 2);
    taken_ranks_ = sets_ + levels * words;
    cursors_ = taken_ranks_ + levels;
    const std::uint32_t number = shape_.at(0, [](const UniversalVertexStep& first) { return first.base; });
    const std::uint32_t* candidates = bases_ + number * words;
    for (std::uint32_t i = unit.slice + warp * unit.slices; i < all.size() && !stop_seen_; i += step) {
      if ((candidates[i / 32] >> i % 32 & 1) == 0) continue;
      take(all, 0, i);
      if (shape_.lanes() == 1)
        count_strips(all);
      else
        descend(all);
    }
  }

  // Assigns a vertex to a level, and computes the sets that are now determined.
  MOTIFLUX_DEVICE void take(const Neighborhood& all, std::uint32_t level, std::uint32_t rank) {
    warp_.sync();  // no lane reads the sets of the last vertex any more
    if (warp_.leads()) taken_ranks_[level] = rank;
    warp_.sync();
    for (std::uint32_t rest = shape_.renewed(level); rest != 0; rest &= rest - 1) {
      const std::uint32_t renewed = lowest_bit(rest);
      shape_.at(renewed, [&](const UniversalVertexStep& step) { renew(all, step, renewed); });
    }
    warp_.sync();
    spend(1 + all.words() / 32);
  }

  // Each lane computes a word. Conditions on the lanes' level are not applied yet.
  MOTIFLUX_DEVICE void renew(const Neighborhood& all, const UniversalVertexStep& step, std::uint32_t level) {
    const std::uint32_t words = all.words(), known = bits_below(shape_.lanes());
    const std::uint32_t* start =
        step.start == view::kNoReuse ? bases_ + step.base * words : set(all, step.start);
    std::uint32_t* made = set(all, level);
    for (std::uint32_t word = warp_.lane(); word < words; word += 32) {
      std::uint32_t bits = start[word];
      for_each_bit(step.joined & known, [&](std::uint32_t of) { bits &= all.row(taken_ranks_[of])[word]; });
      for_each_bit(step.apart & known, [&](std::uint32_t of) { bits &= ~all.row(taken_ranks_[of])[word]; });
      for_each_bit((step.after | step.before | step.distinct) & known, [&](std::uint32_t of) {
        bits &= UniversalVertexClip(step, of, taken_ranks_[of]).of(word, taken_ranks_[of] / 32);
      });
      made[word] = bits;
    }
    warp_.sync();  // another set may start from this one
  }

  MOTIFLUX_DEVICE std::uint32_t* set(const Neighborhood& all, std::uint32_t level) const {
    return sets_ + level * all.words();
  }

  // Levels 1 to the level before the lanes' level, which a warp takes depth first.
  MOTIFLUX_DEVICE void descend(const Neighborhood& all) {
    if (warp_.leads()) cursors_[1] = 0;
    for (std::uint32_t level = 1; !stop_seen_;) {
      warp_.sync();
      const std::uint32_t rank = next_member(set(all, level), all.words(), cursors_[level]);
      if (rank == Neighborhood::kNowhere) {
        if (--level == 0) return;
        continue;
      }
      warp_.sync();
      if (warp_.leads()) {
        cursors_[level] = rank + 1;
        cursors_[level + 1] = 0;
      }
      take(all, level, rank);
      if (level + 1 < shape_.lanes())
        ++level;
      else
        count_strips(all);
    }
  }

  // The first member of a set at or behind a place, or kNowhere.
  MOTIFLUX_DEVICE std::uint32_t next_member(const std::uint32_t* set, std::uint32_t words,
                                            std::uint32_t place) const {
    for (std::uint32_t strip = place / 32; strip < words; strip += 32) {
      const std::uint32_t word = strip + warp_.lane();
      std::uint32_t bits = word < words ? set[word] : 0;
      if (word == place / 32) bits &= ~bits_below(place % 32);
      if (const std::uint32_t some = warp_.ballot(bits != 0); some != 0) {
        const std::uint32_t lane = lowest_bit(some);
        return 32 * (strip + lane) + lowest_bit(warp_.broadcast(bits, lane));
      }
    }
    return Neighborhood::kNowhere;
  }

  // The members of the lanes' level: the words of its set, one per lane, and then a member for each lane. If
  // there are few members, several lanes share one and take its words at a stride.
  MOTIFLUX_DEVICE void count_strips(const Neighborhood& all) {
    const std::uint32_t words = all.words();
    const std::uint32_t* members = set(all, shape_.lanes());
    for (std::uint32_t strip = 0; strip < words && !stop_seen_; strip += 32) {
      const std::uint32_t word = strip + warp_.lane();
      const std::uint32_t bits = word < words ? members[word] : 0;
      const std::uint32_t before = warp_.sums_before(count_bits(bits));
      const std::uint32_t total = warp_.broadcast(before + count_bits(bits), 31);
      std::uint32_t share = 0;  // lanes per member: 1 << share
      while (share < 5 && (total << share) <= 16) ++share;
      for (std::uint32_t first = 0; first < total; first += 32u >> share) {
        const std::uint32_t wanted = first + (warp_.lane() >> share);
        const std::uint32_t there = wanted < total ? wanted : total - 1;
        std::uint32_t holder = 0;  // the last lane with at most `there` members before it
        for (std::uint32_t half = 16; half > 0; half /= 2)
          if (warp_.broadcast(before, holder + half) <= there) holder += half;
        const std::uint32_t place =
            nth_bit(warp_.broadcast(bits, holder), there - warp_.broadcast(before, holder));
        close(all, 32 * (strip + holder) + place, share, wanted < total);
        spend((words >> share) + 1);
      }
    }
  }

  // The position of the set bit of a word with `below` set bits below it.
  static MOTIFLUX_DEVICE std::uint32_t nth_bit(std::uint32_t word, std::uint32_t below) {
    std::uint32_t place = 0;
    for (std::uint32_t half = 16; half > 0; half /= 2) {
      const std::uint32_t fewer = count_bits(word >> place & bits_below(half));
      if (fewer <= below) {
        below -= fewer;
        place += half;
      }
    }
    return place;
  }

  // Counts the closed levels, given the vertex of the lanes' level.
  MOTIFLUX_DEVICE void close(const Neighborhood& all, std::uint32_t rank, std::uint32_t share, bool mine) {
    const std::uint32_t lanes = shape_.lanes(), every = 1u << share, home = rank / 32, words = all.words();
    const bool two_sets = shape_.close() == UniversalVertexClosedForm::kProduct ||
                          shape_.close() == UniversalVertexClosedForm::kDistinct;
    const auto part = [&](const UniversalVertexStep& step) {
      return UniversalVertexFilter(step, lanes, rank);
    };
    const UniversalVertexFilter first = shape_.at(lanes + 1, part);
    const std::uint32_t *row = all.row(rank), *one = set(all, lanes + 1);
    std::uint32_t size = 0;
    if (!two_sets) {
      for (std::uint32_t word = warp_.lane() % every; word < words; word += every)
        if (const std::uint32_t bits = one[word]; bits != 0)  // most words are empty in large neighbourhoods
          size += count_bits(bits & first.of(row[word], word, home));
      size = warp_.sum_of(size, every);
      if (mine && warp_.lane() % every == 0) found_ += of_one(size);
      return;
    }
    const UniversalVertexFilter second = shape_.at(lanes + 2, part);
    const std::uint32_t* other = set(all, lanes + 2);
    std::uint32_t others = 0, both = 0;
    for (std::uint32_t word = warp_.lane() % every; word < words; word += every) {
      const std::uint32_t bits = one[word] & first.of(row[word], word, home);
      const std::uint32_t more = other[word] & second.of(row[word], word, home);
      size += count_bits(bits);
      others += count_bits(more);
      if (shape_.close() == UniversalVertexClosedForm::kDistinct) both += count_bits(bits & more);
    }
    size = warp_.sum_of(size, every);
    others = warp_.sum_of(others, every);
    if (shape_.close() == UniversalVertexClosedForm::kDistinct) both = warp_.sum_of(both, every);
    if (mine && warp_.lane() % every == 0) found_ += std::uint64_t{size} * others - both;
  }

  MOTIFLUX_DEVICE std::uint64_t of_one(std::uint64_t size) const {
    switch (shape_.close()) {
      case UniversalVertexClosedForm::kPairs:
        return size * (size - 1) / 2;
      case UniversalVertexClosedForm::kOrdered:
        return size * (size - 1);
      default:
        return size;
    }
  }

  const UniversalVertexTask& pattern_;
  Shape shape_;
  std::uint32_t* bases_ = nullptr;
  std::uint32_t* sets_ = nullptr;  // the warp's
  std::uint32_t* taken_ranks_ = nullptr;
  std::uint32_t* cursors_ = nullptr;
};

template <class Shape>
MOTIFLUX_DEVICE void count_universal_vertex(const UniversalVertexArgs& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  UniversalVertexCount<Shape>(args, shared_memory).run();
}

}  // namespace motiflux::match
