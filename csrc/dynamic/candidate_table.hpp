// Which data vertices can be matched to which query vertices, by the neighbours that they have (GAMMA,
// section IV-B).
//
//   code of vertex v:   label   [ 0 1 1 | 0 0 1 | ... ]     for each kind of neighbours, 1s for their number
//   code of column c:   labels  [ 0 0 1 | 0 0 1 | ... ]     v is a candidate if it has all 1s of c
//   table:              v -> a bit for each column          columns of one label set share the kinds
//
// A kind is what a query edge asks of the other end: a direction, labels of the edge and of the neighbour.
// The number of neighbours of a kind is a thermometer code: as many 1s as there are neighbours, up to bits().
// The label has no bits: vertices are encoded with the kinds that columns of their label ask for, so no other
// column can be met.
//
// A vertex is encoded from its rows, which hold the neighbours by class; the code is not kept. So nothing can
// get out of step with deletions, and a vertex is encoded anew only if its rows change and the number of the
// neighbours of a class may be less than bits() before or afterwards. While the graph holds every edge of a
// run, candidates are those of any of its moments.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "dynamic/relations.hpp"
#include "dynamic/rows.hpp"

namespace motiflux::dynamic {

class Graph;

// A query vertex.
struct CandidateColumn {
  struct Kind {
    Way way;
    std::uint32_t target;
    bool operator==(const Kind&) const = default;
  };
  struct Item {
    Kind kind;
    std::uint32_t least;  // neighbours
    bool operator==(const Item&) const = default;
  };

  LabelSet labels;
  std::vector<Item> items;
  bool operator==(const CandidateColumn&) const = default;
};

class CandidateTable {
 public:
  static constexpr std::uint32_t kWordBits = 64, kMostBits = 8;

  // Replaces the columns: all vertices are encoded, unless they are the same columns. `bits`: those of a
  // kind.
  void set(const Graph& graph, std::vector<CandidateColumn> columns, std::uint32_t bits);
  bool is_used() const { return width_ > 0; }
  std::uint32_t bits() const { return bits_; }
  // Words of a vertex.
  std::uint32_t width() const { return width_; }
  // Changes whenever all vertices are encoded.
  std::uint64_t version() const { return version_; }
  const std::vector<CandidateColumn>& columns() const { return columns_; }

  // Whether a vertex is a candidate for all columns of a word.
  bool has(Vertex vertex, std::uint32_t word, std::uint64_t columns) const {
    return (columns & ~words_[std::size_t{vertex} * width_ + word]) == 0;
  }
  std::span<const std::uint64_t> words() const { return words_; }

  // New vertices have no neighbours, so they are no candidates.
  void cover(std::uint32_t vertices);
  // Encodes a vertex whose rows have changed, and adds the columns that it is a candidate for now but was not
  // before to `gained`, width() words. Threads may encode vertices at once that are in different blocks
  // of 64.
  void encode(const Graph& graph, Vertex vertex, std::uint64_t* gained);
  // Whether a change of one neighbour, after which there are `size` in its class, leaves the code as it was.
  bool is_saturated(std::size_t size) const { return size > bits_; }

  // The vertices whose words have changed since the last call, ascending; the calls so far.
  std::vector<Vertex> take_changed();
  std::uint64_t taken() const { return taken_; }
  std::size_t bytes() const { return (words_.capacity() + changed_.capacity()) * sizeof(std::uint64_t); }

 private:
  // Words of a code. Neighbours of further kinds are not asked for.
  static constexpr std::size_t kMostWords = 8;
  using Code = std::array<std::uint64_t, kMostWords>;
  struct Wanted {
    std::uint32_t column;
    Code code;
  };
  // What is asked of the vertices of a label.
  struct OfLabel {
    std::vector<CandidateColumn::Kind> kinds;
    std::vector<Wanted> wanted;
    std::size_t words = 0;
  };

  void encode_all(const Graph& graph);
  OfLabel asked_of(Label label) const;
  Code code_of(const Graph& graph, Vertex vertex, const OfLabel& asked) const;
  std::uint32_t count(const Graph& graph, Vertex vertex, const CandidateColumn::Kind& kind) const;
  const OfLabel& of_label(Label label) const {
    return of_label_[label < of_label_.size() ? label : of_label_.size() - 1];
  }

  std::vector<CandidateColumn> columns_;
  std::uint32_t bits_ = 0, width_ = 0;
  std::uint64_t version_ = 0, taken_ = 0;
  std::vector<OfLabel> of_label_;       // the last one: of all greater labels
  std::vector<std::uint64_t> words_;    // by vertex
  std::vector<std::uint64_t> changed_;  // a bit for each vertex
};

}  // namespace motiflux::dynamic
