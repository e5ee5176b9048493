// `.graph` files: `t N M` (optional, first), `v id label [degree]`, `e source target [label]`. Labels are
// integers, or names if the first label does not begin like a number; separately for vertices and edges.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/dictionary.hpp"
#include "text/growing.hpp"
#include "text/id_set.hpp"
#include "text/parse.hpp"

namespace motiflux::text {

inline constexpr std::int64_t kAnyLabel = -1;

// Columns in file order; kAnyLabel is a wildcard. `edge_label` is empty if no edge has one. Labels are codes
// if they are names.
struct GraphFile {
  Growing<std::int64_t> vertex;
  Growing<std::int64_t> vertex_label;
  Growing<std::int64_t> source;
  Growing<std::int64_t> target;
  Growing<std::int64_t> edge_label;
  Strings vertex_names;
  Strings edge_names;
};

// Feed it the chunks of a file in order, then finish it once. Not usable after a ParseError.
class GraphFileParser {
 public:
  // With wildcards, a label `-1` or `*` is any label, as is an omitted edge label; without, both are refused
  // and an omitted edge label is 0.
  explicit GraphFileParser(bool wildcards) : wildcards_(wildcards) {}

  void feed(std::string_view chunk);
  GraphFile finish();

 private:
  struct Header {
    std::int64_t line;
    std::int64_t vertices;
    std::int64_t edges;
  };

  // The labels of vertices, or of edges.
  struct Labels {
    const char* what;
    bool decided = false;  // whether it is known if they are names
    bool are_names = false;
    std::int64_t first_line = 0;  // line of the label that decided
    Dictionary names;
  };

  void take_line(std::string_view line);
  void take_header(std::string_view line, const Fields& fields);
  void take_vertex(std::string_view line, const Fields& fields);
  void take_edge(std::string_view line, const Fields& fields);
  void take_edge_label(const Fields& fields);
  std::int64_t parse_endpoint(const char* what, std::string_view token) const;
  std::int64_t parse_label(Labels& labels, std::string_view token);
  std::int64_t code_of_name(Labels& labels, std::string_view token);
  [[noreturn]] void fail_left_out(std::int64_t line) const;
  void check_announced(std::size_t records, std::int64_t announced, const char* what) const;
  void check_totals() const;

  bool wildcards_;
  LineSplitter lines_;
  std::optional<Header> header_;
  IdSet declared_;
  Labels vertex_labels_{"vertex label"};
  Labels edge_labels_{"edge label"};
  std::int64_t first_left_out_ = 0;  // line of the first edge without a label
  GraphFile file_;
};

}  // namespace motiflux::text
