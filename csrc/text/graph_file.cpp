#include "text/graph_file.hpp"

#include <string>
#include <utility>

#include "text/utf8.hpp"

namespace motiflux::text {
namespace {

void check_fields(std::int64_t line_number, std::string_view line, std::size_t found, std::size_t least,
                  std::size_t most, const char* expected) {
  if (found < least || found > most) fail(line_number, "record", line, expected);
}

std::string counted(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

void GraphFileParser::feed(std::string_view chunk) {
  lines_.feed(chunk, [this](std::string_view line) { take_line(line); });
}

GraphFile GraphFileParser::finish() {
  lines_.finish([this](std::string_view line) { take_line(line); });
  check_totals();
  file_.vertex_names = vertex_labels_.names.take();
  file_.edge_names = edge_labels_.names.take();
  return std::move(file_);
}

void GraphFileParser::take_line(std::string_view line) {
  const Fields fields = split_fields(line);
  if (fields.count == 0 || is_comment(fields)) return;
  const std::string_view record = fields.token[0];
  if (record == "e") return take_edge(line, fields);
  if (record == "v") return take_vertex(line, fields);
  if (record == "t") return take_header(line, fields);
  fail(lines_.line(), "record type", record, "'t', 'v' or 'e'");
}

void GraphFileParser::take_header(std::string_view line, const Fields& fields) {
  constexpr const char* kExpected = "'t N M' (number of vertices, number of edges)";
  const std::int64_t at = lines_.line();
  if (header_) {
    throw ParseError(at, "found a second 't' line, expected one (the first is line " +
                             std::to_string(header_->line) + ")");
  }
  if (!file_.vertex.empty()) {
    throw ParseError(at, "found a 't' line after other records, expected it to be first");
  }
  const auto vertices = fields.count == 3 ? parse_integer(fields.token[1]) : std::nullopt;
  const auto edges = fields.count == 3 ? parse_integer(fields.token[2]) : std::nullopt;
  if (!vertices || !edges) fail(at, "header", line, kExpected);
  header_ = Header{at, *vertices, *edges};
}

void GraphFileParser::take_vertex(std::string_view line, const Fields& fields) {
  const std::int64_t at = lines_.line();
  check_fields(at, line, fields.count, 3, 4, "'v id label [degree]'");
  const std::int64_t id = parse_id(at, "vertex id", fields.token[1]);
  const std::int64_t label = parse_label(vertex_labels_, fields.token[2]);
  if (fields.count == 4) parse_id(at, "degree", fields.token[3]);
  if (!declared_.insert(id)) {
    throw ParseError(at, "found vertex " + std::to_string(id) + " a second time, expected each vertex once");
  }
  file_.vertex.push_back(id);
  file_.vertex_label.push_back(label);
  if (header_) check_announced(file_.vertex.size(), header_->vertices, "'v' lines");
}

void GraphFileParser::take_edge(std::string_view line, const Fields& fields) {
  check_fields(lines_.line(), line, fields.count, 3, 4, "'e source target [label]'");
  const std::int64_t source = parse_endpoint("source id", fields.token[1]);
  const std::int64_t target = parse_endpoint("target id", fields.token[2]);
  take_edge_label(fields);
  file_.source.push_back(source);
  file_.target.push_back(target);
  if (header_) check_announced(file_.source.size(), header_->edges, "'e' lines");
}

// The column of labels starts with the first labelled edge; edges before it get the default.
void GraphFileParser::take_edge_label(const Fields& fields) {
  const std::int64_t omitted = wildcards_ ? kAnyLabel : 0;
  if (fields.count == 4) {
    const std::int64_t label = parse_label(edge_labels_, fields.token[3]);
    if (file_.edge_label.empty()) file_.edge_label.append_copies(file_.source.size(), omitted);
    file_.edge_label.push_back(label);
  } else {
    if (first_left_out_ == 0) first_left_out_ = lines_.line();
    if (!file_.edge_label.empty()) file_.edge_label.push_back(omitted);
  }
  if (!wildcards_ && edge_labels_.are_names && first_left_out_ != 0) fail_left_out(first_left_out_);
}

// No name can replace an omitted label.
void GraphFileParser::fail_left_out(std::int64_t line) const {
  throw ParseError(line, "found an edge without a label, expected a name as on line " +
                             std::to_string(edge_labels_.first_line));
}

std::int64_t GraphFileParser::parse_endpoint(const char* what, std::string_view token) const {
  const std::int64_t id = parse_id(lines_.line(), what, token);
  if (!declared_.contains(id))
    fail(lines_.line(), what, token, "a vertex that a 'v' line before it declares");
  return id;
}

std::int64_t GraphFileParser::parse_label(Labels& labels, std::string_view token) {
  if (wildcards_ && (token == "-1" || token == "*")) return kAnyLabel;
  if (!labels.decided) {
    labels.decided = true;
    labels.are_names = std::string_view("0123456789+-.*").find(token.front()) == std::string_view::npos;
    labels.first_line = lines_.line();
  }
  if (labels.are_names) return code_of_name(labels, token);
  const auto label = parse_integer(token);
  if (!label) {
    fail(lines_.line(), labels.what, token,
         wildcards_ ? "an integer from 0 to 9223372036854775807, or -1 or * for any label"
                    : "an integer from 0 to 9223372036854775807");
  }
  return *label;
}

std::int64_t GraphFileParser::code_of_name(Labels& labels, std::string_view token) {
  const std::size_t known = labels.names.size();
  const std::uint32_t code = labels.names.code(token);
  if (labels.names.size() != known) {
    if (!is_utf8(token)) fail(lines_.line(), labels.what, token, "text in UTF-8");
    if (token.find('\0') != std::string_view::npos)
      fail(lines_.line(), labels.what, token, "a name without NUL bytes");
  }
  return code;
}

void GraphFileParser::check_announced(std::size_t records, std::int64_t announced, const char* what) const {
  if (static_cast<std::int64_t>(records) <= announced) return;
  throw ParseError(lines_.line(), "found more than " + std::to_string(announced) + " " + what +
                                      ", the number that line " + std::to_string(header_->line) +
                                      " announces");
}

void GraphFileParser::check_totals() const {
  if (!header_) return;
  const auto vertices = static_cast<std::int64_t>(file_.vertex.size());
  const auto edges = static_cast<std::int64_t>(file_.source.size());
  if (vertices == header_->vertices && edges == header_->edges) return;
  throw ParseError(lines_.line(), "the file ends here: found " + counted(vertices, "vertex", "vertices") +
                                      " and " + counted(edges, "edge", "edges") + ", expected " +
                                      std::to_string(header_->vertices) + " and " +
                                      std::to_string(header_->edges) + " as line " +
                                      std::to_string(header_->line) + " announces");
}

}  // namespace motiflux::text
