#include "dynamic/relations.hpp"

namespace motiflux::dynamic {

std::uint32_t Relations::relation(const Relation& relation) {
  const auto found = std::find(relations_.begin(), relations_.end(), relation);
  if (found != relations_.end()) return static_cast<std::uint32_t>(found - relations_.begin());
  relations_.push_back(relation);
  return static_cast<std::uint32_t>(relations_.size() - 1);
}

std::uint32_t Relations::target(std::uint32_t relation, const LabelSet& vertices) {
  for (std::uint32_t number = 0; number < targets_.size(); ++number)
    if (targets_[number].relation == relation && targets_[number].vertices == vertices) return number;
  targets_.push_back({relation, vertices, false, {}});
  find_classes(targets_.back());
  return static_cast<std::uint32_t>(targets_.size() - 1);
}

// All memory is there before anything changes. A label is new, so that no class has it.
void Relations::accept(Label label, std::span<const std::uint32_t> relations) {
  for (const std::uint32_t number : relations) {
    std::vector<Label>& codes = *relations_[number].labels.codes;
    if (codes.size() == codes.capacity()) codes.reserve(2 * codes.size() + 1);
  }
  for (const std::uint32_t number : relations) {
    std::vector<Label>& codes = *relations_[number].labels.codes;
    codes.insert(std::ranges::upper_bound(codes, label), label);
  }
}

// All memory is there before anything changes: a class that only some targets know would hide matches.
Class Relations::make_class(Label edge, Label vertex) {
  const auto made = static_cast<Class>(classes_.size());
  const auto make_room = [](auto& list) {
    if (list.size() == list.capacity()) list.reserve(2 * list.size() + 1);
  };
  const auto takes = [&](const Target& target) {
    return accepts(target.relation, edge) && target.vertices.has(vertex);
  };
  make_room(classes_);
  if (by_vertex_.size() <= vertex) by_vertex_.resize(vertex + std::size_t{1});
  make_room(by_vertex_[vertex]);
  for (Target& target : targets_)
    if (takes(target)) make_room(target.classes);
  if (edge < kDirect && vertex < kDirect) {
    if (direct_.size() <= edge) direct_.resize(edge + std::size_t{1});
    if (direct_[edge].size() <= vertex) direct_[edge].resize(vertex + std::size_t{1}, kUnknown);
    direct_[edge][vertex] = made;
  } else {
    numbers_[key(edge, vertex)] = made;
  }
  classes_.push_back({edge, vertex});
  by_vertex_[vertex].push_back(made);
  stand_ins_ |= edge >= kStandIn;
  several_edge_labels_ |= edge != classes_.front().edge;
  for (Target& target : targets_) {
    if (takes(target)) target.classes.push_back(made);
    target.everything = target.classes.size() == classes_.size();
  }
  return made;
}

const std::vector<Class>& Relations::classes_to(Label vertex) const {
  static const std::vector<Class> none;
  return vertex < by_vertex_.size() ? by_vertex_[vertex] : none;
}

bool Relations::accepts(std::uint32_t relation, Label edge) const {
  return edge >= kStandIn ? edge - kStandIn == relation : relations_[relation].labels.has(edge);
}

bool Relations::one_witness(std::uint32_t relation) const {
  const Relation& asked = relations_[relation];
  if (asked.either || stand_ins_) return false;
  if (asked.growing != 0) return false;
  return !several_edge_labels_ || (asked.labels.codes && asked.labels.codes->size() <= 1);
}

void Relations::find_classes(Target& target) const {
  target.classes.clear();
  for (Class number = 0; number < classes_.size(); ++number)
    if (accepts(target.relation, classes_[number].edge) && target.vertices.has(classes_[number].vertex))
      target.classes.push_back(number);
  target.everything = target.classes.size() == classes_.size();
}

}  // namespace motiflux::dynamic
