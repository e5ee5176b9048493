#include "graph/check.hpp"

#include <algorithm>

#include "graph/grain.hpp"

namespace motiflux::graph {
namespace {

constexpr std::size_t kVertexGrain = 1 << 16;
constexpr std::uint64_t kNone = UINT64_MAX;

// The smallest number that threads report.
class First {
 public:
  void report(std::uint64_t found) {
    std::uint64_t known = first_.load(std::memory_order_relaxed);
    while (found < known && !first_.compare_exchange_weak(known, found, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t get() const { return first_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> first_{kNone};
};

std::string offset_fault(std::span<const std::uint64_t> offsets, std::uint64_t arcs, const Workers& workers) {
  First first;
  const std::size_t vertices = offsets.size() - 1;
  parallel_for(workers, vertices, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      if (offsets[v] > offsets[v + 1]) return first.report(v + 1);
  });
  if (offsets[0] != 0) return "offsets[0]: found " + std::to_string(offsets[0]) + ", expected 0";
  if (const std::uint64_t at = first.get(); at != kNone)
    return "offsets[" + std::to_string(at) + "]: found " + std::to_string(offsets[at]) + " after " +
           std::to_string(offsets[at - 1]) + ", expected them to ascend";
  if (offsets[vertices] != arcs)
    return "offsets[" + std::to_string(vertices) + "]: found " + std::to_string(offsets[vertices]) +
           ", expected the number of arcs, " + std::to_string(arcs);
  return {};
}

// A check of one arc of row v; the arc before it in the row is valid.
struct Look {
  const ArcRows& rows;
  std::span<const std::uint32_t> copies;
  std::uint32_t vertices;
  std::uint32_t edge_labels;

  std::uint32_t label(std::uint64_t arc) const { return rows.labels.empty() ? 0 : rows.labels[arc]; }

  bool ascends(std::uint64_t arc) const {
    const std::uint32_t before = rows.neighbors[arc - 1], here = rows.neighbors[arc];
    return before < here || (before == here && label(arc - 1) < label(arc));
  }

  bool sound(std::uint64_t v, std::uint64_t arc) const {
    return rows.neighbors[arc] < vertices && rows.neighbors[arc] != v && label(arc) < edge_labels &&
           (copies.empty() || copies[arc] > 0) && (arc == rows.offsets[v] || ascends(arc));
  }

  std::string describe(std::uint64_t arc) const {
    const std::string at = "[" + std::to_string(arc) + "]: found ";
    if (rows.neighbors[arc] >= vertices)
      return "neighbors" + at + std::to_string(rows.neighbors[arc]) + ", expected a vertex below " +
             std::to_string(vertices);
    if (label(arc) >= edge_labels)
      return "labels" + at + std::to_string(label(arc)) + ", expected a code below " +
             std::to_string(edge_labels);
    if (!copies.empty() && copies[arc] == 0) return "copies" + at + "0, expected at least 1";
    return "neighbors" + at + std::to_string(rows.neighbors[arc]) +
           ", expected rows to ascend, each arc once and none to its own vertex";
  }
};

// The copies of all arcs of a sound row without labels, found without a branch for each arc; 0 of others.
std::uint64_t copies_if_sound(const Look& look, std::uint64_t v) {
  const std::uint64_t begin = look.rows.offsets[v], arcs = look.rows.offsets[v + 1] - begin;
  const std::uint32_t* row = look.rows.neighbors.data() + begin;
  if (arcs == 0) return 0;
  std::uint32_t faults = row[0] == v;
  for (std::uint64_t arc = 1; arc < arcs; ++arc)
    faults |= static_cast<std::uint32_t>(row[arc] <= row[arc - 1]) |
              static_cast<std::uint32_t>(row[arc] == static_cast<std::uint32_t>(v));
  faults |= row[arcs - 1] >= look.vertices;
  std::uint64_t sum = arcs;
  if (!look.copies.empty()) {
    const std::uint32_t* copies = look.copies.data() + begin;
    sum = 0;
    for (std::uint64_t arc = 0; arc < arcs; ++arc) {
      faults |= static_cast<std::uint32_t>(copies[arc] == 0);
      sum += copies[arc];
    }
  }
  return faults == 0 ? sum : 0;
}

std::string arc_fault(const Look& look, std::uint64_t edge_rows, const Workers& workers) {
  First first;
  std::atomic<std::uint64_t> counted{0};
  const ArcRows& rows = look.rows;
  const bool plain = rows.labels.empty() && look.edge_labels > 0;
  parallel_rows(workers, rows.offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
    std::uint64_t sum = 0;
    for (std::size_t v = begin; v < end; ++v) {
      if (const std::uint64_t copies = plain ? copies_if_sound(look, v) : 0; copies > 0) {
        sum += copies;
        continue;
      }
      for (std::uint64_t arc = rows.offsets[v]; arc < rows.offsets[v + 1]; ++arc) {
        if (!look.sound(v, arc)) return first.report(arc);
        sum += look.copies.empty() ? 1 : look.copies[arc];
      }
    }
    counted.fetch_add(sum, std::memory_order_relaxed);
  });
  if (first.get() != kNone) return look.describe(first.get());
  if (counted.load() != edge_rows)
    return "copies: found " + std::to_string(counted.load()) + " together, expected " +
           std::to_string(edge_rows);
  return {};
}

}  // namespace

std::string describe_fault(const ArcRows& rows, std::span<const std::uint32_t> copies,
                           std::uint32_t edge_labels, std::uint64_t edge_rows, const Workers& workers) {
  std::string fault = offset_fault(rows.offsets, rows.neighbors.size(), workers);
  if (!fault.empty()) return fault;
  const auto vertices = static_cast<std::uint32_t>(rows.offsets.size() - 1);
  return arc_fault({rows, copies, vertices, edge_labels}, edge_rows, workers);
}

}  // namespace motiflux::graph
