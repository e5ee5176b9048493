// The embeddings of a pattern with comparisons that one copy brings or takes, by a search that begins with
// it.
//
// An embedding counts while some choice of copies satisfies all comparisons. So a copy that comes brings the
// embeddings that have a choice with it, and had none without it; a copy that goes takes those. The search
// gives the copy to each query edge in turn and matches the others from there: of each of them, the copies
// left lie within bounds that follow from the comparisons (copies/reach.hpp), a *window* of the rows by
// value. Next is the query edge with the smallest window; where there is none, the branch ends. In a pattern
// in time order on a stream in time order, only the last edge has windows that are not empty.
//
// Vertices are assigned, each with all copies left between it and those before (a *domain*), so that an
// embedding is found once for each query edge that the copy is given to, however many choices it has. Of
// several such query edges the first one counts.
//
// Negated edges turn this round: a copy that comes there takes the embeddings that have a choice and no
// negated edge without it, and one that goes brings them. Such an *inverse* search begins with the vertices
// of the copy at each negated edge, at the moment without it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/column.hpp"
#include "common/total.hpp"
#include "copies/choices.hpp"
#include "copies/reach.hpp"
#include "dynamic/compared_copies.hpp"
#include "dynamic/compared_pattern.hpp"
#include "dynamic/matcher.hpp"

namespace motiflux::dynamic {

class ComparedSearch {
 public:
  using Row = Copies::Row;
  using View = ComparedCopies::View;

  struct Task {
    Row row;      // the copy
    View view;    // the moment that has it; of an inverse search, one without it
    View judged;  // the moment at which there is no negated edge
    // An embedding that has a choice at this moment, too, is left out; of an inverse search, one that has
    // none.
    bool except = false;
    View other;
    bool inverse = false;
  };

  // All must outlive the object. `lists`: of vertices, by number.
  ComparedSearch(const ComparedPattern& pattern, const ComparedCopies& copies, const Graph& graph,
                 const Allowed& lists);

  // Returns the number of embeddings that have a choice with the copy and none without it; appends their rows
  // if that is wanted. Throws Stopped.
  Total search(const Task& task, Column<Vertex>* rows, Watch& watch);

  // Finds a choice of an embedding: a row for each query edge. It is the first one, by the order of the query
  // edges and of the arrival of copies. False if there is none.
  bool witness(std::span<const Vertex> image, View view, Watch& watch, std::span<Row> rows);

 private:
  using Entry = ValueRows::Entry;
  using Edge = ComparedPattern::QueryEdge;

  struct Window {
    int edge = -1;
    bool closes = false;  // both ends are matched
    int from = 0;         // a matched end
    ValueRows::Row parts[2];
    std::size_t size() const { return parts[0].size() + parts[1].size(); }
  };
  struct Domain {
    std::size_t first = 0, last = 0;  // in candidates_
    std::size_t size() const { return last - first; }
  };
  struct Check {
    int comparison, other;  // the other variable, or the variable itself
  };
  struct Matched {
    std::uint32_t vertices;
    std::size_t edges, variables;
  };

  bool comes_too_early(int edge, Row row) const;
  void begin(int edge, Row row, Vertex source, Vertex target);
  void begin_without(int negated, Vertex source, Vertex target);
  void descend();
  bool choose(Window& best);
  void scan(const Window& window);
  std::size_t agreeing(int variable, Domain domain);
  void scan_pair(const Window& window);
  bool find_window(int edge, int from, bool closes, Window& found);
  bool narrow(int variable);

  bool match_vertex(int vertex, Vertex image);
  bool match_edge(int edge, Domain domain);
  Matched matched() const { return {vertices_matched_, edges_.size(), order_.size()}; }
  void back_to(const Matched& before);
  bool accepts(int vertex, Vertex image) const;
  bool fits(int edge, Row row, bool by_value);
  bool agrees(int variable, const std::int64_t* values) const;

  void found();
  void found_without();
  bool has_choice();
  bool is_negated(View view) const;
  bool is_negated_by(int negated, Row row) const;
  bool may_be_free(const ComparedPattern::Negated& negated, Vertex vertex) const;
  bool is_beside(const ComparedPattern::Negated& negated, Vertex vertex) const;
  template <class Visit>
  void visit_negated(const ComparedPattern::Negated& negated, Visit&& visit) const;
  bool serves_before(int edge);
  bool has_choice_at(View view, bool without_copy);
  bool joins(const Edge& edge, Vertex source, Vertex target) const;
  template <class Visit>
  void visit_copies(const Edge& edge, View view, Visit&& visit) const;
  bool has_copy(const Edge& edge, View view, bool without_copy) const;
  bool list_copies(const Edge& edge, View view, bool without_copy);
  bool all_lists(View view, bool without_copy);
  bool decide();

  std::int64_t value(int variable, int column, Row row) const {
    const ComparedPattern::Variable& own = pattern_.variables[at(variable)];
    return copies_.value(own.columns[at(column)], row);
  }
  bool accepts_copy(const Edge& edge, Row row) const;
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  std::int64_t* low(int variable) { return low_.data() + at(variable) * most_columns_; }
  const std::int64_t* low(int variable) const { return low_.data() + at(variable) * most_columns_; }
  std::int64_t* high(int variable) { return high_.data() + at(variable) * most_columns_; }
  const std::int64_t* high(int variable) const { return high_.data() + at(variable) * most_columns_; }
  bool is_matched(int vertex) const { return (vertices_matched_ >> vertex & 1) != 0; }
  void work(std::size_t steps);
  bool keep_searching();

  const ComparedPattern& pattern_;
  const ComparedCopies& copies_;
  const Graph& graph_;
  const Allowed& lists_;
  const int variables_;
  copies::Reach reach_;
  std::size_t most_columns_ = 1;
  std::vector<std::vector<Check>> checks_;  // by variable
  // By query edge: by how much the value of some other one is greater at least, where both are in one index.
  std::vector<std::int64_t> ahead_;

  // Of the search.
  Task task_{};
  dynamic::Edge edge_;  // of the copy
  int root_ = 0;        // the query edge that has it, or the negated edge
  Total count_ = 0;
  Column<Vertex>* rows_ = nullptr;
  Watch* watch_ = nullptr;
  std::size_t worked_ = 0;

  std::vector<Vertex> image_;
  std::uint32_t vertices_matched_ = 0;
  std::vector<int> edges_;                // matched,
  std::vector<char> edge_matched_;        // and whether each is
  std::vector<int> order_;                // variables matched
  std::vector<char> is_known_;            // by variable: matched, with one copy left
  std::vector<Domain> domains_;           // by query edge that is a variable
  std::vector<std::int64_t> low_, high_;  // by variable and column: least and greatest value left
  std::vector<Entry> candidates_;         // a stack
  std::vector<copies::Interval> bounds_;  // of one variable, by column
  std::vector<std::int64_t> own_;         // values of one copy, by column

  // Choices between lists of copies.
  copies::Network network_;
  copies::Choices choices_;
  std::vector<std::vector<Row>> lists_of_;                      // by variable
  std::vector<std::vector<std::vector<std::int64_t>>> values_;  // by variable and column
  std::vector<copies::Range> ranges_;
};

}  // namespace motiflux::dynamic
