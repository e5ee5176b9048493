// Counting by images: each embedding is found once, and added to the numbers of its vertices or arcs at some
// levels, its places.
//
//   places    | deepest level 0 | deepest level 1 | ... |    a place is a level, or the two levels of an arc
//   numbers   64 bits each: of vertices, those of a class of places behind those of another; or of arcs, by
//             their positions in the rows of a place, those of some rows behind those of others
//   shared    | sums: 64 bits for each level | held: a vertex for each level |        of each group, behind
//             its levels; only its leading lane uses them
//
// sums[l] are embeddings with vertex held[l] that were not added to its numbers yet. They are added when the
// level gets another vertex: one addition for all embeddings below a vertex. Candidates of the last level are
// added one by one, by their lanes.
//
// The host sees from the number of all embeddings whether a number can have passed 64 bits.
#pragma once

#include "motiflux/device/fast_atomics.hpp"
#include "motiflux/device/total.hpp"
#include "motiflux/match/flattened_levels.hpp"
#include "motiflux/match/image_task.hpp"
#include "motiflux/match/search.hpp"

namespace motiflux::match {

template <class Lanes>
class CountingImages : public EveryLevel {
 public:
  static constexpr bool kEnters = true;

  // `mine`: the group's shared memory behind its levels.
  MOTIFLUX_DEVICE CountingImages(const ImageTask& images, std::uint32_t* mine, std::uint32_t levels)
      : images_(images),
        sums_(reinterpret_cast<std::uint64_t*>(mine)),
        held_(reinterpret_cast<std::uint32_t*>(sums_ + levels)) {
    if (Lanes{}.leads())
      for (std::uint32_t level = 0; level < levels; ++level) sums_[level] = 0;
  }

  template <class Search>
  MOTIFLUX_DEVICE bool enter(Search& search, std::uint32_t level) {
    settle(search, level);
    if (search.lanes().leads()) held_[level] = search.vertex(level);
    depth_ = level + 1;
    return true;
  }

  // If the last level's set would be used only once, it is counted during the intersection.
  template <class Search>
  MOTIFLUX_DEVICE bool skip_last(Search& search) {
    return search.plan().at(search.last(), [&](const auto& step) {
      const view::StepShape shape = step.shape();
      const bool serves_once = static_cast<std::uint32_t>(shape.anchor) + 1 == search.last();
      if (!serves_once || shape.source_count + (shape.reuse != view::kNoReuse) == 1) return false;
      const auto sets = search.gathered(step, search.bounds(shape.after, shape.before));
      search.spend(sets.shortest().size() / Lanes::kLanes);
      found_ += count_common(search.lanes(), sets, [&](std::uint32_t candidate) {
        return take(search, candidate, search.accepts(step, candidate));
      });
      return true;
    });
  }

  template <class Search>
  MOTIFLUX_DEVICE bool take_last(Search& search, sets::Span candidates) {
    search.plan().at(search.last(), [&](const auto& step) {
      const view::StepShape shape = step.shape();
      if (first_of(search.last()) == end_of(search.last()) && (shape.not_out | shape.not_in) == 0)
        count_distinct(search, shape.distinct, candidates);
      else
        count_each(search, candidates,
                   [&](std::uint32_t candidate) { return search.accepts(step, candidate); });
    });
    return true;
  }

  // Only where no place is at the last two levels.
  template <class Search>
  MOTIFLUX_DEVICE bool take_strip(Search& search) {
    if (search.task().flatten_last == 0) return false;
    const std::uint32_t passed = search.cursor().waiting;
    return search.plan().at(search.last(),
                            [&](const auto& step) { return Strip(search, step, passed).count(found_); });
  }

  // Only for plans of two levels, whose last level is a slice of a row.
  template <class Search>
  MOTIFLUX_DEVICE bool walk_last(Search& search) {
    Cursor& walk = search.cursor();
    count_each(search, {walk.base + walk.next, walk.base + walk.end}, [&](std::uint32_t candidate) {
      return search.plan().at(1, [&](const auto& step) { return search.accepts_first(step, candidate); });
    });
    walk.next = walk.end;
    return true;
  }

  template <class Search>
  MOTIFLUX_DEVICE void report(const Search& search) {
    settle(search, 0);
    if (!search.lanes().leads() || total_ == 0) return;
    device::add_128(search.task().control->found, total_);
    total_ = 0;
  }

 private:
  MOTIFLUX_DEVICE std::uint32_t first_of(std::uint32_t level) const {
    return level == 0 ? 0 : images_.ends[level - 1];
  }
  MOTIFLUX_DEVICE std::uint32_t end_of(std::uint32_t level) const { return images_.ends[level]; }

  // Adds the embeddings found so far to the numbers of the vertices of `level` and deeper levels.
  template <class Search>
  MOTIFLUX_DEVICE void settle(const Search& search, std::uint32_t level) {
    std::uint64_t found = search.lanes().sum(found_);
    found_ = 0;
    if (!search.lanes().leads()) return;
    total_ += found;
    for (std::uint32_t above = depth_; above > level; --above) {
      const std::uint32_t at = above - 1;
      found += sums_[at];
      sums_[at] = 0;
      if (found == 0) continue;
      for (std::uint32_t place = first_of(at); place < end_of(at); ++place)
        add(images_.places[place], found, [this](std::uint32_t l) { return held_[l]; });
    }
    if (level > 0) sums_[level - 1] += found;
  }

  // Adds to the number of a place; vertex(level) is the vertex of a level.
  template <class Vertex>
  MOTIFLUX_DEVICE void add(const ImagePlace& place, std::uint64_t more, Vertex&& vertex) const {
    std::uint64_t at = vertex(place.level);
    if (place.target != kNoLevel) {
      const auto source = static_cast<std::uint32_t>(at);
      const sets::Span row{place.arcs.begin(source), place.arcs.end(source)};
      const std::uint32_t* const found = sets::lower_bound(row.first, row.last, vertex(place.target));
      at = reinterpret_cast<std::uintptr_t>(found) / sizeof(std::uint32_t);  // see ImagePlace::first
    }
    device::fast_add(images_.numbers[place.first + at], more);
  }

  // Adds a candidate of the last level to the numbers of the places there, if it is accepted.
  template <class Search>
  MOTIFLUX_DEVICE bool take(const Search& search, std::uint32_t candidate, bool accepted) const {
    if (!accepted) return false;
    const std::uint32_t last = search.last();
    for (std::uint32_t place = first_of(last); place < end_of(last); ++place)
      add(images_.places[place], 1,
          [&](std::uint32_t level) { return level == last ? candidate : search.vertex(level); });
    return true;
  }

  // The size of the list minus its vertices that are matched already: one lookup per matched vertex.
  template <class Search>
  MOTIFLUX_DEVICE void count_distinct(const Search& search, std::uint32_t levels, sets::Span candidates) {
    if (search.lanes().leads()) found_ += candidates.size();
    std::uint32_t turn = 0;
    for_each_bit(levels, [&](std::uint32_t level) {
      if (turn++ % Lanes::kLanes == search.lanes().lane())
        found_ -= sets::contains(candidates, search.vertex(level)) &&
                  rules::is_first(levels, level, [&](std::uint32_t l) { return search.vertex(l); });
    });
  }

  template <class Search, class Accepts>
  MOTIFLUX_DEVICE void count_each(Search& search, sets::Span candidates, Accepts&& accepts) {
    search.spend(candidates.size() / Lanes::kLanes);
    for (std::uint64_t mine = search.lanes().lane(); mine < candidates.size(); mine += Lanes::kLanes) {
      const std::uint32_t candidate = candidates.first[mine];
      found_ += take(search, candidate, accepts(candidate));
    }
  }

  const ImageTask& images_;
  std::uint64_t* sums_;
  std::uint32_t* held_;
  std::uint64_t found_ = 0;  // this lane's share, since a level got another vertex; modulo 2^64
  std::uint64_t total_ = 0;  // the leading lane's: found since the last report
  std::uint32_t depth_ = 0;  // levels that hold a vertex
};

// The body of the kernel.
template <class Plan, std::uint32_t Lanes, class Within = NoStealing>
MOTIFLUX_DEVICE void images(const ImageArgs<Plan>& args) {
  MOTIFLUX_DYNAMIC_SHARED(shared_memory);
  using Group = lanes::Group<Lanes>;
  Search<Plan, Group, Within> search(args.plan, args.task, shared_memory);
  CountingImages<Group> goal(args.images, search.shared().staged, search.plan().levels());
  search.run(goal);
}

}  // namespace motiflux::match
