// Text edge lists: one edge per line, `source target` or `source target label`, the same on each line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/parse.hpp"

namespace motiflux::text {

// Columns in file order. `label` is empty if edges have none.
struct EdgeList {
  std::vector<std::int64_t> source;
  std::vector<std::int64_t> target;
  std::vector<std::int64_t> label;
};

// Fed with chunks of a file in order, then finished once. Not usable after a ParseError.
class EdgeListParser {
 public:
  void feed(std::string_view chunk);
  EdgeList finish();

 private:
  void take_line(std::string_view line);
  void check_width(std::size_t found);

  LineSplitter lines_;
  EdgeList edges_;
  std::size_t width_ = 0;  // fields per line, 0 until the first edge
  std::int64_t width_line_ = 0;
};

}  // namespace motiflux::text
