#include "dynamic/compared_search.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace motiflux::dynamic {
namespace {

// A window of at most this many copies is searched without looking for a smaller one.
constexpr std::size_t kFew = 4;

// Copies of a window from which on those between two vertices are looked up instead.
constexpr std::size_t kLookUp = 64;

// Choices that are tried one after the other before they are decided otherwise.
constexpr std::size_t kMostTrials = 256;

// Steps between two looks at the watch: some 50 microseconds.
constexpr std::size_t kLook = 4096;

bool less(bool floats, std::int64_t a, std::int64_t b) {
  return floats ? std::bit_cast<double>(a) < std::bit_cast<double>(b) : a < b;
}

// The first of a row's entries from `first` to `last` for which `fits` holds; it holds for a suffix. Looks
// near the end first: there are the latest copies.
template <class Entry, class Fits>
const Entry* first_that(const Entry* first, const Entry* last, Fits&& fits) {
  std::ptrdiff_t step = 1;
  while (last - first >= step && fits(last[-step])) {
    last -= step;
    step *= 2;
  }
  const Entry* const begin = last - first > step ? last - step : first;
  return std::partition_point(begin, last, [&](const Entry& entry) { return !fits(entry); });
}

template <class Visit>
void for_each_of(std::uint32_t bits, Visit&& visit) {
  for (; bits != 0; bits &= bits - 1) visit(std::countr_zero(bits));
}

}  // namespace

ComparedSearch::ComparedSearch(const ComparedPattern& pattern, const ComparedCopies& copies,
                               const Graph& graph, const Allowed& lists)
    : pattern_(pattern),
      copies_(copies),
      graph_(graph),
      lists_(lists),
      variables_(static_cast<int>(pattern.variables.size())),
      reach_(pattern.network),
      network_(pattern.network),
      choices_(network_) {
  const auto size = pattern.variables.size();
  checks_.resize(size);
  for (std::size_t c = 0; c < network_.comparisons.size(); ++c) {
    const copies::Comparison& one = network_.comparisons[c];
    checks_[at(one.left)].push_back({static_cast<int>(c), one.right});
    if (one.left != one.right) checks_[at(one.right)].push_back({static_cast<int>(c), one.left});
  }
  values_.resize(size);
  for (std::size_t v = 0; v < size; ++v) {
    most_columns_ = std::max(most_columns_, pattern.variables[v].columns.size());
    values_[v].resize(pattern.variables[v].columns.size());
  }
  ahead_.assign(pattern.edges.size(), std::numeric_limits<std::int64_t>::min());
  for (std::size_t e = 0; e < ahead_.size(); ++e)
    for (const Edge& other : pattern.edges) {
      const Edge& own = pattern.edges[e];
      if (&own == &other || !own.by_value || !other.by_value || own.index != other.index) continue;
      if (reach_.floats(own.variable, 0)) continue;
      ahead_[e] = std::max(ahead_[e], reach_.differences(other.variable, own.variable).low);
    }
  image_.resize(pattern.vertices.size());
  edge_matched_.assign(pattern.edges.size(), 0);
  domains_.resize(pattern.edges.size());
  is_known_.assign(size, 0);
  low_.resize(size * most_columns_);
  high_.resize(size * most_columns_);
  bounds_.resize(most_columns_);
  own_.resize(most_columns_);
  lists_of_.resize(size);
  ranges_.resize(size);
  choices_.watch([this](std::size_t) { return keep_searching(); });
}

Total ComparedSearch::search(const Task& task, Column<Vertex>* rows, Watch& watch) {
  task_ = task;
  edge_ = copies_.copies().edge(task.row);
  count_ = 0;
  rows_ = rows;
  watch_ = &watch;
  try {
    for (int n = 0; task.inverse && n < static_cast<int>(pattern_.negated.size()); ++n) {
      const Edge& edge = pattern_.negated[at(n)].edge;
      if (!accepts_copy(edge, task.row)) continue;
      begin_without(n, edge_.source, edge_.target);
      if (edge.either) begin_without(n, edge_.target, edge_.source);
    }
    for (int e = 0; !task.inverse && e < static_cast<int>(pattern_.edges.size()); ++e) {
      if (comes_too_early(e, task.row) || !accepts_copy(pattern_.edges[at(e)], task.row)) continue;
      begin(e, task.row, edge_.source, edge_.target);
      if (pattern_.edges[at(e)].either) begin(e, task.row, edge_.target, edge_.source);
    }
  } catch (const copies::Stopped&) {
    throw Stopped();
  }
  return count_;
}

// Whether another query edge needs a greater value than any copy has: in an order of time, all query edges
// but the last one wait for later copies.
bool ComparedSearch::comes_too_early(int e, Row row) const {
  if (ahead_[at(e)] == std::numeric_limits<std::int64_t>::min()) return false;
  const Edge& edge = pattern_.edges[at(e)];
  std::int64_t least;
  if (__builtin_add_overflow(value(edge.variable, 0, row), ahead_[at(e)], &least)) return false;
  return least > copies_.highest(edge.index, task_.view.came);
}

// Searches the embeddings in which a query edge has the copy.
void ComparedSearch::begin(int edge, Row row, Vertex source, Vertex target) {
  const Edge& own = pattern_.edges[at(edge)];
  root_ = edge;
  vertices_matched_ = 0;
  back_to({0, 0, 0});
  candidates_.assign(1, {0, target, row});
  work(1);
  if (!match_vertex(own.source, source) || !match_vertex(own.target, target)) return;
  if (own.variable >= 0) {
    for (std::size_t c = 0; c < pattern_.variables[at(own.variable)].columns.size(); ++c)
      own_[c] = value(own.variable, static_cast<int>(c), row);
    if (!agrees(own.variable, own_.data())) return;
  }
  match_edge(edge, {0, 1});
  descend();
}

// Searches the embeddings in which the copy is where a negated edge must not be.
void ComparedSearch::begin_without(int negated, Vertex source, Vertex target) {
  const ComparedPattern::Negated& own = pattern_.negated[at(negated)];
  root_ = negated;
  vertices_matched_ = 0;
  back_to({0, 0, 0});
  candidates_.clear();
  work(1);
  for (const auto& [vertex, image] : {std::pair(own.edge.source, source), {own.edge.target, target}})
    if (vertex < 0 ? !may_be_free(own, image) : !match_vertex(vertex, image)) return;
  descend();
}

void ComparedSearch::descend() {
  if (edges_.size() == pattern_.edges.size()) return task_.inverse ? found_without() : found();
  Window best;
  if (!choose(best)) return;
  if (best.closes && best.size() > kLookUp)
    scan_pair(best);
  else
    scan(best);
}

// Finds the query edge with the smallest window, of those between matched vertices if there are any; false if
// some query edge has none.
bool ComparedSearch::choose(Window& best) {
  for (const bool closes : {true, false}) {
    for (int e = 0; e < static_cast<int>(pattern_.edges.size()); ++e) {
      if (edge_matched_[at(e)]) continue;
      const Edge& edge = pattern_.edges[at(e)];
      const bool of_source = is_matched(edge.source), of_target = is_matched(edge.target);
      if (!(of_source || of_target) || (of_source && of_target) != closes) continue;
      Window window;
      if (!find_window(e, of_source ? edge.source : edge.target, closes, window)) return false;
      if (closes && window.size() > kFew) {
        Window other;
        if (!find_window(e, edge.target, closes, other)) return false;
        if (other.size() < window.size()) window = other;
      }
      if (best.edge < 0 || window.size() < best.size()) best = window;
      if (best.size() <= kFew) return true;
    }
    if (best.edge >= 0) return true;
  }
  return true;
}

// Finds the copies of a query edge at a matched vertex whose values are within bounds; false if there are
// none.
bool ComparedSearch::find_window(int e, int from, bool closes, Window& found) {
  const Edge& edge = pattern_.edges[at(e)];
  const Vertex vertex = image_[at(from)];
  found = {e, closes, from, {}};
  std::int64_t low = std::numeric_limits<std::int64_t>::min(),
               high = std::numeric_limits<std::int64_t>::max();
  if (edge.variable >= 0) {
    if (!narrow(edge.variable)) return false;
    if (edge.by_value) {
      const bool floats = reach_.floats(edge.variable, 0);
      low = floats ? ComparedCopies::in_order(bounds_[0].low) : bounds_[0].low;
      high = floats ? ComparedCopies::in_order(bounds_[0].high) : bounds_[0].high;
    }
  }
  high = std::min(high, copies_.highest(edge.index, task_.view.came));
  if (low > high) return false;
  const bool by_target = copies_.directed() && from == edge.target;
  found.parts[0] = copies_.row(edge.index, vertex, by_target);
  if (edge.either && copies_.directed()) found.parts[1] = copies_.row(edge.index, vertex, !by_target);
  for (ValueRows::Row& part : found.parts) {
    if (part.empty()) continue;
    const Entry *first = part.data(), *last = first + part.size();
    last = first_that(first, last, [&](const Entry& entry) { return entry.key > high; });
    first = first_that(first, last, [&](const Entry& entry) { return entry.key >= low; });
    part = {first, last};
  }
  work(1);
  return found.size() > 0;
}

// Sets the bounds on the values of a query edge; false if they exclude each other.
bool ComparedSearch::narrow(int variable) {
  const std::size_t columns = pattern_.variables[at(variable)].columns.size();
  for (std::size_t c = 0; c < columns; ++c) bounds_[c] = reach_.all(variable, static_cast<int>(c));
  for (const int source : order_) {
    if (is_known_[at(source)])
      reach_.narrow(variable, source, low(source), bounds_.data());
    else
      reach_.narrow_between(variable, source, low(source), high(source), bounds_.data());
  }
  for (std::size_t c = 0; c < columns; ++c)
    if (less(reach_.floats(variable, static_cast<int>(c)), bounds_[c].high, bounds_[c].low)) return false;
  return true;
}

// Goes on with each vertex to which a window has copies, and with these.
void ComparedSearch::scan(const Window& window) {
  const Edge& edge = pattern_.edges[at(window.edge)];
  const int to = edge.source == window.from ? edge.target : edge.source;
  const Vertex target = window.closes ? image_[at(to)] : 0;
  if (edge.variable >= 0 && !narrow(edge.variable)) return;
  const std::size_t first = candidates_.size();
  work(window.size() / 4);
  for (const ValueRows::Row& part : window.parts)
    for (const Entry& entry : part) {
      if (window.closes && entry.other != target) continue;
      if (!fits(window.edge, entry.row, edge.by_value)) continue;
      candidates_.push_back(entry);
      if (window.closes && edge.variable < 0) break;  // one is enough
    }
  const std::size_t last = candidates_.size();
  const auto by_vertex = [](const Entry& a, const Entry& b) {
    return a.other != b.other ? a.other < b.other : a < b;
  };
  const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(first);
  if (last - first > 1 && !std::is_sorted(begin, candidates_.end(), by_vertex))
    std::sort(begin, candidates_.end(), by_vertex);
  const Matched before = matched();
  for (std::size_t next = first; next < last;) {
    const std::size_t own = next;
    const Vertex image = candidates_[own].other;
    while (next < last && candidates_[next].other == image) ++next;
    if (window.closes || match_vertex(to, image)) {
      const Domain domain{own,
                          order_.size() > before.variables ? agreeing(edge.variable, {own, next}) : next};
      if (domain.size() > 0) {
        match_edge(window.edge, domain);
        descend();
      }
    }
    back_to(before);
    work(1);
  }
  candidates_.resize(first);
}

// Moves the copies of a domain to its front that agree with what is known, as an attribute of a vertex that
// was matched since they were found; returns where they end.
std::size_t ComparedSearch::agreeing(int variable, Domain domain) {
  if (variable < 0) return domain.last;
  std::size_t last = domain.first;
  for (std::size_t place = domain.first; place < domain.last; ++place) {
    for (std::size_t c = 0; c < pattern_.variables[at(variable)].columns.size(); ++c)
      own_[c] = value(variable, static_cast<int>(c), candidates_[place].row);
    if (agrees(variable, own_.data())) candidates_[last++] = candidates_[place];
  }
  return last;
}

// The same for matched vertices between which copies are looked up.
void ComparedSearch::scan_pair(const Window& window) {
  const Edge& edge = pattern_.edges[at(window.edge)];
  if (edge.variable >= 0 && !narrow(edge.variable)) return;
  const std::size_t first = candidates_.size();
  visit_copies(edge, task_.view, [&](Row row) {
    work(1);
    if (fits(window.edge, row, false)) candidates_.push_back({0, 0, row});
    return edge.variable >= 0 || candidates_.size() == first;
  });
  if (candidates_.size() > first) {
    const Matched before = matched();
    match_edge(window.edge, {first, candidates_.size()});
    descend();
    back_to(before);
  }
  candidates_.resize(first);
}

// Assigns a vertex, and the variables that are its attributes; false if it does not fit. What was assigned is
// undone by back_to() in either case.
bool ComparedSearch::match_vertex(int vertex, Vertex image) {
  if (!accepts(vertex, image)) return false;
  image_[at(vertex)] = image;
  vertices_matched_ |= std::uint32_t{1} << vertex;
  for (const int v : pattern_.vertices[at(vertex)].variables) {
    const std::vector<std::size_t>& columns = pattern_.variables[at(v)].columns;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (image >= copies_.size(columns[c]) || copies_.is_missing(columns[c], image)) return false;
      low(v)[c] = high(v)[c] = copies_.value(columns[c], image);
    }
    if (!agrees(v, low(v))) return false;
    order_.push_back(v);
    is_known_[at(v)] = 1;
  }
  return true;
}

// Gives a query edge the copies of a domain, which fit.
bool ComparedSearch::match_edge(int e, Domain domain) {
  edges_.push_back(e);
  edge_matched_[at(e)] = 1;
  domains_[at(e)] = domain;
  const int variable = pattern_.edges[at(e)].variable;
  if (variable < 0) return true;
  for (std::size_t c = 0; c < pattern_.variables[at(variable)].columns.size(); ++c) {
    const bool floats = reach_.floats(variable, static_cast<int>(c));
    std::int64_t least = value(variable, static_cast<int>(c), candidates_[domain.first].row),
                 greatest = least;
    for (std::size_t place = domain.first + 1; place < domain.last; ++place) {
      const std::int64_t one = value(variable, static_cast<int>(c), candidates_[place].row);
      if (less(floats, one, least)) least = one;
      if (less(floats, greatest, one)) greatest = one;
    }
    low(variable)[c] = least;
    high(variable)[c] = greatest;
  }
  order_.push_back(variable);
  is_known_[at(variable)] = domain.size() == 1;
  return true;
}

void ComparedSearch::back_to(const Matched& before) {
  vertices_matched_ = before.vertices;
  for (; edges_.size() > before.edges; edges_.pop_back()) edge_matched_[at(edges_.back())] = 0;
  for (; order_.size() > before.variables; order_.pop_back()) is_known_[at(order_.back())] = 0;
}

bool ComparedSearch::accepts(int vertex, Vertex image) const {
  const ComparedPattern::QueryVertex& own = pattern_.vertices[at(vertex)];
  if (own.labels && !std::ranges::binary_search(*own.labels, graph_.label(image))) return false;
  if (own.list >= 0 && !std::ranges::binary_search(lists_[at(own.list)], image)) return false;
  const auto all = [&](std::uint32_t others, auto&& holds) {
    bool fits = true;
    for_each_of(others & vertices_matched_, [&](int other) { fits = fits && holds(image_[at(other)]); });
    return fits;
  };
  return all(own.distinct, [&](Vertex other) { return other != image; }) &&
         all(own.greater, [&](Vertex other) { return other > image; }) &&
         all(own.smaller, [&](Vertex other) { return other < image; });
}

// Whether a query edge may have a copy within the bounds set; `by_value`: it is known to be within those of
// the first column.
bool ComparedSearch::fits(int e, Row row, bool by_value) {
  if (!copies_.lived(row, task_.view)) return false;
  const Edge& edge = pattern_.edges[at(e)];
  if (!accepts_copy(edge, row)) return false;
  if (edge.variable < 0) return true;
  const std::size_t columns = pattern_.variables[at(edge.variable)].columns.size();
  for (std::size_t c = 0; c < columns; ++c) {
    own_[c] = value(edge.variable, static_cast<int>(c), row);
    if (c == 0 && by_value) continue;
    const bool floats = reach_.floats(edge.variable, static_cast<int>(c));
    if (less(floats, own_[c], bounds_[c].low) || less(floats, bounds_[c].high, own_[c])) return false;
  }
  return agrees(edge.variable, own_.data());
}

bool ComparedSearch::accepts_copy(const Edge& edge, Row row) const {
  if (!edge.accepts_all) {
    const Label facet = copies_.copies().facet(row);
    if (facet >= edge.facets.size() || edge.facets[facet] == 0) return false;
  }
  if (edge.variable < 0) return true;
  return std::ranges::none_of(pattern_.variables[at(edge.variable)].columns,
                              [&](std::size_t column) { return copies_.is_missing(column, row); });
}

// Whether the values of a variable satisfy the comparisons with itself and with those that are known.
bool ComparedSearch::agrees(int variable, const std::int64_t* values) const {
  for (const Check& check : checks_[at(variable)]) {
    const copies::Comparison& one = network_.comparisons[at(check.comparison)];
    if (check.other == variable) {
      if (!copies::holds(one, values[one.left_column], values[one.right_column])) return false;
    } else if (is_known_[at(check.other)]) {
      const bool is_left = one.left == variable;
      const std::int64_t left = is_left ? values[one.left_column] : low(one.left)[one.left_column];
      const std::int64_t right = is_left ? low(one.right)[one.right_column] : values[one.right_column];
      if (!copies::holds(one, left, right)) return false;
    }
  }
  return true;
}

void ComparedSearch::work(std::size_t steps) {
  worked_ += steps;
  if (worked_ < kLook) return;
  worked_ = 0;
  if (!keep_searching()) throw Stopped();
}

bool ComparedSearch::keep_searching() {
  return watch_->keep_searching(static_cast<std::uint32_t>(pattern_.slot));
}

// All query edges have copies: counts the embedding if it has a choice with the copy, was not found for an
// earlier query edge, and has no choice without the copy.
void ComparedSearch::found() {
  work(16);
  if (!has_choice()) return;
  for (int e = 0; e < root_; ++e)
    if (serves_before(e)) return;
  if (has_choice_at(task_.view, true)) return;
  if (task_.except && has_choice_at(task_.other, false)) return;
  if (is_negated(task_.judged)) return;
  add_checked(count_, 1);
  if (rows_ != nullptr) std::copy(image_.begin(), image_.end(), rows_->extend(image_.size()));
}

// The same without the copy: counts the embedding if it has a choice and no negated edge at this moment, and
// was not found for an earlier negated edge, or an earlier copy that changes one.
void ComparedSearch::found_without() {
  work(16);
  if (!is_negated_by(root_, task_.row) || !has_choice()) return;
  for (int n = 0; n < root_; ++n)
    if (is_negated_by(n, task_.row)) return;
  if (is_negated(task_.judged)) return;
  if (task_.except) {
    for (const ComparedPattern::Negated& one : pattern_.negated) {
      bool is_earlier = false;
      visit_negated(one, [&](Row row) {
        is_earlier = row < task_.row && copies_.lived(row, task_.other);
        return !is_earlier;
      });
      if (is_earlier) return;
    }
    if (!has_choice_at(task_.other, false)) return;
  }
  add_checked(count_, 1);
  if (rows_ != nullptr) std::copy(image_.begin(), image_.end(), rows_->extend(image_.size()));
}

// Whether some edge is there at a moment that must not be.
bool ComparedSearch::is_negated(View view) const {
  return std::ranges::any_of(pattern_.negated, [&](const ComparedPattern::Negated& one) {
    bool there = false;
    visit_negated(one, [&](Row row) {
      there = copies_.lived(row, view);
      return !there;
    });
    return there;
  });
}

// Whether the copy is where a negated edge must not be.
bool ComparedSearch::is_negated_by(int negated, Row row) const {
  const ComparedPattern::Negated& own = pattern_.negated[at(negated)];
  if (!accepts_copy(own.edge, row)) return false;
  const auto is_there = [&](Vertex source, Vertex target) {
    const auto fits = [&](int vertex, Vertex image) {
      return vertex < 0 ? may_be_free(own, image) && !is_beside(own, image) : image_[at(vertex)] == image;
    };
    return fits(own.edge.source, source) && fits(own.edge.target, target);
  };
  return is_there(edge_.source, edge_.target) || (own.edge.either && is_there(edge_.target, edge_.source));
}

// Whether a vertex may be the end of a negated edge to any vertex.
bool ComparedSearch::may_be_free(const ComparedPattern::Negated& negated, Vertex vertex) const {
  return (!negated.labels || std::ranges::binary_search(*negated.labels, graph_.label(vertex))) &&
         (negated.list < 0 || std::ranges::binary_search(lists_[at(negated.list)], vertex));
}

// Whether it is the image of a query vertex that may be there.
bool ComparedSearch::is_beside(const ComparedPattern::Negated& negated, Vertex vertex) const {
  bool found = false;
  for_each_of(negated.besides, [&](int other) { found = found || image_[at(other)] == vertex; });
  return found;
}

// Calls visit(row) for the copies that are where a negated edge must not be, at whatever moment, until it
// returns false.
template <class Visit>
void ComparedSearch::visit_negated(const ComparedPattern::Negated& negated, Visit&& visit) const {
  const Edge& edge = negated.edge;
  if (negated.is_pair()) {
    copies_.copies().visit_between(image_[at(edge.source)], image_[at(edge.target)], edge.labels, edge.either,
                                   [&](Row row) { return !accepts_copy(edge, row) || visit(row); });
    return;
  }
  const bool by_target = copies_.directed() && edge.source < 0;
  const Vertex vertex = image_[at(edge.source < 0 ? edge.target : edge.source)];
  const auto visit_row = [&](bool turned) {
    return std::ranges::all_of(copies_.row(edge.index, vertex, turned), [&](const Entry& entry) {
      return !accepts_copy(edge, entry.row) || !may_be_free(negated, entry.other) ||
             is_beside(negated, entry.other) || visit(entry.row);
    });
  };
  if (visit_row(by_target) && edge.either && copies_.directed()) visit_row(!by_target);
}

bool ComparedSearch::has_choice() {
  if (std::ranges::all_of(is_known_, [](char known) { return known != 0; })) {
    const copies::Span& span = network_.span;
    if (!span.there) return true;
    bool some = false;
    std::int64_t least = 0, greatest = 0;
    for (int v = 0; v < variables_; ++v) {
      if (pattern_.variables[at(v)].edge < 0) continue;
      if (!some || span.less(low(v)[0], least)) least = low(v)[0];
      if (!some || span.less(greatest, low(v)[0])) greatest = low(v)[0];
      some = true;
    }
    return span.reaches(least, greatest);
  }
  for (int v = 0; v < variables_; ++v) {
    const ComparedPattern::Variable& own = pattern_.variables[at(v)];
    lists_of_[at(v)].clear();
    if (own.edge < 0) {
      lists_of_[at(v)].push_back(image_[at(own.vertex)]);
      continue;
    }
    const Domain& domain = domains_[at(own.edge)];
    for (std::size_t place = domain.first; place < domain.last; ++place)
      lists_of_[at(v)].push_back(candidates_[place].row);
  }
  return decide();
}

bool ComparedSearch::joins(const Edge& edge, Vertex source, Vertex target) const {
  const Vertex first = image_[at(edge.source)], second = image_[at(edge.target)];
  return (first == source && second == target) || (edge.either && first == target && second == source);
}

// Whether the embedding has a choice in which this query edge has the copy.
bool ComparedSearch::serves_before(int e) {
  const Edge& edge = pattern_.edges[at(e)];
  if (!joins(edge, edge_.source, edge_.target) || !accepts_copy(edge, task_.row)) return false;
  if (edge.variable < 0) return true;  // it has a choice, whatever copy this query edge has
  if (!all_lists(task_.view, false)) return false;
  lists_of_[at(edge.variable)].assign(1, task_.row);
  return decide();
}

// Whether the embedding has a choice at a moment; `without_copy`: one without the copy.
bool ComparedSearch::has_choice_at(View view, bool without_copy) {
  for (const Edge& edge : pattern_.edges) {
    const bool concerns = !without_copy || joins(edge, edge_.source, edge_.target);
    if (concerns && !has_copy(edge, view, without_copy)) return false;
  }
  return all_lists(view, without_copy) && decide();
}

// Calls visit(row) for the copies that a query edge accepts, between the images of its ends.
template <class Visit>
void ComparedSearch::visit_copies(const Edge& edge, View view, Visit&& visit) const {
  copies_.copies().visit_between(image_[at(edge.source)], image_[at(edge.target)], edge.labels, edge.either,
                                 [&](Row row) {
                                   if (!copies_.lived(row, view) || !accepts_copy(edge, row)) return true;
                                   return visit(row);
                                 });
}

bool ComparedSearch::has_copy(const Edge& edge, View view, bool without_copy) const {
  bool found = false;
  visit_copies(edge, view, [&](Row row) {
    found = !without_copy || row != task_.row;
    return !found;
  });
  return found;
}

bool ComparedSearch::list_copies(const Edge& edge, View view, bool without_copy) {
  std::vector<Row>& list = lists_of_[at(edge.variable)];
  list.clear();
  visit_copies(edge, view, [&](Row row) {
    work(1);
    if (!without_copy || row != task_.row) list.push_back(row);
    return true;
  });
  return !list.empty();
}

// Lists all copies of the embedding at a moment; false if a compared query edge has none.
bool ComparedSearch::all_lists(View view, bool without_copy) {
  for (int v = 0; v < variables_; ++v) {
    const ComparedPattern::Variable& own = pattern_.variables[at(v)];
    if (own.edge < 0)
      lists_of_[at(v)].assign(1, image_[at(own.vertex)]);
    else if (!list_copies(pattern_.edges[at(own.edge)], view, without_copy))
      return false;
  }
  return true;
}

// Whether there is a choice between the copies listed.
bool ComparedSearch::decide() {
  for (int v = 0; v < variables_; ++v) {
    std::vector<Row>& list = lists_of_[at(v)];
    const bool floats = reach_.floats(v, 0);
    if (list.size() > 1)
      std::ranges::sort(list, [&](Row a, Row b) {
        const std::int64_t of_a = value(v, 0, a), of_b = value(v, 0, b);
        return less(floats, of_a, of_b) || (!less(floats, of_b, of_a) && a < b);
      });
    for (std::size_t c = 0; c < values_[at(v)].size(); ++c) {
      std::vector<std::int64_t>& values = values_[at(v)][c];
      values.clear();
      for (const Row row : list) values.push_back(value(v, static_cast<int>(c), row));
      network_.variables[at(v)].columns[c] = values.data();
    }
    ranges_[at(v)] = {0, list.size()};
    work(list.size());
  }
  bool found = false;
  const bool all = choices_.try_all(std::span<const copies::Range>(ranges_), kMostTrials, [&](auto&&) {
    found = true;
    return false;
  });
  return all ? found : choices_.exists(ranges_);
}

bool ComparedSearch::witness(std::span<const Vertex> image, View view, Watch& watch, std::span<Row> rows) {
  watch_ = &watch;
  std::ranges::copy(image, image_.begin());
  if (!all_lists(view, false)) return false;
  const std::vector<std::vector<Row>> all = lists_of_;
  for (std::size_t e = 0; e < pattern_.edges.size(); ++e) {
    const Edge& edge = pattern_.edges[e];
    if (edge.variable < 0) {
      bool some = false;
      visit_copies(edge, view, [&](Row row) {
        rows[e] = some ? std::min(rows[e], row) : row;
        return some = true;
      });
      if (!some) return false;
      continue;
    }
    std::vector<Row> left = all[at(edge.variable)];
    std::ranges::sort(left);
    const auto serves = [&](Row row) {
      lists_of_[at(edge.variable)].assign(1, row);
      return decide();
    };
    const auto first = std::ranges::find_if(left, serves);
    if (first == left.end()) return false;
    rows[e] = *first;
  }
  return true;
}

}  // namespace motiflux::dynamic
