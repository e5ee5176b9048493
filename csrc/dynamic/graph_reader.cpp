#include "dynamic/graph_reader.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace motiflux::dynamic {
namespace {

constexpr std::size_t kRowsSummed = std::size_t{1} << 14;

}  // namespace

std::optional<OwnRows> own_rows(const Graph& graph, Way way, std::uint32_t target) {
  if (!graph.in_one_run(way, target)) return std::nullopt;
  const Rows& rows = graph.rows(way);
  const Target& asked = graph.relations().target(target);
  if (!rows.classed() && asked.everything) return OwnRows{&rows, std::nullopt};
  return OwnRows{&rows, asked.classes[0]};
}

SumsOfRows sums_of(const OwnRows& own, std::uint32_t vertices, const Workers& workers) {
  SumsOfRows sums;
  std::mutex adding;
  parallel_for(workers, vertices, kRowsSummed, [&](std::size_t begin, std::size_t end) {
    SumsOfRows part;
    for (std::size_t vertex = begin; vertex < end; ++vertex) {
      const std::uint64_t size = own.row(static_cast<Vertex>(vertex)).size();
      part.entries += size;
      part.longest = std::max(part.longest, size);
      part.squares += static_cast<double>(size) * static_cast<double>(size);
    }
    const std::lock_guard lock(adding);
    sums.entries += part.entries;
    sums.longest = std::max(sums.longest, part.longest);
    sums.squares += part.squares;
  });
  return sums;
}

GraphReader::GraphReader(Graph& graph)
    : graph_(graph), readers_{RowReader(graph.vertices()), RowReader(graph.vertices())} {
  graph_.rows(Way::kOut).add_reader(readers_[0]);
  if (graph_.directed()) graph_.rows(Way::kIn).add_reader(readers_[1]);
}

GraphReader::~GraphReader() {
  for (RowReader& reader : readers_) reader.set_reads(false);
  graph_.rows(Way::kOut).remove_reader(readers_[0]);
  if (graph_.directed()) graph_.rows(Way::kIn).remove_reader(readers_[1]);
}

Arenas GraphReader::arenas() const {
  Arenas all = graph_.rows(Way::kOut).arenas();
  if (graph_.directed()) std::ranges::copy(graph_.rows(Way::kIn).arenas(), std::back_inserter(all));
  return all;
}

std::vector<Vertex> GraphReader::hold() {
  std::vector<Vertex> changed = readers_[0].noted(graph_.vertices());
  if (graph_.directed()) {
    const std::vector<Vertex> incoming = readers_[1].noted(graph_.vertices());
    std::vector<Vertex> both;
    std::ranges::set_union(changed, incoming, std::back_inserter(both));
    changed = std::move(both);
  }
  for (RowReader& reader : readers_) {
    reader.forget();
    reader.set_reads(true);
  }
  return changed;
}

void GraphReader::release() {
  for (RowReader& reader : readers_) reader.set_reads(false);
  graph_.rows(Way::kOut).reuse_retired();
  if (graph_.directed()) graph_.rows(Way::kIn).reuse_retired();
}

void GraphReader::leave(std::span<const RunEnd> ends) {
  const bool classed = graph_.rows(Way::kOut).classed() || graph_.rows(Way::kIn).classed();
  if (!classed) note(ends);
}

void GraphReader::note(std::span<const RunEnd> ends) {
  for (const RunEnd& end : ends) readers_[(end.of & End::kBack) != 0 ? 1 : 0].note(end.vertex);
}

}  // namespace motiflux::dynamic
