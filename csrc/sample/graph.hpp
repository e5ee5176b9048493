// A candidate graph for samplers, with the arrays that it owns.
#pragma once

#include <vector>

#include "candidates/space.hpp"
#include "common/parallel.hpp"
#include "motiflux/sample/graph.hpp"

namespace motiflux::sample {

// A level of the plan.
struct LevelPlan {
  std::vector<std::uint32_t> source_levels;
  std::uint32_t distinct = 0;
  std::uint32_t not_out = 0;
  std::uint32_t not_in = 0;
};

class OwnedGraph {
 public:
  // The rows and `members` must outlive it; `members` is empty where values are data vertices.
  OwnedGraph(const std::vector<LevelPlan>& plan, const std::vector<view::Adjacency>& rows,
             std::vector<const std::uint32_t*> members, std::vector<std::uint32_t> sizes,
             std::vector<std::uint32_t> roots, view::Adjacency out, view::Adjacency in);
  OwnedGraph(const OwnedGraph&) = delete;
  OwnedGraph& operator=(const OwnedGraph&) = delete;

  const CandidateGraph& get() const { return graph_; }
  std::size_t source_count() const { return sources_.size(); }
  // The number of values of a level.
  std::uint32_t size(std::uint32_t level) const { return sizes_[level]; }

  // Counts trees, for the tree estimator; once. Cancelled by the workers' flag.
  void grow_tree(const Workers& workers);
  // Bytes of the sums.
  std::uint64_t tree_bytes() const;
  // The number of embeddings of the tree: trees() * 2^trees_exponent(); 0 if there is none.
  double trees() const { return trees_; }
  int trees_exponent() const { return trees_exponent_; }
  // The base-2 logarithm of an upper bound of the weights of the other estimators.
  double most_bits() const;

 private:
  // Of the edges that join a level to earlier ones, the tree takes the edge that joins the smallest share of
  // pairs.
  void choose_tree();
  const Source& tree_source(std::uint32_t level) const {
    return sources_[graph_.level[level].first_source + graph_.level[level].tree_source];
  }

  CandidateGraph graph_{};
  std::vector<Source> sources_;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> roots_;
  std::vector<std::vector<double>> sums_;
  std::vector<double> root_sums_;
  double trees_ = 0;
  int trees_exponent_ = 0;
};

}  // namespace motiflux::sample
