#include "sample/graph.hpp"

#include <algorithm>
#include <cmath>

namespace motiflux::sample {
namespace {

constexpr std::uint64_t kCheckedRows = 1 << 10;

}  // namespace

OwnedGraph::OwnedGraph(const std::vector<LevelPlan>& plan, const std::vector<view::Adjacency>& rows,
                       std::vector<const std::uint32_t*> members, std::vector<std::uint32_t> sizes,
                       std::vector<std::uint32_t> roots, view::Adjacency out, view::Adjacency in)
    : sizes_(std::move(sizes)), roots_(std::move(roots)) {
  graph_.levels = static_cast<std::uint32_t>(plan.size());
  for (std::size_t level = 0; level < plan.size(); ++level) {
    Level& at = graph_.level[level];
    at.members = members.empty() ? nullptr : members[level];
    at.first_source = static_cast<std::uint32_t>(sources_.size());
    at.source_count = static_cast<std::uint32_t>(plan[level].source_levels.size());
    at.distinct = plan[level].distinct;
    at.not_out = plan[level].not_out;
    at.not_in = plan[level].not_in;
    for (std::uint32_t from : plan[level].source_levels) sources_.push_back({rows[sources_.size()], from});
  }
  graph_.sources = sources_.data();
  graph_.roots = members.empty() ? roots_.data() : nullptr;
  graph_.root_count = members.empty() ? roots_.size() : sizes_[0];
  graph_.out = out;
  graph_.in = in;
  choose_tree();
}

void OwnedGraph::choose_tree() {
  for (std::uint32_t level = 1; level < graph_.levels; ++level) {
    Level& at = graph_.level[level];
    double least = 2;
    for (std::uint32_t source = 0; source < at.source_count; ++source) {
      const Source& from = sources_[at.first_source + source];
      const double starts = static_cast<double>(sizes_[from.level]);
      const double pairs = starts * static_cast<double>(sizes_[level]);
      const double joined =
          pairs > 0 ? static_cast<double>(from.rows.offsets[sizes_[from.level]]) / pairs : 0;
      if (joined < least) {
        least = joined;
        at.tree_source = source;
      }
    }
  }
}

std::uint64_t OwnedGraph::tree_bytes() const {
  std::uint32_t inner = 0;  // levels with children in the tree
  for (std::uint32_t level = 1; level < graph_.levels; ++level) inner |= 1u << tree_source(level).level;
  std::uint64_t bytes = graph_.root_count * sizeof(double);
  for (std::uint32_t level = 1; level < graph_.levels; ++level) {
    const Source& from = tree_source(level);
    if ((inner >> level & 1) != 0) bytes += from.rows.offsets[sizes_[from.level]] * sizeof(double);
  }
  return bytes;
}

double OwnedGraph::most_bits() const {
  double bits = std::log2(static_cast<double>(graph_.root_count));
  for (std::uint32_t level = 1; level < graph_.levels; ++level) {
    const Level& at = graph_.level[level];
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint32_t source = 0; source < at.source_count; ++source) {
      const Source& from = sources_[at.first_source + source];
      std::uint64_t longest = 0;
      for (std::uint32_t start = 0; start < sizes_[from.level]; ++start)
        longest = std::max(longest, from.rows.degree(start));
      least = std::min(least, longest);
    }
    bits += std::log2(static_cast<double>(least));
  }
  return bits;
}

// From the last level to the first: the number of trees below a value is the product, over its child levels
// in the tree, of the sums of their rows. The numbers of a level are scaled by a power of two so that the
// greatest is in [1, 2).
void OwnedGraph::grow_tree(const Workers& workers) {
  if (graph_.root_sums) return;
  trees_exponent_ = 0;
  std::vector<std::vector<double>> hang(graph_.levels);  // empty: 1 everywhere
  sums_.resize(graph_.levels);
  const auto rescale = [&](std::vector<double>& numbers) {
    double most = 0;
    for (double number : numbers) most = std::max(most, number);
    if (most == 0) return;
    const int exponent = std::ilogb(most);
    trees_exponent_ += exponent;
    for (double& number : numbers) number = std::ldexp(number, -exponent);
  };
  for (std::uint32_t level = graph_.levels - 1; level > 0; --level) {
    const std::vector<double> own = std::move(hang[level]);
    Level& at = graph_.level[level];
    const Source& from = tree_source(level);
    const std::uint64_t* offsets = from.rows.offsets;
    std::vector<double>& below = hang[from.level];
    below.resize(sizes_[from.level], 1.0);
    if (own.empty()) {
      for (std::uint64_t start = 0; start < sizes_[from.level]; ++start)
        below[start] *= static_cast<double>(offsets[start + 1] - offsets[start]);
    } else {
      std::vector<double>& sums = sums_[level];
      sums.resize(offsets[sizes_[from.level]]);
      for (std::uint64_t start = 0; start < sizes_[from.level]; ++start) {
        if (start % kCheckedRows == 0) workers.check();
        double sum = 0;
        for (std::uint64_t i = offsets[start]; i < offsets[start + 1]; ++i)
          sums[i] = sum += own[from.rows.neighbors[i]];
        below[start] *= sum;
      }
      at.sums = sums.data();
    }
    rescale(below);
  }
  double sum = 0;
  root_sums_.reserve(graph_.root_count + 1);
  for (std::uint64_t i = 0; i < graph_.root_count; ++i)
    root_sums_.push_back(sum += hang[0][roots_.empty() ? i : roots_[i]]);
  graph_.root_sums = root_sums_.data();
  int more = 0;
  trees_ = std::frexp(sum, &more);
  trees_exponent_ += more;
  graph_.trees = std::ldexp(trees_, trees_exponent_ - kUnitBits);
}

}  // namespace motiflux::sample
