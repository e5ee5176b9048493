#include "dynamic/quotients.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace motiflux::dynamic {
namespace {

// What a key names.
enum Named : std::uint32_t { kOfGroup, kOfAdjacency, kOfTable, kOfMessage, kOfScalar };

using Key = std::vector<std::uint32_t>;

void extend(Key& key, const Quotients::Row& row) {
  key.insert(key.end(), {static_cast<std::uint32_t>(row.way), row.of});
}

void extend(Key& key, Quotients::Flags flags) {
  key.insert(key.end(), {static_cast<std::uint32_t>(flags), static_cast<std::uint32_t>(flags >> 32)});
}

int neighbors_within(const auto& shape, int vertex, std::span<const int> part) {
  return static_cast<int>(std::ranges::count_if(part, [&](int other) {
    return shape.sides[static_cast<std::size_t>(vertex)][static_cast<std::size_t>(other)].has_value();
  }));
}

bool is_joined(const auto& shape, int a, int b) {
  return shape.sides[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)].has_value();
}

bool has_end(const auto& shape, int vertex) {
  return is_joined(shape, 0, vertex) || is_joined(shape, 1, vertex);
}

}  // namespace

bool Quotients::add(const Plan& plan) {
  const std::optional<Shape> shape = shape_of(plan);
  std::vector<Quotient> quotients;
  const bool room =
      std::ranges::all_of(domains_, [](const Domain& one) { return one.rows.size() <= kMostRows; });
  if (!room || !shape || !find_quotients(*shape, quotients)) {
    skip();
    return false;
  }
  const auto begin = static_cast<Number>(terms_.size());
  for (const Quotient& quotient : quotients) add_term(quotient);
  sums_.push_back({begin, static_cast<Number>(terms_.size()), plan.symmetries});
  return true;
}

Quotients::Side Quotients::turned(const Side& side) const {
  return {!directed_ || side.way == Way::kIn ? Way::kOut : Way::kIn, side.edge};
}

// Joins two vertices; false if they are joined in another way too.
bool Quotients::join(Shape& shape, int from, int to, const Side& side, const Side& back) {
  auto& there = shape.sides[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  if (there && *there != side) return false;
  there = side;
  shape.sides[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)] = back;
  return true;
}

// The pattern of a plan, without the edges between the ends, if all its vertices must differ and each query
// edge accepts one class.
std::optional<Quotients::Shape> Quotients::shape_of(const Plan& plan) const {
  if (!may_have(plan)) return std::nullopt;
  Shape shape;
  shape.labels = {ends_[0], ends_[1]};
  for (int level = 2; level < plan.levels(); ++level)
    if (!add_level(plan, level, shape)) return std::nullopt;
  return shape;
}

bool Quotients::add_level(const Plan& plan, int level, Shape& shape) const {
  std::optional<Label> label;
  for (int at = level; at != kNone; at = plan.steps[static_cast<std::size_t>(at)].reuse) {
    const Step& step = plan.steps[static_cast<std::size_t>(at)];
    if (step.allowed != kNone) return false;
    for (const Source& source : step.sources) {
      if (source.of == kNoNumber || source.before_change) return false;
      const auto& [edge, vertex] = relations_->classes()[source.of];
      if (label && *label != vertex) return false;
      label = vertex;
      const Side side{directed_ ? source.way : Way::kOut, edge};
      if (!join(shape, source.level, level, side, turned(side))) return false;
    }
  }
  if (!label) return false;
  shape.labels.push_back(*label);
  return true;
}

// Finds the quotients that have homomorphisms; false if the parts of one cannot be counted.
bool Quotients::find_quotients(const Shape& shape, std::vector<Quotient>& found) const {
  const auto size = static_cast<int>(shape.labels.size());
  std::array<int, kMostLevels> part_of{0, 1};
  const std::span<const int> parts(part_of.data(), static_cast<std::size_t>(size));
  const auto place = [&](auto&& self, int vertex, int used) -> bool {
    if (vertex == size) {
      std::optional<Quotient> one = quotient_of(shape, parts, used);
      if (!one) return false;
      found.push_back(std::move(*one));
      return true;
    }
    for (int part = 0; part <= used; ++part) {
      bool fits = true;
      for (int other = 0; other < vertex && fits; ++other)
        fits = part_of[static_cast<std::size_t>(other)] != part ||
               (shape.labels[static_cast<std::size_t>(other)] ==
                    shape.labels[static_cast<std::size_t>(vertex)] &&
                !is_joined(shape, other, vertex));
      if (!fits) continue;
      part_of[static_cast<std::size_t>(vertex)] = part;
      if (!self(self, vertex + 1, std::max(used, part + 1))) return false;
    }
    return true;
  };
  return place(place, 2, 2);
}

// A shape whose vertices are merged as `part_of` says, into `size` parts.
std::optional<Quotients::Quotient> Quotients::quotient_of(const Shape& shape, std::span<const int> part_of,
                                                          int size) const {
  Quotient found{1, {}, {}};
  found.shape.labels.resize(static_cast<std::size_t>(size));
  std::array<std::int64_t, kMostLevels> members{};
  for (std::size_t vertex = 0; vertex < part_of.size(); ++vertex) {
    const auto part = static_cast<std::size_t>(part_of[vertex]);
    found.shape.labels[part] = shape.labels[vertex];
    // (-1)^(k - 1) (k - 1)! for a part of k vertices.
    if (members[part] > 0) found.coefficient *= -members[part];
    ++members[part];
    for (std::size_t other = 0; other < vertex; ++other)
      if (const auto& side = shape.sides[other][vertex];
          side && !join(found.shape, part_of[other], part_of[vertex], *side, turned(*side)))
        return std::nullopt;
  }
  if (!is_known(found.shape)) return std::nullopt;
  std::vector<bool> seen(static_cast<std::size_t>(size));
  for (int first = 2; first < size; ++first) {
    if (seen[static_cast<std::size_t>(first)]) continue;
    std::vector<int> part{first};
    seen[static_cast<std::size_t>(first)] = true;
    for (std::size_t at = 0; at < part.size(); ++at)
      for (int other = 2; other < size; ++other)
        if (!seen[static_cast<std::size_t>(other)] && is_joined(found.shape, part[at], other)) {
          seen[static_cast<std::size_t>(other)] = true;
          part.push_back(other);
        }
    if (!is_countable(found.shape, part)) return std::nullopt;
    found.parts.push_back(std::move(part));
  }
  return found;
}

// Whether the classes of all its edges are known, seen from both ends.
bool Quotients::is_known(const Shape& shape) const {
  const auto size = static_cast<int>(shape.labels.size());
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to)
      if (is_joined(shape, from, to) && !row_of(shape, from, to)) return false;
  return true;
}

std::optional<Quotients::Row> Quotients::row_of(const Shape& shape, int from, int to) const {
  const Side& side = *shape.sides[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  const auto of = relations_->known_class(side.edge, shape.labels[static_cast<std::size_t>(to)]);
  return of ? std::optional(Row{side.way, *of}) : std::nullopt;
}

// One or two vertices, a path of three, or a triangle of neighbours of the ends.
bool Quotients::is_countable(const Shape& shape, std::span<const int> part) const {
  const bool any = std::ranges::any_of(part, [&](int vertex) { return has_end(shape, vertex); });
  const bool cyclic = part.size() == 3 && std::ranges::all_of(part, [&](int one) {
                        return neighbors_within(shape, one, part) == 2;
                      });
  return any && (!cyclic || std::ranges::all_of(part, [&](int vertex) { return has_end(shape, vertex); }));
}

void Quotients::add_term(const Quotient& quotient) {
  const auto begin = static_cast<Number>(factors_.size());
  const Shape& shape = quotient.shape;
  // The ends are joined by the changed edge.
  if (const auto& side = shape.sides[0][1]; side && *side != Side{Way::kOut, edge_}) {
    const Row row = *row_of(shape, 0, 1);
    Key key{kOfScalar, Scalar::kJoined};
    extend(key, row);
    factors_.push_back(numbered(scalars_, std::move(key), Scalar{Scalar::kJoined, row}));
  }
  for (const std::vector<int>& part : quotient.parts) factors_.push_back(scalar_of(shape, part));
  // Those that take least first: if one is 0, no other is needed.
  std::ranges::sort(factors_.begin() + begin, factors_.end(), {},
                    [&](Number one) { return std::tuple(scalars_[one].kind, one); });
  terms_.push_back({quotient.coefficient, begin, static_cast<Number>(factors_.size())});
}

// The number of homomorphisms of a part.
Quotients::Number Quotients::scalar_of(const Shape& shape, std::span<const int> part) {
  const bool cyclic = part.size() == 3 && std::ranges::all_of(part, [&](int vertex) {
                        return neighbors_within(shape, vertex, part) == 2;
                      });
  if (cyclic) return triangle_of(shape, part);
  const int root = root_of(shape, part);
  const Number group = group_of(shape, root);
  std::vector<Number> messages;
  for (int child : part)
    if (is_joined(shape, root, child)) messages.push_back(message_of(shape, root, child));
  std::ranges::sort(messages);
  Key key{kOfScalar, Scalar::kSum, group};
  key.insert(key.end(), messages.begin(), messages.end());
  const Scalar::Kind kind = messages.empty() ? Scalar::kSize : Scalar::kSum;
  return numbered(scalars_, std::move(key), Scalar{kind, {}, group, messages});
}

// The vertex of a part that is summed over, a neighbour of an end: next to all others if one is, with as few
// vertices to sum over as may be, and so that few tables are made.
int Quotients::root_of(const Shape& shape, std::span<const int> part) {
  std::optional<std::tuple<int, int, Number, bool, Number, Flags, int>> best;
  for (int vertex : part) {
    if (!has_end(shape, vertex)) continue;
    const auto [domain, flags] = place_of(shape, vertex);
    const int others = neighbors_within(shape, vertex, part);
    Number table = 0;
    if (part.size() == 3 && others == 1) {
      const int middle = *std::ranges::find_if(part, [&](int one) { return is_joined(shape, one, vertex); });
      const int end = part[0] + part[1] + part[2] - middle - vertex;
      table = known_table(shape, end, middle).value_or(~Number{0});
    }
    const std::tuple one(-others, -std::popcount(flags), table, !is_joined(shape, 0, vertex), domain, flags,
                         vertex);
    if (!best || one < *best) best = one;
  }
  return std::get<6>(*best);
}

// The table of the neighbours that a vertex next to `end` has, if there is one.
std::optional<Quotients::Number> Quotients::known_table(const Shape& shape, int end, int middle) {
  if (!has_end(shape, end)) return std::nullopt;
  const auto found = numbers_.find(table_key(shape, end, middle));
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

Quotients::Key Quotients::table_key(const Shape& shape, int end, int middle) {
  Key key{kOfTable, group_of(shape, end)};
  extend(key, *row_of(shape, end, middle));
  return key;
}

Quotients::Number Quotients::triangle_of(const Shape& shape, std::span<const int> part) {
  std::vector<std::tuple<int, Number, Flags, int>> order;
  for (int vertex : part) {
    const auto [domain, flags] = place_of(shape, vertex);
    order.emplace_back(-std::popcount(flags), domain, flags, vertex);
  }
  std::ranges::sort(order);
  const auto vertex = [&](std::size_t at) { return std::get<3>(order[at]); };
  const auto flags = [&](std::size_t at) { return std::get<2>(order[at]); };
  Scalar made{Scalar::kTriangle, {}, group_of(shape, vertex(0))};
  made.others = {flags(1), flags(2)};
  made.sides = {adjacency_of(shape, vertex(0), vertex(1)), adjacency_of(shape, vertex(0), vertex(2)),
                adjacency_of(shape, vertex(1), vertex(2))};
  Key key{kOfScalar, Scalar::kTriangle, made.group};
  for (Flags other : made.others) extend(key, other);
  key.insert(key.end(), made.sides.begin(), made.sides.end());
  return numbered(scalars_, std::move(key), std::move(made));
}

// What the vertex for `root` gets from its neighbours for `child` and, if that one is next to a third vertex,
// from the neighbours of these.
Quotients::Number Quotients::message_of(const Shape& shape, int root, int child) {
  Message made{Message::kDegree, place_of(shape, root).domain, *row_of(shape, root, child)};
  const auto size = static_cast<int>(shape.labels.size());
  int next = 0;
  for (int other = 2; other < size; ++other)
    if (other != root && is_joined(shape, child, other)) next = other;
  Key key{kOfMessage, 0, made.domain};
  extend(key, made.row);
  if (next == 0 && has_end(shape, child)) {
    made.kind = Message::kNear;
    made.adjacency = adjacency_of(shape, root, child);
    made.flags = place_of(shape, child).flags;
    key.push_back(made.adjacency);
    extend(key, made.flags);
  } else if (next != 0 && has_end(shape, next)) {
    made.kind = Message::kReach;
    made.table = numbered(tables_, table_key(shape, next, child),
                          Table{group_of(shape, next), *row_of(shape, next, child)});
    key.push_back(made.table);
  } else if (next != 0) {
    made.kind = Message::kWalk;
    made.next = *row_of(shape, child, next);
    extend(key, made.next);
  }
  key[1] = made.kind;
  return numbered(messages_, std::move(key), made);
}

// The domain and the flags of a neighbour of an end.
Quotients::Group Quotients::place_of(const Shape& shape, int vertex) {
  const Label label = shape.labels[static_cast<std::size_t>(vertex)];
  const auto found = std::ranges::find(domains_, label, &Domain::label);
  const auto domain = static_cast<Number>(found - domains_.begin());
  if (found == domains_.end()) domains_.push_back({label, {}});
  Flags flags = 0;
  for (int root : {0, 1})
    if (is_joined(shape, root, vertex))
      flags |= flag_of(domain, {static_cast<std::uint32_t>(root), *row_of(shape, root, vertex)});
  return {domain, flags};
}

Quotients::Number Quotients::group_of(const Shape& shape, int vertex) {
  const Group made = place_of(shape, vertex);
  Key key{kOfGroup, made.domain};
  extend(key, made.flags);
  return numbered(groups_, std::move(key), made);
}

Quotients::Flags Quotients::flag_of(Number domain, const RootRow& row) {
  std::vector<RootRow>& rows = domains_[domain].rows;
  const auto at = std::ranges::find(rows, row) - rows.begin();
  if (at == static_cast<std::ptrdiff_t>(rows.size())) rows.push_back(row);
  return Flags{1} << at;
}

Quotients::Number Quotients::adjacency_of(const Shape& shape, int from, int to) {
  const Number domain = place_of(shape, from).domain, other = place_of(shape, to).domain;
  const Row row = *row_of(shape, from, to);
  Key key{kOfAdjacency, domain, other};
  extend(key, row);
  return numbered(adjacencies_, std::move(key), Adjacency{domain, other, row});
}

template <class Made>
Quotients::Number Quotients::numbered(std::vector<Made>& all, Key key, Made made) {
  const auto [at, fresh] = numbers_.try_emplace(std::move(key), static_cast<Number>(all.size()));
  if (fresh) all.push_back(std::move(made));
  return at->second;
}

}  // namespace motiflux::dynamic
