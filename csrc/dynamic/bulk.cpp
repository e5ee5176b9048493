#include "dynamic/bulk.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "dynamic/matcher.hpp"
#include "dynamic/sort_by.hpp"

namespace motiflux::dynamic {
namespace {

// Entries between checks for a stop.
constexpr std::size_t kLook = 4096;

// Fewer items are sorted by comparison.
constexpr std::size_t kFew = 1024;

// Appends without reserving spare room: buffers are reused.
template <class Items>
void append(Items& to, std::span<const typename Items::value_type> from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void Bulk::start(int partitions, int slices, std::size_t watched) {
  slices_.resize(static_cast<std::size_t>(slices));
  for (Slice& slice : slices_) {
    slice.entries.resize(static_cast<std::size_t>(partitions));
    for (Entries& entries : slice.entries) entries.clear();
    slice.most = 0;
  }
  partitions_.resize(static_cast<std::size_t>(partitions));
  for (Partition& partition : partitions_) {
    partition.forward.clear();
    partition.gone.clear();
    partition.ends.clear();
    partition.back.resize(partitions_.size());
    partition.gone_back.resize(partitions_.size());
    partition.back_ends.resize(partitions_.size());
    for (Entries& back : partition.back) back.clear();
    for (Entries& back : partition.gone_back) back.clear();
    for (auto& ends : partition.back_ends) ends.clear();
    partition.done.clear();
    partition.copies.clear();
    partition.noops = 0;
    partition.noops_of.clear();
    partition.edges = 0;
    partition.changed.clear();
    partition.gained = {};
    partition.gained_columns.assign(graph_.candidates().width(), 0);
  }
  effects_.assign(watched, Effect::kNone);
}

void Bulk::add(int slice, std::span<const Entry> updates, Class most) {
  Slice& added = slices_[static_cast<std::size_t>(slice)];
  added.most = std::max(added.most, most);
  if (partitions() == 1) return append(added.entries[0], updates);
  for (const Entry& one : updates) added.entries[owner(one.row, partitions())].push_back(one);
}

void Bulk::count_noops(std::size_t numbers) {
  for (Partition& partition : partitions_) partition.noops_of.assign(numbers, 0);
}

void Bulk::sum_noops(std::vector<std::uint64_t>& counts) const {
  for (const Partition& partition : partitions_)
    for (std::size_t number = 0; number < partition.noops_of.size(); ++number)
      counts[number] += partition.noops_of[number];
}

void Bulk::admit() {
  Class most = 0;
  for (const Slice& slice : slices_) most = std::max(most, slice.most);
  admit(most);
}

void Bulk::admit(Class most) {
  // All rows are elsewhere if they had no room for the class.
  if (graph_.rows(Way::kOut).admit(most)) graph_.change_all();
  if (graph_.rows(Way::kIn).admit(most)) graph_.change_all();
}

void Bulk::spend(std::size_t& looked, const GoOn& go_on) const {
  if (++looked % kLook == 0 && !go_on()) throw Stopped();
}

void Bulk::order(std::vector<End>& ends, std::vector<End>& scratch) const {
  if (ends.size() < kFew) {
    std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
      return std::tie(a.vertex, a.of, a.neighbor) < std::tie(b.vertex, b.of, b.neighbor);
    });
    return;
  }
  const std::uint32_t last = graph_.vertices() - 1;
  const auto classes = static_cast<std::uint32_t>(graph_.relations().classes().size());
  sort_by(ends, scratch, last, [](const End& one) { return one.neighbor; });
  if (classes > 1) sort_by(ends, scratch, classes - 1, [](const End& one) { return one.of & ~End::kBack; });
  if (graph_.directed()) sort_by(ends, scratch, 1, [](const End& one) { return one.of / End::kBack; });
  sort_by(ends, scratch, last, [](const End& one) { return one.vertex; });
}

void Bulk::forward(int number, const GoOn& go_on) {
  Partition& partition = partitions_[static_cast<std::size_t>(number)];
  Rows& rows = graph_.rows(Way::kOut);
  Entries& entries = partition.forward;
  for (const Slice& slice : slices_)
    append(entries, std::span(slice.entries[static_cast<std::size_t>(number)]));
  sort_entries(graph_, entries, partition.scratch, true);
  const std::size_t size = entries.size();
  partition.done.reserve(partition.done.size() + size);  // so that noting a change cannot fail
  std::size_t looked = 0;
  Places places(rows, entries);
  for (std::size_t at = 0; at < size;) {
    const Vertex row = entries[at].row;
    partition.changes.clear();
    while (at < size && entries[at].row == row) {
      const Entry* first = &entries[at];
      const std::size_t place = places.of(at);
      do {
        spend(looked, go_on);
        ++at;
      } while (at < size && entries[at].has_edge_of(*first));
      replay(partition, first, entries.data() + at, place,
             rows.is_at(row, place, first->to(), first->neighbor));
    }
    if (partition.changes.empty()) continue;
    write_row(partition, Way::kOut, row);
    for (const Rows::Change& one : partition.changes) {
      const Label label = graph_.relations().classes()[one.of].edge;
      partition.done.push_back({one.comes ? Done::kInserted : Done::kErased, {row, one.neighbor, label}});
      partition.edges += one.comes ? 1 : -1;
    }
  }
}

// Applies the updates of one edge to its copies; `there`: whether the edge exists before them, at place `at`.
void Bulk::replay(Partition& partition, const Entry* first, const Entry* last, std::size_t at, bool there) {
  const Class to = first->to();
  const bool watched = first->watched();
  const Edge edge{first->row, first->neighbor, graph_.relations().classes()[to].edge};
  const std::uint64_t more_before = there ? graph_.more_copies(edge) : 0;
  const auto from = [&] { return *graph_.relations().known_class(edge.label, graph_.label(edge.source)); };
  const auto lived = [&](Moment since, Moment until) {
    if (!watched) return;
    const std::uint32_t way = graph_.directed() ? End::kBack : 0;
    note_class(partition, to);
    note_class(partition, from());
    partition.ends.push_back({edge.source, to, edge.target, since, until});
    partition.back_ends[owner(edge.target, partitions())].push_back(
        {edge.target, from() | way, edge.source, since, until});
  };
  const auto note_noop = [&](const Entry& one) {
    ++(partition.noops_of.empty() || watched ? partition.noops : partition.noops_of[one.number]);
  };
  std::uint64_t more = more_before;
  bool now = there, changed = false;
  Moment since = 0;
  for (const Entry* one = first; one != last; ++one) {
    const bool comes = one->comes();
    if (comes && now) {
      note_noop(*one);
      more += count_copies_;
    } else if (!comes && more > 0) {
      --more;
    } else if (!comes && !now) {
      note_noop(*one);
    } else {
      if (comes)
        since = one->number;
      else
        lived(since, one->number);
      now = comes;
      changed = true;
      if (watched) effects_[one->number] = comes ? Effect::kAppear : Effect::kVanish;
    }
  }
  if (more != more_before) partition.copies.emplace_back(edge, more);
  if (!changed) return;
  if (now) lived(since, Lifetimes::kForever);
  const auto turned = [&](bool comes) {
    return Entry{edge.target, edge.source, from() | (comes ? Entry::kComes : 0), 0};
  };
  const std::size_t back = owner(edge.target, partitions());
  const bool stays = watched || now;  // in the graph until the run ends
  if (stays != there) {
    partition.changes.push_back({to, edge.target, stays, at});
    partition.back[back].push_back(turned(stays));
  }
  if (stays && !now) {
    partition.gone.push_back({edge.source, edge.target, to, 0});
    partition.gone_back[back].push_back(turned(false));
  }
}

void Bulk::note_class(Partition& partition, Class of) {
  if (partition.changed.size() <= of) partition.changed.resize(of + std::size_t{1});
  partition.changed[of] = 1;
}

// Makes the changes of a row, and notes them.
void Bulk::write_row(Partition& partition, Way way, Vertex row) {
  Rows& rows = graph_.rows(way);
  const std::uint64_t before = rows.present(row);
  graph_.note_vertex(row);
  for (const Rows::Change& one : partition.changes) note_class(partition, one.of);
  rows.change(row, partition.changes);
  partition.gained[way == Way::kIn ? 1 : 0] |= rows.present(row) & ~before;
  graph_.encode(row, partition.gained_columns.data());
}

void Bulk::write_rows(Partition& partition, Way way, const Entries& entries, const GoOn* go_on) {
  const Rows& rows = graph_.rows(way);
  std::size_t looked = 0;
  Places places(rows, entries);
  for (std::size_t at = 0; at < entries.size();) {
    const Vertex row = entries[at].row;
    partition.changes.clear();
    for (; at < entries.size() && entries[at].row == row; ++at) {
      if (go_on != nullptr) spend(looked, *go_on);
      const Entry& one = entries[at];
      partition.changes.push_back({one.to(), one.neighbor, one.comes(), places.of(at)});
    }
    write_row(partition, way, row);
  }
}

void Bulk::backward(int number, const GoOn& go_on) {
  Partition& partition = partitions_[static_cast<std::size_t>(number)];
  const auto at = static_cast<std::size_t>(number);
  Entries& entries = partition.forward;
  entries.clear();
  const auto gather = [&](auto member, auto& into) {
    for (const Partition& other : partitions_) append(into, std::span((other.*member)[at]));
  };
  gather(&Partition::back, entries);
  sort_entries(graph_, entries, partition.scratch, partitions() > 1);
  write_rows(partition, Way::kIn, entries, &go_on);
  gather(&Partition::back_ends, partition.ends);
  order(partition.ends, partition.end_scratch);
}

void Bulk::take_gone(int number) {
  const auto at = static_cast<std::size_t>(number);
  Partition& partition = partitions_[at];
  partition.done.reserve(partition.done.size() + partition.gone.size());
  for (const Entry& one : partition.gone) {  // before rows change: this may lack memory for some of them
    const Label label = graph_.relations().classes()[one.to()].edge;
    partition.done.push_back({Done::kErased, {one.row, one.neighbor, label}});
  }
  write_rows(partition, Way::kOut, partition.gone, nullptr);
  partition.edges -= static_cast<std::int64_t>(partition.gone.size());
  Entries& entries = partition.forward;
  entries.clear();
  for (const Partition& other : partitions_) append(entries, std::span(other.gone_back[at]));
  sort_entries(graph_, entries, partition.scratch, partitions() > 1);
  write_rows(partition, Way::kIn, entries, nullptr);
}

void Bulk::take_back() {
  for (Partition& partition : partitions_) take_back_changes(graph_, partition.done);
}

void Bulk::finish() {
  for (Partition& partition : partitions_) {
    for (Class of = 0; of < partition.changed.size(); ++of)
      if (std::exchange(partition.changed[of], 0) != 0) graph_.note_class(of);
    graph_.note_gained(Way::kOut, std::exchange(partition.gained[0], 0));
    graph_.note_gained(Way::kIn, std::exchange(partition.gained[1], 0));
    graph_.note_gained_columns(partition.gained_columns);
    std::ranges::fill(partition.gained_columns, 0);
    graph_.count_edges(graph_.edges() + static_cast<std::uint64_t>(partition.edges));
    partition.edges = 0;
    for (const auto& [edge, more] : partition.copies) {
      partition.done.push_back({Done::kCopies, edge, graph_.more_copies(edge)});
      graph_.set_more_copies(edge, more);
    }
    partition.copies.clear();
  }
}

std::size_t Bulk::done() const {
  std::size_t all = 0;
  for (const Partition& partition : partitions_) all += partition.done.size() + partition.copies.size();
  return all;
}

std::uint64_t Bulk::noops() const {
  std::uint64_t all = 0;
  for (const Partition& partition : partitions_) all += partition.noops;
  return all;
}

}  // namespace motiflux::dynamic
