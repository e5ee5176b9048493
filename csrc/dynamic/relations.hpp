// Conditions of query edges on data edges, and the classes that rows are sorted by.
//
// A class is a pair (label of an edge, label of the vertex at its other end). A relation is the set of data
// edges that a query edge accepts: by edge labels, one way or either way. The neighbours of a vertex by a
// relation and vertex labels are a union of the runs of a few classes: a target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dynamic/flat_map.hpp"
#include "dynamic/rows.hpp"

namespace motiflux::dynamic {

using Label = std::uint32_t;

// From this code on, labels belong to temporary edges (Monitor::stand_ins): kStandIn + r is accepted only by
// relation r.
inline constexpr Label kStandIn = Label{1} << 31;

// Codes, ascending; no value: all.
struct LabelSet {
  std::optional<std::vector<Label>> codes;

  bool has(Label label) const { return !codes || std::binary_search(codes->begin(), codes->end(), label); }
  bool operator==(const LabelSet&) const = default;
};

// The direction of an edge, seen from one of its ends.
enum class Way : std::uint8_t { kOut, kIn, kEither };

struct Relation {
  LabelSet labels;
  bool either = false;
  // Relations that other labels may join (Relations::accept) are numbered: those that accept the same labels
  // now need not do so later. 0: no other labels.
  std::uint32_t growing = 0;
  bool operator==(const Relation&) const = default;
};

struct Target {
  std::uint32_t relation;
  LabelSet vertices;
  // The whole row, all classes; otherwise the runs of `classes`.
  bool everything = false;
  std::vector<Class> classes;
};

class Relations {
 public:
  struct Ends {
    Label edge, vertex;
  };

  std::uint32_t relation(const Relation& relation);
  std::uint32_t target(std::uint32_t relation, const LabelSet& vertices);
  // Has growing relations accept a label that no edge ever had.
  void accept(Label label, std::span<const std::uint32_t> relations);

  // The class of two labels, created if new.
  Class class_of(Label edge, Label vertex) {
    const Class* number = known(edge, vertex);
    return number != nullptr ? *number : make_class(edge, vertex);
  }
  std::optional<Class> known_class(Label edge, Label vertex) const {
    const Class* number = known(edge, vertex);
    return number != nullptr ? std::optional(*number) : std::nullopt;
  }

  const std::vector<Relation>& all() const { return relations_; }
  std::uint32_t targets() const { return static_cast<std::uint32_t>(targets_.size()); }
  const Target& target(std::uint32_t number) const { return targets_[number]; }
  const std::vector<Ends>& classes() const { return classes_; }
  // The classes that lead to vertices of a label.
  const std::vector<Class>& classes_to(Label vertex) const;
  bool accepts(std::uint32_t relation, Label edge) const;
  // Whether at most one edge between two vertices can satisfy the relation.
  bool one_witness(std::uint32_t relation) const;

 private:
  Class make_class(Label edge, Label vertex);

  struct Key {
    std::uint64_t word = 0;
    bool operator==(const Key&) const = default;
    std::uint64_t hash() const { return mixed(word); }
  };
  static constexpr Label kDirect = 1 << 10;
  static constexpr Class kUnknown = ~Class{0};

  static Key key(Label edge, Label vertex) { return {std::uint64_t{edge} << 32 | vertex}; }
  void find_classes(Target& target) const;
  const Class* known(Label edge, Label vertex) const {
    if (edge < kDirect && vertex < kDirect) {
      const auto& row = direct_;
      if (edge >= row.size() || vertex >= row[edge].size() || row[edge][vertex] == kUnknown) return nullptr;
      return &row[edge][vertex];
    }
    return numbers_.find(key(edge, vertex));
  }

  std::vector<Relation> relations_;
  std::vector<Target> targets_;
  std::vector<Ends> classes_;
  std::vector<std::vector<Class>> by_vertex_;
  std::vector<std::vector<Class>> direct_;  // of small labels
  FlatMap<Key, Class> numbers_;             // of others
  bool stand_ins_ = false;
  bool several_edge_labels_ = false;
};

}  // namespace motiflux::dynamic
