// Evaluates the numbers of Quotients for one changed edge, each when it is first needed.
//
// The domains hold the neighbours of the two ends, some dozens, each with a position; everything else is a
// number for each position, or a list of positions:
//
//     domain      [ x0 | x1 | x2 | x3 ]     neighbours of u or v of one label, ascending
//     flags       [ u  | uv | v  | u  ]     the rows of the ends that have them
//     group       u: {0, 1, 3}              positions with some flags
//     message     [ 4  | 2  | 7  | 1  ]     for example, their neighbours of a class
//     adjacency   x0: {1, 4}  x1: {0} ...   positions of their neighbours in a domain
//
// A row of an adjacency is found by looking up a row of the graph in a hash table of all positions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/total.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/local_vertices.hpp"
#include "dynamic/quotients.hpp"
#include "sets/intersect.hpp"
#include "sets/span.hpp"

namespace motiflux::dynamic {

// A View is as for Matcher; it has no holes.
template <class View>
class QuotientSums {
 public:
  // Begins an update from `first` to `second`, whose plans are those of `quotients`. Returns false if the
  // ends have more than `most` neighbours; then nothing can be counted.
  bool begin(const Quotients& quotients, const View& view, Vertex first, Vertex second, std::size_t most);

  // The number of matches that the search of a plan would find. Calls spend(vertices read) now and then,
  // which may throw.
  template <class Spend>
  Total count(std::size_t plan, Spend&& spend) {
    const Quotients::Sum& sum = quotients_->sum(plan);
    Signed total = 0;
    for (Number one = sum.begin; one < sum.end; ++one) {
      const Quotients::Term& term = quotients_->terms()[one];
      Signed product = term.coefficient;
      for (Number factor = term.begin; factor < term.end && product != 0; ++factor) {
        product *= scalar(quotients_->factors()[factor]);
        if (work_ > kMuchWork) spend(std::exchange(work_, 0));
      }
      total += product;
    }
    const auto found = static_cast<Total>(total);
    if (sum.divisor == 1) return found;
    return found <= UINT64_MAX ? static_cast<std::uint64_t>(found) / sum.divisor : found / sum.divisor;
  }

 private:
  __extension__ using Signed = __int128;
  using Number = Quotients::Number;
  using Flags = Quotients::Flags;
  using Row = Quotients::Row;
  using Message = Quotients::Message;
  using Scalar = Quotients::Scalar;
  using PositionList = std::span<const std::uint32_t>;

  struct Known {
    bool is = false;
    Signed value = 0;
  };
  struct Members {
    bool are = false;
    std::vector<std::uint32_t> positions;
  };
  // Numbers by position.
  struct Values {
    bool are = false;
    std::vector<std::uint64_t> all;
  };
  // Of position p, `size[p]` positions from all[begin[p]] on.
  struct Lists {
    bool are = false;
    std::vector<std::uint32_t> begin, size, all;
    std::uint32_t used = 0;
  };
  struct Counted {
    bool are = false, fit = false;
    VertexTable counts;
  };
  static constexpr std::uint64_t kUnknown = UINT64_MAX;
  static constexpr std::uint32_t kNoList = UINT32_MAX;
  // A row this many times as long as a domain is searched for the members of the domain.
  static constexpr std::size_t kMuchLonger = 16;
  static constexpr std::size_t kMuchWork = 1 << 12;
  // Vertices in the rows of a table, which then has at most 8 MB.
  static constexpr std::size_t kMostCounted = 1 << 18;

  sets::Span row_of(Vertex vertex, const Row& row, std::vector<Vertex>& scratch) const {
    return view_->class_row(vertex, row.way, row.of, scratch);
  }
  static bool has(Flags flags, Flags asked) { return (flags & asked) == asked; }

  bool find_domains(std::size_t most);
  PositionList members(Number group);
  Signed scalar(Number number) {
    Known& known = scalars_[number];
    if (!known.is) known = {true, find_scalar(quotients_->scalars()[number])};
    return known.value;
  }
  Signed find_scalar(const Scalar& asked);
  Signed triangles(const Scalar& asked);
  const std::uint64_t* values(Number number, PositionList positions);
  std::uint64_t find_value(const Message& asked, std::size_t at);
  PositionList near(Number number, std::size_t at);
  const VertexTable* table(Number number);

  const Quotients* quotients_ = nullptr;
  const View* view_ = nullptr;
  std::array<Vertex, 2> ends_{};
  std::size_t work_ = 0;  // vertices read since the last call of spend()
  VertexTable positions_;
  // By number.
  std::vector<LocalVertices> domains_;
  std::vector<Members> groups_;
  std::vector<Known> scalars_;
  std::vector<Values> messages_;
  std::vector<Lists> adjacencies_;
  std::vector<Counted> tables_;
  LocalVertices merged_;
  std::vector<std::uint32_t> thirds_;
  std::vector<Vertex> scratch_, more_scratch_;
  sets::Policy policy_;
};

template <class View>
bool QuotientSums<View>::begin(const Quotients& quotients, const View& view, Vertex first, Vertex second,
                               std::size_t most) {
  quotients_ = &quotients;
  view_ = &view;
  ends_ = {first, second};
  if (!find_domains(most)) return false;
  const auto start = [](auto& all, std::size_t size, auto is) {
    if (all.size() < size) all.resize(size);
    for (auto& one : std::span(all).first(size)) one.*is = false;
  };
  start(groups_, quotients.groups().size(), &Members::are);
  start(scalars_, quotients.scalars().size(), &Known::is);
  start(messages_, quotients.messages().size(), &Values::are);
  start(adjacencies_, quotients.adjacencies().size(), &Lists::are);
  start(tables_, quotients.tables().size(), &Counted::are);
  return true;
}

// Finds the neighbours of the ends, at most `most`.
template <class View>
bool QuotientSums<View>::find_domains(std::size_t most) {
  const auto asked = quotients_->domains();
  if (domains_.size() < asked.size()) domains_.resize(asked.size());
  std::size_t size = 0;
  for (std::size_t number = 0; number < asked.size(); ++number) {
    LocalVertices& domain = domains_[number];
    domain.clear();
    Flags flag = 1;
    for (const Quotients::RootRow& one : asked[number].rows) {
      const sets::Span row = row_of(ends_[one.root], one.row, scratch_);
      size += row.size();
      if (size > most) return false;
      domain.merge(row, flag, merged_);
      flag <<= 1;
    }
  }
  work_ += size;
  positions_.start(size);
  for (std::size_t number = 0; number < asked.size(); ++number)
    for (std::uint32_t at = 0; at < domains_[number].size(); ++at)
      positions_.add(domains_[number].vertices[at], at);
  return true;
}

// The positions of a group.
template <class View>
std::span<const std::uint32_t> QuotientSums<View>::members(Number group) {
  Members& found = groups_[group];
  if (!found.are) {
    const auto& [domain, asked] = quotients_->groups()[group];
    const std::vector<Flags>& flags = domains_[domain].flags;
    found.positions.resize(flags.size());
    std::size_t size = 0;
    for (std::uint32_t at = 0; at < flags.size(); ++at) {
      found.positions[size] = at;
      size += has(flags[at], asked);
    }
    found.positions.resize(size);
    found.are = true;
  }
  return found.positions;
}

template <class View>
auto QuotientSums<View>::find_scalar(const Scalar& asked) -> Signed {
  if (asked.kind == Scalar::kJoined) return sets::contains(row_of(ends_[0], asked.row, scratch_), ends_[1]);
  const PositionList positions = members(asked.group);
  if (asked.kind == Scalar::kSize) return static_cast<Signed>(positions.size());
  if (positions.empty()) return 0;
  if (asked.kind == Scalar::kTriangle) return triangles(asked);
  Signed sum = 0;
  const std::uint64_t* const first = values(asked.messages[0], positions);
  if (asked.messages.size() == 1) {
    for (std::uint32_t at : positions) sum += first[at];
    return sum;
  }
  const std::uint64_t* const second = values(asked.messages[1], positions);
  for (std::uint32_t at : positions) sum += first[at] * second[at];
  return sum;
}

template <class View>
auto QuotientSums<View>::triangles(const Scalar& asked) -> Signed {
  const auto flags_of = [&](Number side) -> const std::vector<Flags>& {
    return domains_[quotients_->adjacencies()[side].to].flags;
  };
  const std::vector<Flags>&second = flags_of(asked.sides[0]), &third = flags_of(asked.sides[1]);
  std::uint64_t sum = 0;  // at most the square of a row for each vertex
  Signed total = 0;
  for (std::uint32_t at : members(asked.group)) {
    thirds_.clear();
    for (std::uint32_t one : near(asked.sides[1], at))
      if (has(third[one], asked.others[1])) thirds_.push_back(one);
    if (thirds_.empty()) continue;
    const std::size_t seconds = near(asked.sides[0], at).size();
    sum = 0;
    for (std::size_t one = 0; one < seconds; ++one) {
      const std::uint32_t other = near(asked.sides[0], at)[one];  // lists move when others are made
      if (!has(second[other], asked.others[0])) continue;
      const PositionList list = near(asked.sides[2], other);
      work_ += std::min(list.size(), thirds_.size());
      for (std::size_t a = 0, b = 0; a < list.size() && b < thirds_.size();) {
        const std::uint32_t mine = list[a], its = thirds_[b];
        sum += mine == its;
        a += mine <= its;
        b += its <= mine;
      }
    }
    total += sum;
  }
  return total;
}

// The numbers of a message, of which those at `positions` are known.
template <class View>
const std::uint64_t* QuotientSums<View>::values(Number number, PositionList positions) {
  const Message& asked = quotients_->messages()[number];
  Values& found = messages_[number];
  if (!found.are) {
    found.are = true;
    found.all.assign(domains_[asked.domain].size(), kUnknown);
  }
  std::uint64_t* const all = found.all.data();
  for (std::uint32_t at : positions)
    if (all[at] == kUnknown) all[at] = find_value(asked, at);
  return all;
}

template <class View>
std::uint64_t QuotientSums<View>::find_value(const Message& asked, std::size_t at) {
  std::uint64_t sum = 0;
  if (asked.kind == Message::kNear) {
    const std::vector<Flags>& flags = domains_[quotients_->adjacencies()[asked.adjacency].to].flags;
    for (std::uint32_t other : near(asked.adjacency, at)) sum += has(flags[other], asked.flags);
    return sum;
  }
  const sets::Span row = row_of(domains_[asked.domain].vertices[at], asked.row, scratch_);
  if (asked.kind == Message::kDegree) return row.size();
  work_ += row.size();
  if (asked.kind == Message::kWalk) {
    const Rows& rows = view_->graph.rows(asked.next.way);
    for (Vertex vertex : row) rows.prefetch(vertex);
    for (Vertex vertex : row) sum += row_of(vertex, asked.next, more_scratch_).size();
    return sum;
  }
  if (const VertexTable* counts = table(asked.table)) return counts->sum(row);
  const Quotients::Table& rows = quotients_->tables()[asked.table];
  const LocalVertices& others = domains_[quotients_->groups()[rows.group].domain];
  for (std::uint32_t other : members(rows.group)) {
    const sets::Span back = row_of(others.vertices[other], rows.back, more_scratch_);
    work_ += std::min(row.size(), back.size());
    sum += sets::count_common(row, back, policy_);
  }
  return sum;
}

// The positions, in a domain, of the neighbours of the vertex at a position of another, ascending.
template <class View>
std::span<const std::uint32_t> QuotientSums<View>::near(Number number, std::size_t at) {
  Lists& lists = adjacencies_[number];
  const Quotients::Adjacency& adjacency = quotients_->adjacencies()[number];
  const LocalVertices &from = domains_[adjacency.from], &to = domains_[adjacency.to];
  if (!lists.are) {
    lists.are = true;
    lists.begin.resize(from.size());
    lists.size.assign(from.size(), kNoList);
    lists.used = 0;
  }
  if (lists.size[at] == kNoList) {
    const sets::Span row = row_of(from.vertices[at], adjacency.row, scratch_);
    const std::size_t most = lists.used + std::min(row.size(), kMuchLonger * to.size());
    if (lists.all.size() < most) lists.all.resize(2 * most);
    std::uint32_t* const found = lists.all.data() + lists.used;
    std::size_t size = 0;
    if (row.size() <= kMuchLonger * to.size()) {
      size = positions_.find(row, found);
    } else {
      for (std::uint32_t other = 0; other < to.size(); ++other)
        if (sets::contains(row, to.vertices[other])) found[size++] = other;
    }
    work_ += std::min(row.size(), kMuchLonger * to.size());
    lists.begin[at] = lists.used;
    lists.size[at] = static_cast<std::uint32_t>(size);
    lists.used += static_cast<std::uint32_t>(size);
  }
  return std::span(lists.all).subspan(lists.begin[at], lists.size[at]);
}

// A table, or null if it would take too much memory.
template <class View>
const VertexTable* QuotientSums<View>::table(Number number) {
  Counted& found = tables_[number];
  if (found.are) return found.fit ? &found.counts : nullptr;
  const Quotients::Table& asked = quotients_->tables()[number];
  const LocalVertices& domain = domains_[quotients_->groups()[asked.group].domain];
  const auto for_each_row = [&](auto&& visit) {
    for (std::uint32_t at : members(asked.group))
      visit(row_of(domain.vertices[at], asked.back, more_scratch_));
  };
  std::size_t size = 0;
  for_each_row([&](sets::Span row) { size += row.size(); });
  work_ += domain.size();
  found.are = true;
  found.fit = size <= kMostCounted;
  if (!found.fit) return nullptr;
  work_ += size;
  found.counts.start(size);
  for_each_row([&](sets::Span row) { found.counts.count(row); });
  return &found.counts;
}

}  // namespace motiflux::dynamic
