// Numbers of matches as sums over quotients of patterns, which many plans have in common.
//
// An injective map is a homomorphism that maps no two vertices to one. By inclusion and exclusion, their
// number is a sum over the partitions of the pattern's vertices: plus or minus the number of homomorphisms of
// the pattern with each part merged into one vertex, its quotient (Curticapean, Dell and Marx, "Homomorphisms
// are a good basis for counting small subgraphs"). With the pair of a changed edge matched, what
// is left of a quotient falls apart, and the numbers of its parts multiply:
//
//     u --- v          5-cycle = homomorphisms of the cycle
//     |     |                    - those with x = y          (x joined to u and v, and a neighbour of x)
//     x     y                    - those with z = u, ...
//      \   /
//        z
//
// The parts do not depend on which vertices must differ, so few different ones occur: 39 plans of 50 patterns
// over three labels had 142 parts, of which 55 were different. Each is counted once for an update, from the
// neighbours of the two ends (dynamic/quotient_sums.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "dynamic/plan.hpp"
#include "dynamic/relations.hpp"

namespace motiflux::dynamic {

// The numbers that the plans of a forest need, each once. Vertices of one label that are neighbours of an end
// are a *domain*; flags say by which rows of the ends.
class Quotients {
 public:
  using Number = std::uint32_t;
  using Flags = std::uint64_t;

  // The plans that are counted so have at most this many levels: then no number exceeds 64 bits for a vertex
  // and 126 bits in all.
  static constexpr int kMostLevels = 5;
  // A plan adds at most 40 rows to a domain, each with a bit in Flags.
  static constexpr std::size_t kMostRows = 24;

  // Neighbours of a vertex: in which rows, of which class.
  struct Row {
    Way way;
    Class of;
    auto operator<=>(const Row&) const = default;
  };
  struct RootRow {
    std::uint32_t root;  // 0 or 1
    Row row;
    auto operator<=>(const RootRow&) const = default;
  };
  struct Domain {
    Label label;
    std::vector<RootRow> rows;  // by flag
  };
  // The vertices of a domain with these flags.
  struct Group {
    Number domain;
    Flags flags;
  };
  // The neighbours, in domain `to`, of the vertices of domain `from`.
  struct Adjacency {
    Number from, to;
    Row row;
  };
  // For every vertex: the number of its neighbours in a group; `back`: from these to it.
  struct Table {
    Number group;
    Row back;
  };
  // A number for each vertex of a domain.
  struct Message {
    enum Kind : std::uint32_t {
      kDegree,  // of its neighbours
      kNear,    // of its neighbours in a domain, with these flags
      kWalk,    // of pairs of a neighbour and a neighbour of that one
      kReach    // the sum over its neighbours of their numbers in a table
    };
    Kind kind;
    Number domain;
    Row row{};
    Number adjacency = 0;  // kNear
    Flags flags = 0;
    Row next{};        // kWalk
    Number table = 0;  // kReach
  };
  // A number for the pair.
  struct Scalar {
    enum Kind : std::uint32_t {
      kJoined,   // 1 if the second end is in this row of the first
      kSize,     // of a group
      kSum,      // over the vertices of a group, of the product of their messages, one or two
      kTriangle  // triangles of a vertex of a group and two others
    };
    Kind kind;
    Row row{};
    Number group = 0;
    std::vector<Number> messages{};
    // kTriangle: the flags of the two others, and the adjacencies from the first to each and between these.
    std::array<Flags, 2> others{};
    std::array<Number, 3> sides{};
  };
  // A product of numbers times a coefficient: factors()[begin] to before factors()[end].
  struct Term {
    std::int64_t coefficient;
    Number begin, end;
  };
  // terms()[begin] to before terms()[end], divided.
  struct Sum {
    Number begin = 0, end = 0;
    std::uint64_t divisor = 1;
  };

  // `first`, `second`: the labels of the ends; `edge`: that of the changed edge, which is from the first to
  // the second.
  Quotients(const Relations& relations, bool directed, Label first, Label second, Label edge)
      : relations_(&relations), directed_(directed), ends_{first, second}, edge_(edge) {}

  // False for plans that are never counted so.
  static bool may_have(const Plan& plan) {
    return plan.symmetries != 0 && plan.levels() >= 3 && plan.levels() <= kMostLevels;
  }
  // Adds the next plan of the forest. Returns whether its matches are counted so.
  bool add(const Plan& plan);
  // Notes that those of the next plan are not.
  void skip() { sums_.emplace_back(); }

  const Sum& sum(std::size_t number) const { return sums_[number]; }
  std::span<const Term> terms() const { return terms_; }
  std::span<const Number> factors() const { return factors_; }
  std::span<const Group> groups() const { return groups_; }
  std::span<const Domain> domains() const { return domains_; }
  std::span<const Adjacency> adjacencies() const { return adjacencies_; }
  std::span<const Table> tables() const { return tables_; }
  std::span<const Message> messages() const { return messages_; }
  std::span<const Scalar> scalars() const { return scalars_; }

 private:
  // How vertices are joined, seen from the first.
  struct Side {
    Way way;
    Label edge;
    bool operator==(const Side&) const = default;
  };
  // The pattern of a plan, or a quotient: vertices 0 and 1 are the ends.
  struct Shape {
    std::vector<Label> labels;
    std::array<std::array<std::optional<Side>, kMostLevels>, kMostLevels> sides{};
  };
  struct Quotient {
    std::int64_t coefficient;
    Shape shape;
    std::vector<std::vector<int>> parts;  // of the quotient without the ends
  };
  using Key = std::vector<std::uint32_t>;

  Side turned(const Side& side) const;
  static bool join(Shape& shape, int from, int to, const Side& side, const Side& back);
  std::optional<Shape> shape_of(const Plan& plan) const;
  bool add_level(const Plan& plan, int level, Shape& shape) const;
  bool find_quotients(const Shape& shape, std::vector<Quotient>& found) const;
  std::optional<Quotient> quotient_of(const Shape& shape, std::span<const int> part_of, int size) const;
  bool is_countable(const Shape& shape, std::span<const int> part) const;
  bool is_known(const Shape& shape) const;
  std::optional<Row> row_of(const Shape& shape, int from, int to) const;

  void add_term(const Quotient& quotient);
  int root_of(const Shape& shape, std::span<const int> part);
  std::optional<Number> known_table(const Shape& shape, int end, int middle);
  Number scalar_of(const Shape& shape, std::span<const int> part);
  Number triangle_of(const Shape& shape, std::span<const int> part);
  Number message_of(const Shape& shape, int root, int child);
  Group place_of(const Shape& shape, int vertex);
  Number group_of(const Shape& shape, int vertex);
  Key table_key(const Shape& shape, int end, int middle);
  Flags flag_of(Number domain, const RootRow& row);
  Number adjacency_of(const Shape& shape, int from, int to);
  template <class Made>
  Number numbered(std::vector<Made>& all, Key key, Made made);

  const Relations* relations_;
  bool directed_;
  std::array<Label, 2> ends_;
  Label edge_;
  std::vector<Sum> sums_;
  std::vector<Term> terms_;
  std::vector<Number> factors_;
  std::vector<Domain> domains_;
  std::vector<Group> groups_;
  std::vector<Adjacency> adjacencies_;
  std::vector<Table> tables_;
  std::vector<Message> messages_;
  std::vector<Scalar> scalars_;
  std::map<Key, Number> numbers_;
};

}  // namespace motiflux::dynamic
