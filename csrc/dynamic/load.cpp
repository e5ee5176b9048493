// Loading of a graph that changes from then on. Its rows ascend by neighbour already, so sorting a row by
// class takes no comparisons: its arcs are counted by class, and then written to their places in turn.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dynamic/graph.hpp"

namespace motiflux::dynamic {
namespace {

// Arcs for each piece of work: some 50 us.
constexpr std::size_t kGrain = std::size_t{1} << 14;

// Pairs of labels that are numbered in a table even if the graph has fewer arcs.
constexpr std::size_t kLeastTable = std::size_t{1} << 12;

// The classes of arcs by the labels of edge and neighbour: in a table, unless most pairs of labels do not
// occur.
class Classes {
 public:
  // `turned` are the arcs by their neighbours, whose labels are `vertex_labels`.
  Classes(Relations& relations, std::span<const Label> vertex_labels, const Arcs& turned,
          const Workers& workers)
      : relations_(relations), vertex_labels_(vertex_labels) {
    const auto more_than_all = [](std::span<const Label> labels) {
      Label most = 0;
      for (Label label : labels) most = std::max(most, label);
      return most + std::size_t{1};
    };
    width_ = more_than_all(vertex_labels);
    const std::size_t pairs = width_ * more_than_all(turned.labels);
    workers.check();
    if (pairs <= std::max(kLeastTable, turned.neighbors.size()))
      number_in_table(pairs, turned, workers);
    else
      number_in_turn(turned, workers);
  }

  // The greatest; 0 if all arcs are of one class.
  Class most() const { return most_; }

  // Calls visit(class_of), where class_of(arc) is the class of an arc of `arcs`.
  template <class Visit>
  void with(const Arcs& arcs, Visit&& visit) const {
    if (table_.empty())
      visit([&](std::uint64_t arc) {
        return *relations_.known_class(arcs.label(arc), vertex_labels_[arcs.neighbors[arc]]);
      });
    else if (arcs.labels.empty())
      visit([&](std::uint64_t arc) { return by_vertex_[arcs.neighbors[arc]]; });
    else
      visit([&](std::uint64_t arc) {
        return table_[arcs.labels[arc] * width_ + vertex_labels_[arcs.neighbors[arc]]];
      });
  }

 private:
  void number_in_table(std::size_t pairs, const Arcs& turned, const Workers& workers) {
    std::vector<std::atomic<bool>> occurs(pairs);
    const auto note = [&](std::size_t pair) {
      if (!occurs[pair].load(std::memory_order_relaxed)) occurs[pair].store(true, std::memory_order_relaxed);
    };
    parallel_rows(workers, turned.offsets, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t vertex = begin; vertex < end; ++vertex) {
        const std::uint64_t first = turned.offsets[vertex], last = turned.offsets[vertex + 1];
        const Label label = vertex_labels_[vertex];
        if (turned.labels.empty() && first < last) note(label);
        if (turned.labels.empty()) continue;
        for (Label edge : turned.labels.subspan(first, last - first)) note(edge * width_ + label);
      }
    });
    table_.resize(pairs);
    for (std::size_t pair = 0; pair < pairs; ++pair)
      if (occurs[pair].load(std::memory_order_relaxed))
        table_[pair] = number(static_cast<Label>(pair / width_), static_cast<Label>(pair % width_));
    if (!turned.labels.empty()) return;
    by_vertex_.reserve(vertex_labels_.size());
    for (Label label : vertex_labels_) by_vertex_.push_back(table_[label]);
  }

  void number_in_turn(const Arcs& turned, const Workers& workers) {
    parallel_rows({1, workers.stop}, turned.offsets, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t vertex = begin; vertex < end; ++vertex)
        for (std::uint64_t arc = turned.offsets[vertex]; arc < turned.offsets[vertex + 1]; ++arc)
          number(turned.label(arc), vertex_labels_[vertex]);
    });
  }

  Class number(Label edge, Label vertex) {
    const Class of = relations_.class_of(edge, vertex);
    most_ = std::max(most_, of);
    return of;
  }

  Relations& relations_;
  std::span<const Label> vertex_labels_;
  std::size_t width_ = 0;  // of the table: labels of vertices
  std::vector<Class> table_;
  std::vector<Class> by_vertex_;  // of arcs to it, if edges have no labels
  Class most_ = 0;
};

// Writes rows sorted by Rows::order(class).
class Sorter {
 public:
  explicit Sorter(std::size_t classes)
      : classes_known_(classes), words_((classes + kWord - 1) / kWord), next_(words_ * kWord) {}

  // Returns the classes of the row; class_of(at) is the class of neighbors[at].
  template <class ClassOf>
  std::span<const Class> write(std::span<const Vertex> neighbors, Vertex* row, ClassOf&& class_of) {
    const std::size_t size = neighbors.size();
    if (sorted_.size() < size) sorted_.resize(std::max(size, 2 * sorted_.size()));
    place(neighbors, {row, sorted_.data()}, class_of);
    return std::span(sorted_).first(size);
  }

 private:
  struct Columns {
    Vertex* neighbors;
    Class* classes;
  };

  template <class ClassOf>
  void place(std::span<const Vertex> neighbors, Columns to, ClassOf&& class_of) {
    const std::size_t size = neighbors.size();
    if (size <= kShort && words_ <= kShortWords)
      return size <= kShort / 2 ? write_short<kShort / 2>(neighbors, to, class_of)
                                : write_short<kShort>(neighbors, to, class_of);
    if (words_ > kManyWords && size < kFewArcs * words_) return write_few(neighbors, to, class_of);
    if (classes_.size() < size) classes_.resize(std::max(size, 2 * classes_.size()));
    Class* classes = classes_.data();
    std::uint32_t* next = next_.data();
    std::uint64_t bits = 0;
    for (std::size_t at = 0; at < size; ++at) {
      const Class of = classes[at] = class_of(at);
      ++next[of];
      bits |= Rows::bit(of);
    }
    std::uint32_t before = 0;
    for_each_class(bits, [&](Class of) {
      const std::uint32_t count = next[of];
      next[of] = before;
      before += count;
    });
    for (std::size_t at = 0; at < size; ++at) {
      const Class of = classes[at];
      const std::uint32_t place = next[of]++;
      to.neighbors[place] = neighbors[at];
      to.classes[place] = of;
    }
    for_each_class(bits, [&](Class of) { next[of] = 0; });
  }

  static constexpr std::size_t kWord = Rows::kRuns;
  // Up to this size, comparing all arcs of a row takes less than counting; classes must fit into keys.
  static constexpr std::size_t kShort = 16, kShortWords = UINT32_MAX / kShort / kWord;
  // With more classes than 512, rows of fewer arcs than a sixteenth of the classes are sorted by comparison:
  // the counts of all classes would have to be looked through.
  static constexpr std::size_t kManyWords = 8, kFewArcs = 4;

  // So few classes are all gone through, which a processor predicts.
  static constexpr std::size_t kFewClasses = 24;

  // The classes that have one of the bits, in the order of rows, and maybe others.
  template <class Visit>
  void for_each_class(std::uint64_t bits, Visit&& visit) const {
    if (classes_known_ <= kFewClasses) {
      for (Class of = 0; of < classes_known_; ++of) visit(of);
      return;
    }
    for (std::uint64_t left = bits; left != 0; left &= left - 1)
      for (std::size_t word = 0; word < words_; ++word)
        visit(static_cast<Class>(word * kWord + static_cast<std::size_t>(std::countr_zero(left))));
  }

  // Finds the place of each arc by comparing it with all others: no branch depends on classes, and
  // consecutive rows often have the same size.
  template <std::size_t kMost, class ClassOf>
  void write_short(std::span<const Vertex> neighbors, Columns to, ClassOf&& class_of) {
    // A key is unique: the class in the order of rows, then the place in the row.
    std::array<std::uint32_t, kMost> keys, places{}, classes;
    keys.fill(UINT32_MAX);
    const std::size_t size = neighbors.size();
    for (std::size_t at = 0; at < size; ++at) {
      const Class of = classes[at] = class_of(at);
      const std::size_t rank = words_ == 1 ? of : of % kWord * words_ + of / kWord;
      keys[at] = static_cast<std::uint32_t>(rank * kMost + at);
    }
    for (std::size_t other = 0; other < size; ++other)
      for (std::size_t at = 0; at < kMost; ++at) places[at] += keys[other] < keys[at];
    for (std::size_t at = 0; at < size; ++at) {
      to.neighbors[places[at]] = neighbors[at];
      to.classes[places[at]] = classes[at];
    }
  }

  template <class ClassOf>
  void write_few(std::span<const Vertex> neighbors, Columns to, ClassOf&& class_of) {
    keys_.clear();
    for (std::size_t at = 0; at < neighbors.size(); ++at)
      keys_.push_back(std::uint64_t{Rows::order(class_of(at))} << 32 | neighbors[at]);
    std::sort(keys_.begin(), keys_.end());
    for (std::size_t at = 0; at < keys_.size(); ++at) {
      to.neighbors[at] = static_cast<Vertex>(keys_[at]);
      to.classes[at] = Rows::class_at(static_cast<std::uint32_t>(keys_[at] >> 32));
    }
  }

  std::size_t classes_known_, words_;
  std::vector<std::uint32_t> next_;  // by class: the number of arcs, then the place of the next; otherwise 0
  std::vector<Class> classes_;       // of the arcs of a row
  std::vector<Class> sorted_;        // the same, in the order of the row
  std::vector<std::uint64_t> keys_;
};

std::span<const Vertex> row_of(const Arcs& arcs, std::size_t vertex) {
  return arcs.neighbors.subspan(arcs.offsets[vertex], arcs.offsets[vertex + 1] - arcs.offsets[vertex]);
}

// Sorts rows by class: place(vertex) is where a row is written, done(vertex, classes) follows.
template <class Place, class Done>
void sort_rows(std::size_t begin, std::size_t end, const Arcs& arcs, const Classes& classes,
               std::size_t classes_known, Place&& place, Done&& done) {
  Sorter sorter(classes_known);
  classes.with(arcs, [&](auto&& class_of) {
    for (std::size_t at = begin; at < end; ++at) {
      const std::uint64_t first = arcs.offsets[at];
      const auto of_row = [&](std::size_t arc) { return class_of(first + arc); };
      done(at, sorter.write(row_of(arcs, at), place(at), of_row));
    }
  });
}

// Fills rows that were made.
void fill(Rows& rows, const Arcs& arcs, const Classes& classes, std::size_t classes_known,
          const Workers& workers) {
  parallel_rows(workers, arcs.offsets, kGrain, [&](std::size_t begin, std::size_t end) {
    if (classes.most() == 0) {
      for (std::size_t vertex = begin; vertex < end; ++vertex)
        std::ranges::copy(row_of(arcs, vertex), rows.neighbors(static_cast<Vertex>(vertex)));
      return;
    }
    sort_rows(
        begin, end, arcs, classes, classes_known,
        [&](std::size_t vertex) { return rows.neighbors(static_cast<Vertex>(vertex)); },
        [&](std::size_t vertex, std::span<const Class> sorted) {
          rows.set_classes(static_cast<Vertex>(vertex), sorted);
        });
  });
}

// Lends rows; returns a description of the first row that is wrong, if any.
std::string lend(Rows& rows, const Arcs& arcs, const Classes& classes, std::size_t classes_known,
                 const LentRows& lent, const Workers& workers) {
  const std::size_t expected = Rows::lent_words(arcs.offsets, classes.most());
  if (lent.blocks.size() != expected)
    return "found " + std::to_string(lent.blocks.size()) + " words, expected " + std::to_string(expected);
  rows.make_lent(arcs.offsets, classes.most(), lent.blocks, lent.memory);
  std::atomic<std::size_t> wrong{SIZE_MAX};
  parallel_rows(workers, arcs.offsets, kGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> scratch;
    sort_rows(
        begin, end, arcs, classes, classes_known,
        [&](std::size_t vertex) {
          const std::size_t size = row_of(arcs, vertex).size();
          if (scratch.size() < size) scratch.resize(2 * size);
          return scratch.data();
        },
        [&](std::size_t vertex, std::span<const Class> sorted) {
          if (rows.lends(static_cast<Vertex>(vertex), scratch, sorted)) return;
          std::size_t first = wrong.load();
          while (vertex < first && !wrong.compare_exchange_weak(first, vertex)) {
          }
        });
  });
  if (wrong == SIZE_MAX) return {};
  return "found another row " + std::to_string(wrong) + " than in the order of neighbours";
}

// Arcs by their last vertex.
struct TurnedArcs {
  std::vector<std::uint64_t> offsets;
  std::vector<Vertex> neighbors;
  std::vector<Label> labels;

  TurnedArcs(const Arcs& arcs, const Workers& workers)
      : offsets(arcs.offsets.size()), neighbors(arcs.neighbors.size()), labels(arcs.labels.size()) {
    for (Vertex target : arcs.neighbors) ++offsets[target + std::size_t{1}];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<std::uint64_t> next(offsets);
    for (std::size_t source = 0; source + 1 < arcs.offsets.size(); ++source) {
      if (source % kGrain == 0) workers.check();
      for (std::uint64_t arc = arcs.offsets[source]; arc < arcs.offsets[source + 1]; ++arc) {
        const std::uint64_t place = next[arcs.neighbors[arc]]++;
        neighbors[place] = static_cast<Vertex>(source);
        if (!labels.empty()) labels[place] = arcs.labels[arc];
      }
    }
  }
  Arcs view() const { return {offsets, neighbors, labels}; }
};

}  // namespace

void Graph::load(std::span<const Label> vertex_labels, const Arcs& out, const Arcs& in,
                 std::span<const std::uint32_t> copies, const Workers& workers) {
  if (directed_ && in.offsets.empty()) {
    const TurnedArcs turned(out, workers);
    load(vertex_labels, out, turned.view(), copies, workers);
    return;
  }
  const auto fill_rows = [&](Rows& rows, const Arcs& arcs, const Arcs& turned) {
    const Classes classes(relations_, vertex_labels, turned, workers);
    rows.make(arcs.offsets, classes.most());
    fill(rows, arcs, classes, relations_.classes().size(), workers);
  };
  fill_rows(out_, out, directed_ ? in : out);
  if (directed_) fill_rows(in_, in, out);
  finish_loading({vertex_labels.begin(), vertex_labels.end()}, out, copies, workers);
}

void Graph::load_lent(const Arcs& out, const Arcs& in, std::span<const std::uint32_t> copies,
                      const std::array<std::shared_ptr<const Arena>, 2>& lent, const Workers& workers) {
  const Class of = relations_.class_of(0, 0);
  if (of != 0) throw std::logic_error("a graph without labels has class 0 only");
  out_.make_lent(out.offsets, of, out.neighbors, lent[0]);
  if (directed_) in_.make_lent(in.offsets, of, in.neighbors, lent[1]);
  finish_loading(std::vector<Label>(out.offsets.size() - 1), out, copies, workers);
}

std::string Graph::load_in_class_order(std::span<const Label> vertex_labels, const Arcs& out, const Arcs& in,
                                       std::span<const std::uint32_t> copies, std::span<const Label> classes,
                                       const std::array<LentRows, 2>& lent, const Workers& workers) {
  for (std::size_t pair = 0; pair + 1 < classes.size(); pair += 2)
    if (relations_.class_of(classes[pair], classes[pair + 1]) != pair / 2)
      return "classes: found the labels of pair " + std::to_string(pair / 2) + " twice";
  const auto lend_rows = [&](Rows& rows, const Arcs& arcs, const Arcs& turned, const LentRows& given) {
    const Classes found(relations_, vertex_labels, turned, workers);
    return lend(rows, arcs, found, relations_.classes().size(), given, workers);
  };
  if (std::string fault = lend_rows(out_, out, directed_ ? in : out, lent[0]); !fault.empty())
    return "forward: " + fault;
  if (std::string fault = directed_ ? lend_rows(in_, in, out, lent[1]) : ""; !fault.empty())
    return "reverse: " + fault;
  finish_loading({vertex_labels.begin(), vertex_labels.end()}, out, copies, workers);
  return {};
}

ClassOrder class_order(std::span<const Label> vertex_labels, const Arcs& out, const Arcs& in,
                       const Workers& workers) {
  ClassOrder order;
  Relations relations;
  const bool directed = !in.offsets.empty();
  const auto write = [&](const Arcs& arcs, const Arcs& turned, std::vector<std::uint32_t>& blocks) {
    const Classes classes(relations, vertex_labels, turned, workers);
    blocks.resize(Rows::lent_words(arcs.offsets, classes.most()));
    Rows rows;
    rows.make_lent(arcs.offsets, classes.most(), blocks, nullptr);
    fill(rows, arcs, classes, relations.classes().size(), workers);
  };
  write(out, directed ? in : out, order.rows[0]);
  if (directed) write(in, out, order.rows[1]);
  for (const Relations::Ends& one : relations.classes())
    order.classes.insert(order.classes.end(), {one.edge, one.vertex});
  return order;
}

void Graph::take_over_lent_rows(const Workers& workers) {
  out_.take_over_lent(workers);
  in_.take_over_lent(workers);
}

// Sets all but the rows.
void Graph::finish_loading(std::vector<Label> labels, const Arcs& out, std::span<const std::uint32_t> copies,
                           const Workers& workers) {
  labels_ = std::move(labels);
  changed_.assign(labels_.size(), now_);
  edges_ = out.neighbors.size() / (directed_ ? 1 : 2);
  for (Vertex source = 0; source < vertices() && !copies.empty(); ++source) {
    if (source % kGrain == 0) workers.check();
    for (std::uint64_t arc = out.offsets[source]; arc < out.offsets[source + 1]; ++arc)
      if (copies[arc] > 1 && (directed_ || source < out.neighbors[arc]))
        set_more_copies({source, out.neighbors[arc], out.label(arc)}, copies[arc] - std::uint64_t{1});
  }
}

}  // namespace motiflux::dynamic
