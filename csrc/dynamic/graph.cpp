#include "dynamic/graph.hpp"

#include <algorithm>
#include <bit>

namespace motiflux::dynamic {

void merge_ascending(Vertex* values, std::size_t size, std::vector<std::size_t>& starts) {
  starts.push_back(size);
  for (std::size_t width = 1; width + 1 < starts.size(); width *= 2)
    for (std::size_t run = 0; run + width + 1 < starts.size(); run += 2 * width)
      std::inplace_merge(values + starts[run], values + starts[run + width],
                         values + starts[std::min(run + 2 * width, starts.size() - 1)]);
}

void merge_runs(std::vector<Vertex>& values, std::vector<std::size_t>& starts) {
  merge_ascending(values.data(), values.size(), starts);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void Graph::keep_vertices(std::uint32_t count) {
  labels_.resize(count);
  changed_.resize(count);
  out_.keep_vertices(count);
  if (directed_) in_.keep_vertices(count);
  candidates_.cover(count);
}

void Graph::add_vertex(Label label) {
  labels_.push_back(label);
  changed_.push_back(now_);
  out_.add_vertices(1);
  if (directed_) in_.add_vertices(1);
  candidates_.cover(vertices());
}

void Graph::note_change(const Edge& edge, Class to, Class from, std::uint64_t source_bits,
                        std::uint64_t target_bits) {
  changed_[edge.source] = changed_[edge.target] = ++now_;
  class_changed_[to] = class_changed_[from] = now_;
  note_gained(Way::kOut, out_.present(edge.source) & ~source_bits);
  note_gained(Way::kIn, rows(Way::kIn).present(edge.target) & ~target_bits);
  if (!candidates_.is_used()) return;
  encode_end(edge.source, out_, to);
  encode_end(edge.target, rows(Way::kIn), from);
}

void Graph::encode(Vertex vertex) {
  if (!candidates_.is_used()) return;
  gaining_.assign(candidates_.width(), 0);
  encode(vertex, gaining_.data());
  note_gained_columns(gaining_);
}

void Graph::note_gained_columns(std::span<const std::uint64_t> gained) {
  for (std::size_t word = 0; word < gained.size(); ++word)
    for (std::uint64_t left = gained[word]; left != 0; left &= left - 1)
      gained_columns_[word * CandidateTable::kWordBits + static_cast<std::size_t>(std::countr_zero(left))] =
          now_;
}

std::uint64_t Graph::gained_columns(std::uint32_t word, std::uint64_t columns) const {
  std::uint64_t last = all_changed_;
  for (; columns != 0; columns &= columns - 1)
    last = std::max(last, gained_columns_[std::size_t{word} * CandidateTable::kWordBits +
                                          static_cast<std::size_t>(std::countr_zero(columns))]);
  return last;
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

template <class Visit>
void Graph::for_each_run(Vertex vertex, Way way, const Target& target, Visit&& visit) const {
  const auto of_rows = [&](const Rows& rows) {
    if (target.everything)
      rows.for_each_class(vertex, [&](Class, sets::Span run) { visit(run); });
    else
      for (Class of : target.classes)
        if (const sets::Span run = rows.of_class(vertex, of); run.size() > 0) visit(run);
  };
  of_rows(rows(way));
  if (directed_ && way == Way::kEither) of_rows(in_);
}

void Graph::rows_of_target(std::uint32_t target, Way way, std::uint64_t (*room_of)(std::uint64_t),
                           std::span<std::uint64_t> places, std::span<std::uint64_t> sizes,
                           std::optional<Unwritten<Vertex>>& neighbors, const Workers& workers) const {
  constexpr std::size_t kRowsTaken = 1024, kArcsTaken = std::size_t{1} << 16;
  const Target& asked = relations_.target(target);
  places[0] = 0;
  parallel_for(workers, vertices(), kRowsTaken, [&](std::size_t begin, std::size_t end) {
    for (std::size_t vertex = begin; vertex < end; ++vertex) {
      std::uint64_t size = 0;
      for_each_run(static_cast<Vertex>(vertex), way, asked, [&](sets::Span run) { size += run.size(); });
      sizes[vertex] = size;
      places[vertex + 1] = room_of(size);
    }
  });
  for (std::size_t vertex = 0; vertex < vertices(); ++vertex) places[vertex + 1] += places[vertex];
  neighbors.emplace(places[vertices()]);
  Vertex* const all = neighbors->data();
  parallel_rows(workers, places, kArcsTaken, [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> starts;
    for (std::size_t vertex = begin; vertex < end; ++vertex) {
      Vertex* const row = all + places[vertex];
      std::size_t size = 0;
      starts.clear();
      for_each_run(static_cast<Vertex>(vertex), way, asked, [&](sets::Span run) {
        starts.push_back(size);
        std::copy(run.begin(), run.end(), row + size);
        size += run.size();
      });
      if (starts.size() > 1) merge_ascending(row, size, starts);
    }
  });
}

double Graph::typical_row() const {
  double all = 0, squares = 0;
  const auto add = [&](const Rows& rows) {
    for (Vertex vertex = 0; vertex < vertices(); ++vertex) {
      const auto size = static_cast<double>(rows.all(vertex).size());
      all += size;
      squares += size * size;
    }
  };
  add(out_);
  if (directed_) add(in_);
  return all > 0 ? squares / all : 0;
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

std::optional<Graph::Located> Graph::find(const Edge& edge) const {
  const auto to = relations_.known_class(edge.label, labels_[edge.target]);
  const auto from = relations_.known_class(edge.label, labels_[edge.source]);
  if (!to || !from) return std::nullopt;
  const Rows& back = rows(Way::kIn);
  // Both places are found before either is looked at, so that their cache misses overlap.
  const std::size_t at = out_.place(edge.source, *to, edge.target);
  const std::size_t back_at = back.place(edge.target, *from, edge.source);
  if (!out_.is_at(edge.source, at, *to, edge.target)) return std::nullopt;
  return Located{*to, *from, at, back_at};
}

bool Graph::erase(const Edge& edge) {
  const std::optional<Located> where = find(edge);
  if (where) erase(edge, *where);
  return where.has_value();
}

void Graph::erase(const Edge& edge, const Located& where) {
  class_changed_.resize(relations_.classes().size());
  out_.own(edge.source);  // both or none: this may lack memory
  rows(Way::kIn).own(edge.target);
  out_.erase_at(edge.source, where.at, where.to);
  rows(Way::kIn).erase_at(edge.target, where.back_at, where.from);
  note_change(edge, where.to, where.from, ~std::uint64_t{0}, ~std::uint64_t{0});
  --edges_;
}

void Graph::put(const Edge& edge) {
  const auto into = [&](Rows& rows, Vertex from, Vertex to) {
    const Class of = relations_.class_of(edge.label, labels_[to]);
    rows.admit(of);
    const std::size_t at = rows.place(from, of, to);
    if (!rows.is_at(from, at, of, to)) rows.insert(from, at, of, to);
    encode(from);
  };
  change_all();
  into(out_, edge.source, edge.target);
  into(rows(Way::kIn), edge.target, edge.source);
}

void Graph::take(const Edge& edge) {
  change_all();
  out_.erase(edge.source, relations_.class_of(edge.label, labels_[edge.target]), edge.target);
  rows(Way::kIn).erase(edge.target, relations_.class_of(edge.label, labels_[edge.source]), edge.source);
  encode(edge.source);
  encode(edge.target);
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
         in_.bytes() + more_copies_.bytes() + candidates_.bytes();
}

}  // namespace motiflux::dynamic
