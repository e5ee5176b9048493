#include "text/edge_list.hpp"

#include <string>
#include <utility>

namespace motiflux::text {

void EdgeListParser::feed(std::string_view chunk) {
  lines_.feed(chunk, [this](std::string_view line) { take_line(line); });
}

EdgeList EdgeListParser::finish() {
  lines_.finish([this](std::string_view line) { take_line(line); });
  return std::move(edges_);
}

void EdgeListParser::take_line(std::string_view line) {
  const Fields fields = split_fields(line);
  if (fields.count == 0 || is_comment(fields)) return;
  if (fields.count != width_) check_width(fields.count);
  const std::int64_t source = parse_id(lines_.line(), "source id", fields.token[0]);
  const std::int64_t target = parse_id(lines_.line(), "target id", fields.token[1]);
  if (width_ == 3) edges_.label.push_back(parse_id(lines_.line(), "edge label", fields.token[2]));
  edges_.source.push_back(source);
  edges_.target.push_back(target);
}

void EdgeListParser::check_width(std::size_t found) {
  const std::string counted = "found " + std::to_string(found) + (found == 1 ? " field" : " fields");
  if (width_ != 0) {
    throw ParseError(lines_.line(), counted + ", expected " + std::to_string(width_) + " as on line " +
                                        std::to_string(width_line_));
  }
  if (found < 2 || found > 3) {
    throw ParseError(lines_.line(), counted + ", expected 'source target' or 'source target label'");
  }
  width_ = found;
  width_line_ = lines_.line();
}

}  // namespace motiflux::text
