#include "dynamic/graph.hpp"

#include <algorithm>
#include <bit>

namespace motiflux::dynamic {

void merge_runs(std::vector<Vertex>& values, std::vector<std::size_t>& starts) {
  starts.push_back(values.size());
  const auto at = [&](std::size_t position) {
    return values.begin() + static_cast<std::ptrdiff_t>(position);
  };
  for (std::size_t width = 1; width + 1 < starts.size(); width *= 2)
    for (std::size_t run = 0; run + width + 1 < starts.size(); run += 2 * width)
      std::inplace_merge(at(starts[run]), at(starts[run + width]),
                         at(starts[std::min(run + 2 * width, starts.size() - 1)]));
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void Graph::keep_vertices(std::uint32_t count) {
  labels_.resize(count);
  changed_.resize(count);
  out_.keep_vertices(count);
  if (directed_) in_.keep_vertices(count);
}

void Graph::add_vertex(Label label) {
  labels_.push_back(label);
  changed_.push_back(now_);
  out_.add_vertices(1);
  if (directed_) in_.add_vertices(1);
}

void Graph::note_change(const Edge& edge, Class to, Class from, std::uint64_t source_bits,
                        std::uint64_t target_bits) {
  changed_[edge.source] = changed_[edge.target] = ++now_;
  class_changed_[to] = class_changed_[from] = now_;
  note_gained(Way::kOut, out_.present(edge.source) & ~source_bits);
  note_gained(Way::kIn, rows(Way::kIn).present(edge.target) & ~target_bits);
}

void Graph::note_gained(Way way, std::uint64_t bits) {
  for (; bits != 0; bits &= bits - 1)
    gained_[way == Way::kIn && directed_ ? 1 : 0][static_cast<std::size_t>(std::countr_zero(bits))] = now_;
}

std::uint64_t Graph::gained(Way way, std::uint64_t bits) const {
  std::uint64_t last = all_changed_;
  for (; bits != 0; bits &= bits - 1)
    last = std::max(
        last,
        gained_[way == Way::kIn && directed_ ? 1 : 0][static_cast<std::size_t>(std::countr_zero(bits))]);
  return last;
}

Edge Graph::named(Vertex source, Vertex target, Label label) const {
  if (!directed_ && source > target) std::swap(source, target);
  return {source, target, label};
}

bool Graph::has(const Edge& edge) const {
  const auto of = relations_.known_class(edge.label, labels_[edge.target]);
  return of && out_.contains(edge.source, *of, edge.target);
}

void Graph::set_more_copies(const Edge& edge, std::uint64_t more) {
  if (more == 0)
    more_copies_.erase(edge);
  else
    more_copies_[edge] = more;
}

bool Graph::insert(const Edge& edge) {
  const Class to = relations_.class_of(edge.label, labels_[edge.target]);
  const Class from = relations_.class_of(edge.label, labels_[edge.source]);
  Rows& back = directed_ ? in_ : out_;
  class_changed_.resize(relations_.classes().size());
  if (out_.admit(std::max(to, from))) change_all();  // rows are elsewhere now
  if (back.admit(std::max(to, from))) change_all();
  // Both places are found before either row is changed, so that their cache misses overlap.
  const std::size_t at = out_.place(edge.source, to, edge.target);
  const std::size_t back_at = back.place(edge.target, from, edge.source);
  if (out_.is_at(edge.source, at, to, edge.target)) return false;
  const std::uint64_t source_bits = out_.present(edge.source), target_bits = back.present(edge.target);
  out_.insert(edge.source, at, to, edge.target);
  try {
    back.insert(edge.target, back_at, from, edge.source);
  } catch (...) {
    out_.erase(edge.source, to, edge.target);
    throw;
  }
  note_change(edge, to, from, source_bits, target_bits);
  ++edges_;
  return true;
}

bool Graph::erase(const Edge& edge) {
  const auto to = relations_.known_class(edge.label, labels_[edge.target]);
  class_changed_.resize(relations_.classes().size());
  if (!to || !out_.erase(edge.source, *to, edge.target)) return false;
  const Class from = *relations_.known_class(edge.label, labels_[edge.source]);
  (directed_ ? in_ : out_).erase(edge.target, from, edge.source);
  note_change(edge, *to, from, ~std::uint64_t{0}, ~std::uint64_t{0});
  --edges_;
  return true;
}

void Graph::put(const Edge& edge) {
  const auto into = [&](Rows& rows, Vertex from, Vertex to) {
    const Class of = relations_.class_of(edge.label, labels_[to]);
    rows.admit(of);
    const std::size_t at = rows.place(from, of, to);
    if (!rows.is_at(from, at, of, to)) rows.insert(from, at, of, to);
  };
  change_all();
  into(out_, edge.source, edge.target);
  into(rows(Way::kIn), edge.target, edge.source);
}

void Graph::take(const Edge& edge) {
  change_all();
  out_.erase(edge.source, relations_.class_of(edge.label, labels_[edge.target]), edge.target);
  rows(Way::kIn).erase(edge.target, relations_.class_of(edge.label, labels_[edge.source]), edge.source);
}

sets::Span Graph::neighbors(Vertex vertex, Way way, std::uint32_t target,
                            std::vector<Vertex>& scratch) const {
  if (!in_one_run(way, target))
    return merged_neighbors(vertex, way, target, scratch, [](bool, Class, auto&, std::size_t) {});
  const Rows& from = rows(way);
  const Target& asked = relations_.target(target);
  return !from.classed() && asked.everything ? from.all(vertex) : from.of_class(vertex, asked.classes[0]);
}

std::size_t Graph::bytes() const {
  return labels_.capacity() * sizeof(Label) + changed_.capacity() * sizeof(std::uint64_t) + out_.bytes() +
         in_.bytes() + more_copies_.bytes();
}

}  // namespace motiflux::dynamic
