#include "dynamic/union_rows.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "dynamic/lifetimes.hpp"

namespace motiflux::dynamic {
namespace {

// The part of `ends` from the first neighbour that is not less than `bound`.
const RunEnd* first_from(std::span<const RunEnd> ends, std::uint64_t bound) {
  return std::ranges::lower_bound(ends, bound, {},
                                  [](const RunEnd& end) { return std::uint64_t{end.neighbor}; })
      .base();
}

bool has(sets::Span ids, Vertex vertex) {
  const Vertex* const at = sets::lower_bound(ids, vertex);
  return at != ids.last && *at == vertex;
}

}  // namespace

void UnionRow::clip(const rules::Bounds& allowed) {
  ids = sets::clip(ids, allowed.first, allowed.end);
  if (ends.empty()) return;
  const RunEnd* const first = first_from(ends, allowed.first);
  const RunEnd* const last = first_from(ends, allowed.end);
  ends = first < last ? std::span(first, last) : std::span<const RunEnd>();
}

std::span<const RunEnd> UnionRow::ends_of(Vertex neighbor) const {
  if (ends.empty()) return {};
  const RunEnd* const first = first_from(ends, neighbor);
  const RunEnd* last = first;
  while (last != ends.data() + ends.size() && last->neighbor == neighbor) ++last;
  return {first, last};
}

std::optional<Vertex> UnionRow::at(std::size_t place, Moment moment, bool hidden) const {
  if (place < ids.size()) {
    const Vertex found = ids.first[place];
    if (ends_replace && !ends_of(found).empty()) return std::nullopt;
    return found;
  }
  const RunEnd* const end = &ends[place - ids.size()];
  if (!lives_at(*end, moment, hidden)) return std::nullopt;
  for (const RunEnd* before = end; before != ends.data() && before[-1].neighbor == end->neighbor; --before)
    if (lives_at(before[-1], moment, hidden)) return std::nullopt;
  if (!ends_replace && has(ids, end->neighbor)) return std::nullopt;
  return end->neighbor;
}

bool UnionRow::contains(Vertex vertex, Moment moment, bool hidden) const {
  const auto own = ends_of(vertex);
  if (std::ranges::any_of(own, [&](const RunEnd& end) { return lives_at(end, moment, hidden); })) return true;
  return (own.empty() || !ends_replace) && has(ids, vertex);
}

UnionRows::UnionRows(const Graph& graph, const Run& run, std::span<const RowName> names)
    : graph_(graph), ends_(run.all_ends()) {
  for (const RowName& name : names) {
    Kind kind{name};
    if (graph.in_one_run(name.way, name.target)) {
      const Target& target = graph.relations().target(name.target);
      kind.rows = &graph.rows(name.way);
      kind.of = kind.rows->classed() || !target.everything ? target.classes[0] : 0;
      kind.key = kind.of | (graph.directed() && name.way == Way::kIn ? End::kBack : 0);
    }
    kinds_.push_back(kind);
  }
  for (std::size_t at = 0; at < ends_.size();) {
    const Vertex vertex = ends_[at].vertex;
    const auto first = static_cast<std::uint32_t>(groups_.size());
    while (at < ends_.size() && ends_[at].vertex == vertex) {
      Group group{ends_[at].of, static_cast<std::uint32_t>(at), 0};
      for (; at < ends_.size() && ends_[at].vertex == vertex && ends_[at].of == group.of; ++at) ++group.size;
      groups_.push_back(group);
    }
    touched_[{vertex}] = {first, static_cast<std::uint32_t>(groups_.size()) - first};
  }
}

// Whether ends with this RunEnd::of are in the rows.
bool UnionRows::belongs(const Kind& kind, std::uint32_t key) const {
  const bool back = (key & End::kBack) != 0;
  if (graph_.directed() && kind.name.way != Way::kEither && back != (kind.name.way == Way::kIn)) return false;
  const Target& target = graph_.relations().target(kind.name.target);
  return target.everything || std::ranges::find(target.classes, key & ~End::kBack) != target.classes.end();
}

std::size_t UnionRows::size_of(const Kind& kind, Vertex vertex) const {
  if (kind.rows != nullptr) return kind.rows->of_class(vertex, kind.of).size();
  const Target& target = graph_.relations().target(kind.name.target);
  const auto of_rows = [&](const Rows& rows) -> std::size_t {
    if (target.everything) return rows.degree(vertex);
    std::size_t size = 0;
    for (const Class of : target.classes) size += rows.of_class(vertex, of).size();
    return size;
  };
  const bool both = graph_.directed() && kind.name.way == Way::kEither;
  return of_rows(graph_.rows(kind.name.way)) + (both ? of_rows(graph_.rows(Way::kIn)) : 0);
}

std::size_t UnionRows::largest(std::size_t name, Vertex first, Vertex last) const {
  std::size_t most = 0;
  for (Vertex vertex = first; vertex < last; ++vertex) most = std::max(most, size_of(kinds_[name], vertex));
  return most;
}

std::size_t UnionRows::largest_touched(std::size_t name) const {
  std::size_t most = 0;
  touched_.for_each([&](const VertexKey& key, const Groups& groups) {
    std::size_t size = size_of(kinds_[name], key.vertex);
    for (const Group& group : std::span(groups_).subspan(groups.first, groups.count))
      if (belongs(kinds_[name], group.of)) size += group.size;
    most = std::max(most, size);
  });
  return most;
}

std::unique_ptr<UnionRows::Merged> UnionRows::merge(const Kind& kind, Vertex vertex) const {
  auto made = std::make_unique<Merged>();
  const std::span<const Group> groups = groups_of(vertex);
  const auto thin = [&](bool forward, Class of, std::vector<Vertex>& list, std::size_t first) {
    const std::uint32_t key = of | (forward ? 0 : End::kBack);
    const auto group = std::ranges::find(groups, key, &Group::of);
    if (group == groups.end()) return;
    const auto named = [&](Vertex neighbor) {
      return std::ranges::binary_search(ends_of(*group), neighbor, {}, &RunEnd::neighbor);
    };
    list.erase(std::remove_if(list.begin() + static_cast<std::ptrdiff_t>(first), list.end(), named),
               list.end());
  };
  graph_.merged_neighbors(vertex, kind.name.way, kind.name.target, made->ids, thin);
  for (const Group& group : groups)
    if (belongs(kind, group.of))
      made->ends.insert(made->ends.end(), ends_of(group).begin(), ends_of(group).end());
  std::ranges::stable_sort(made->ends, {}, &RunEnd::neighbor);
  return made;
}

UnionRow UnionRowReader::open(std::size_t name, Vertex vertex) {
  const UnionRows::Kind& kind = all_.kinds_[name];
  if (kind.rows == nullptr) {
    const UnionRows::Merged& row = merged(name, vertex);
    return {{row.ids.data(), row.ids.data() + row.ids.size()}, row.ends, false};
  }
  UnionRow row{kind.rows->of_class(vertex, kind.of), {}, true};
  const auto groups = all_.groups_of(vertex);
  if (const auto own = std::ranges::find(groups, kind.key, &UnionRows::Group::of); own != groups.end())
    row.ends = all_.ends_of(*own);
  return row;
}

const UnionRows::Merged& UnionRowReader::merged(std::size_t name, Vertex vertex) {
  const UnionRows::MergedKey key{static_cast<std::uint32_t>(name), vertex};
  if (const UnionRows::Merged* const* known = known_.find(key)) return **known;
  UnionRows::Shard& shard = all_.shards_[key.hash() >> 40 & (UnionRows::kShards - 1)];
  {
    const std::lock_guard lock(shard.mutex);
    if (const auto* kept = shard.rows.find(key)) return *(known_[key] = kept->get());
  }
  std::unique_ptr<const UnionRows::Merged> made = all_.merge(all_.kinds_[name], vertex);
  const std::size_t words = made->ids.size() + made->ends.size() * (sizeof(RunEnd) / sizeof(Vertex));
  const UnionRows::Merged* const found = made.get();
  if (all_.words_.fetch_add(words, std::memory_order_relaxed) + words > UnionRows::kMostWords) {
    own_.push_back(std::move(made));
    return *(known_[key] = found);
  }
  const std::lock_guard lock(shard.mutex);
  auto& kept = shard.rows[key];
  if (kept == nullptr) kept = std::move(made);  // else another thread was faster
  return *(known_[key] = kept.get());
}

}  // namespace motiflux::dynamic
