// Lists the matches of a plan from a level on.
#pragma once

#include <algorithm>
#include <span>

#include "dynamic/matcher.hpp"
#include "dynamic/write_rows.hpp"

namespace motiflux::dynamic {

template <class View>
template <class Wrote>
void Matcher<View>::list_from(int level, Column<Vertex>& rows, Wrote& wrote) {
  if (level + 1 == plan_->levels()) {
    const sets::Span last = last_vertices();
    spend(1);
    for (const Vertex* first = last.first; first < last.last; first += kBlockRows)
      write({first, std::min(first + kBlockRows, last.last)}, rows, wrote);
    return;
  }
  list_over(level, clipped(level), rows, wrote);
}

template <class View>
template <class Wrote>
void Matcher<View>::list_over(int level, sets::Span candidates, Column<Vertex>& rows, Wrote& wrote) {
  const Needs needs = plan_->needs[static_cast<std::size_t>(level)];
  spend(1 + candidates.size());
  for (Vertex vertex : candidates) {
    if (!view_->serves(vertex, needs) || is_hole(level, vertex) || excluded(level, vertex) ||
        leaves_out(level, vertex))
      continue;
    assign(level, vertex);
    list_from(level + 1, rows, wrote);
  }
}

// Writes the matches with each of at most kBlockRows vertices at the last level, image after image.
template <class View>
template <class Wrote>
void Matcher<View>::write(sets::Span last, Column<Vertex>& rows, Wrote& wrote) {
  const std::size_t width = plan_->width();
  const auto varied = static_cast<std::uint8_t>(plan_->levels() - 1);
  const std::span images(plan_->images);
  const std::size_t most = std::max<std::size_t>(1, kBlockRows / last.size());
  for (std::size_t first = 0, size; first < images.size(); first += size) {
    size = std::min(most, images.size() - first);
    const std::size_t count = size * last.size();
    Vertex* const block = rows.extend(count * width);
    write_rows(value_.data(), width, varied, images.subspan(first, size), last, block);
    if (!plan_->orbits.empty())
      for (std::size_t row = 0; row < count; ++row)
        make_canonical(plan_->orbits, {block + row * width, width}, moved_);
    wrote(count);
    spend(count);
  }
}

}  // namespace motiflux::dynamic
