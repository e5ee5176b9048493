// Columns of external ids in internal numbers: new vertices are numbered in the order of their first
// occurrence, those with labels before the others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "dynamic/relations.hpp"
#include "dynamic/vertex_ids.hpp"

namespace motiflux::dynamic {

// Labels of vertices that are named; at() gives the id of each.
template <class Column>
struct NamedVertices {
  Column ids;
  std::span<const Label> codes;
  std::span<const std::int64_t> positions;  // the update before which each is named
};

struct Numbered {
  // A vertex whose label is named again, and differs.
  struct Conflict {
    std::size_t at;  // of the named vertices
    Label before;
  };

  std::vector<Vertex> sources, targets;  // of the updates that are kept
  std::vector<std::int64_t> origins;     // their positions, unless all are kept
  std::size_t self_loops = 0;
  std::vector<Label> codes;  // of the new vertices with labels, which come first
  std::size_t added = 0;     // new vertices
  std::optional<Conflict> conflict;
};

// Thrown if there would be more vertices than numbers.
struct TooManyVertices : std::runtime_error {
  TooManyVertices() : std::runtime_error("too many vertices") {}
};

// Numbers columns of ids. A column has size(), at(row), and same(row, other): whether both have one id there;
// kIsCheap: at() takes no time.
template <class Ids>
class Numbering {
 public:
  // `label_of` returns the code of a vertex that was there before; `unlabelled` is the code of vertices
  // without a label. check() is called now and then and may throw; ids added until then stay.
  Numbering(Ids& ids, std::size_t most, Label unlabelled)
      : ids_(ids), base_(ids.size()), most_(most), unlabelled_(unlabelled) {}

  // `kept`: of which updates; empty: of all without self-loops.
  template <class Column, class Check>
  void number(const Column& sources, const Column& targets, std::span<const std::uint8_t> kept,
              Check&& check) {
    found_.sources.reserve(sources.size());
    found_.targets.reserve(sources.size());
    number(sources, targets, kept, check, [&](std::size_t, Vertex source, Vertex target) {
      found_.sources.push_back(source);
      found_.targets.push_back(target);
    });
  }

  // The same, with keep(row, source, target) for each update that is kept instead of columns. No vertices may
  // be named afterwards.
  template <class Column, class Check, class Keep>
  void number(const Column& sources, const Column& targets, std::span<const std::uint8_t> kept, Check&& check,
              Keep&& keep) {
    const std::size_t size = sources.size();
    bool all = true;
    for (std::size_t row = 0; row < size; ++row) {
      if (row % kBetweenChecks == kBetweenChecks - 1) check();
      if (Column::kIsCheap && row + kAhead < size) {
        ids_.prefetch(sources.at(row + kAhead));
        ids_.prefetch(targets.at(row + kAhead));
      }
      const bool keeps = kept.empty() ? !sources.same(row, targets) : kept[row] != 0;
      if (keeps) {
        if (!all) found_.origins.push_back(static_cast<std::int64_t>(row));
        const Vertex source = numbered(sources.at(row), row);
        keep(row, source, numbered(targets.at(row), row));
        continue;
      }
      found_.self_loops += kept.empty();
      if (!all) continue;
      all = false;
      for (std::size_t before = 0; before < row; ++before)
        found_.origins.push_back(static_cast<std::int64_t>(before));
    }
  }

  // Numbers all updates, on several threads, and returns true; or does nothing and returns false, if an id is
  // new or an update is a self-loop.
  template <class Column>
  bool number_known(const Column& sources, const Column& targets, const Workers& workers) {
    const std::size_t size = sources.size();
    found_.sources.resize(size);
    found_.targets.resize(size);
    std::atomic<bool> all{true};
    parallel_for(workers, size, kBetweenChecks, [&](std::size_t begin, std::size_t end) {
      if (!all.load(std::memory_order_relaxed)) return;
      const bool known =
          know(sources, targets, begin, end, [&](std::size_t row, Vertex source, Vertex target) {
            found_.sources[row] = source;
            found_.targets[row] = target;
          });
      if (!known) all.store(false, std::memory_order_relaxed);
    });
    if (all.load()) return true;
    found_.sources.clear();
    found_.targets.clear();
    return false;
  }

  // Calls keep(row, source, target) for the updates [begin, end) and returns true; returns false at the first
  // one with a new id, and at a self-loop. Threads may call it at once.
  template <class Column, class Keep>
  bool know(const Column& sources, const Column& targets, std::size_t begin, std::size_t end,
            Keep&& keep) const {
    const Column from = sources, to = targets;  // at() may use memory of the column
    for (std::size_t row = begin; row < end; ++row) {
      if (Column::kIsCheap && row + kAhead < from.size()) {
        ids_.prefetch(from.at(row + kAhead));
        ids_.prefetch(to.at(row + kAhead));
      }
      const Vertex source = ids_.find(from.at(row)), target = ids_.find(to.at(row));
      if (source == kUnknown || target == kUnknown || source == target) return false;
      keep(row, source, target);
    }
    return true;
  }

  template <class Column, class LabelOf>
  void name(const NamedVertices<Column>& named, LabelOf&& label_of) {
    std::vector<Vertex> order;  // new vertices with labels
    std::vector<std::uint8_t> is_named(first_.size(), 0);
    std::vector<Label> codes(first_.size());
    for (std::size_t at = 0; at < named.ids.size(); ++at) {
      const std::size_t known = ids_.size();
      const Vertex vertex = numbered(named.ids.at(at), kNowhere);
      if (ids_.size() > known) {
        is_named.push_back(0);
        codes.push_back(0);
      }
      const std::size_t place = vertex - base_;
      Label before;
      if (vertex < base_) {
        before = label_of(vertex);
      } else if (is_named[place] != 0) {
        before = codes[place];
      } else if (first_[place] < static_cast<std::size_t>(named.positions[at])) {
        before = unlabelled_;
      } else {
        is_named[place] = 1;
        codes[place] = named.codes[at];
        order.push_back(vertex);
        continue;
      }
      if (before != named.codes[at]) {
        found_.conflict = {at, before};
        return;
      }
    }
    for (const Vertex vertex : order) found_.codes.push_back(codes[vertex - base_]);
    for (std::size_t place = 0; place < is_named.size(); ++place)
      if (is_named[place] == 0) order.push_back(static_cast<Vertex>(base_ + place));
    put_in_order(order);
  }

  Numbered take() {
    found_.added = ids_.size() - base_;
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kBetweenChecks = 1 << 16, kAhead = 8;
  static constexpr std::size_t kNowhere = SIZE_MAX;

  Vertex numbered(typename Ids::Value id, std::size_t row) {
    const Vertex known = ids_.find(id);
    if (known != kUnknown) [[likely]]
      return known;
    return added(id, row);
  }
  [[gnu::noinline]] Vertex added(typename Ids::Value id, std::size_t row) {
    if (ids_.size() >= most_) throw TooManyVertices();
    first_.push_back(row);
    return ids_.add(id);
  }

  // Numbers the new vertices in this order.
  void put_in_order(const std::vector<Vertex>& order) {
    bool differs = false;
    for (std::size_t place = 0; place < order.size(); ++place) differs |= order[place] != base_ + place;
    if (!differs) return;
    std::vector<typename Ids::Owned> values;
    std::vector<Vertex> number_of(order.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
      values.emplace_back(ids_.at(order[place]));
      number_of[order[place] - base_] = static_cast<Vertex>(base_ + place);
    }
    ids_.keep(base_);
    for (const auto& value : values) ids_.add(value);
    for (auto* column : {&found_.sources, &found_.targets})
      for (Vertex& vertex : *column)
        if (vertex >= base_) vertex = number_of[vertex - base_];
  }

  Ids& ids_;
  std::size_t base_, most_;
  Label unlabelled_;
  std::vector<std::size_t> first_;  // of each new vertex, the update that mentions it first
  Numbered found_;
};

}  // namespace motiflux::dynamic
