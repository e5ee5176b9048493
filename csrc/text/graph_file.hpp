// `.graph` files: `t N M` (optional, first), `v id label [degree]`, `e source target [label]`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/id_set.hpp"
#include "text/parse.hpp"

namespace motiflux::text {

inline constexpr std::int64_t kAnyLabel = -1;

// Columns in file order; kAnyLabel stands for a wildcard. `edge_label` is empty if no edge has one.
struct GraphFile {
  std::vector<std::int64_t> vertex;
  std::vector<std::int64_t> vertex_label;
  std::vector<std::int64_t> source;
  std::vector<std::int64_t> target;
  std::vector<std::int64_t> edge_label;
};

// Fed with chunks of a file in order, then finished once. Not usable after a ParseError.
class GraphFileParser {
 public:
  // With wildcards, a label `-1` or `*` is any label, and so is an edge label left out; without, both are
  // refused and an edge label left out is 0.
  explicit GraphFileParser(bool wildcards) : wildcards_(wildcards) {}

  void feed(std::string_view chunk);
  GraphFile finish();

 private:
  struct Header {
    std::int64_t line;
    std::int64_t vertices;
    std::int64_t edges;
  };

  void take_line(std::string_view line);
  void take_header(std::string_view line, const Fields& fields);
  void take_vertex(std::string_view line, const Fields& fields);
  void take_edge(std::string_view line, const Fields& fields);
  void take_edge_label(const Fields& fields);
  std::int64_t parse_endpoint(const char* what, std::string_view token) const;
  std::int64_t parse_label(const char* what, std::string_view token) const;
  void check_room(std::size_t records, std::int64_t announced, const char* what) const;
  void check_totals() const;

  bool wildcards_;
  LineSplitter lines_;
  std::optional<Header> header_;
  IdSet declared_;
  GraphFile file_;
};

}  // namespace motiflux::text
