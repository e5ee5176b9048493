#include "dynamic/candidate_columns.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace motiflux::dynamic {
namespace {

// A query edge, seen from one of its ends.
struct Asked {
  Way way;
  std::uint32_t relation;
  LabelSet neighbor;  // the labels of the other end
  int level;          // of the other end
};

bool is_within(const LabelSet& some, const LabelSet& all) {
  return !all.codes || (some.codes && std::ranges::includes(*all.codes, *some.codes));
}

Way turned(Way way) {
  return way == Way::kOut ? Way::kIn : way == Way::kIn ? Way::kOut : Way::kEither;
}

class Asking {
 public:
  Asking(const Plan& plan, Relations& relations, bool directed)
      : plan_(plan), relations_(relations), directed_(directed), asked_(plan.steps.size()) {
    for (int level = 0; level < plan.levels(); ++level) labels_.push_back(labels_of(level));
    for (const PairEdge& edge : plan.pair) add(0, 1, edge.way, edge.relation);
    for (int level = 2; level < plan.levels(); ++level)
      for (int at = level; at != kNone; at = step(at).reuse)
        for (const Source& source : step(at).sources) add(source.level, level, source.way, source.relation);
  }

  CandidateColumn column(int level) const {
    CandidateColumn found{labels_[static_cast<std::size_t>(level)], {}};
    const std::vector<Asked>& all = asked_[static_cast<std::size_t>(level)];
    for (const Asked& one : all) {
      const CandidateColumn::Kind kind{one.way, relations_.target(one.relation, one.neighbor)};
      if (std::ranges::find(found.items, kind, &CandidateColumn::Item::kind) == found.items.end())
        found.items.push_back({kind, least(all, one)});
    }
    std::ranges::sort(found.items, {},
                      [](const auto& item) { return std::pair(item.kind.way, item.kind.target); });
    return found;
  }

 private:
  // The number of neighbours that must be of the kind of a query edge.
  std::uint32_t least(const std::vector<Asked>& all, const Asked& one) const {
    if (!plan_.injective) return 1;
    std::uint32_t others = 0;  // levels, as bits
    for (const Asked& other : all)
      if (other.way == one.way && is_within(other.neighbor, one.neighbor) &&
          (other.relation == one.relation || accepts_no_more(other.relation, one.relation)))
        others |= std::uint32_t{1} << other.level;
    return static_cast<std::uint32_t>(std::popcount(others));
  }
  bool accepts_no_more(std::uint32_t some, std::uint32_t all) const {
    const std::vector<Relation>& relations = relations_.all();
    return relations[some].either == relations[all].either &&
           is_within(relations[some].labels, relations[all].labels);
  }

  void add(int from, int to, Way way, std::uint32_t relation) {
    if (!directed_) way = Way::kOut;
    const auto at = [](int level) { return static_cast<std::size_t>(level); };
    asked_[at(from)].push_back({way, relation, labels_[at(to)], to});
    asked_[at(to)].push_back({directed_ ? turned(way) : way, relation, labels_[at(from)], from});
  }

  const Step& step(int level) const { return plan_.steps[static_cast<std::size_t>(level)]; }
  LabelSet labels_of(int level) const {
    if (level < 2) return level == 0 ? plan_.first : plan_.second;
    const Step* own = &step(level);
    for (; own->sources.empty(); own = &step(own->reuse))
      if (own->reuse == kNone) return {};  // a list of vertices: any label
    return relations_.target(own->sources[0].target).vertices;
  }

  const Plan& plan_;
  Relations& relations_;
  bool directed_;
  std::vector<LabelSet> labels_;           // by level
  std::vector<std::vector<Asked>> asked_;  // by level
};

// Whether the set of a later level depends on a level: otherwise all neighbours that a candidate needs are
// matched already.
bool leads_on(const Plan& plan, int level) {
  return std::ranges::any_of(plan.steps | std::views::drop(level + 1), [&](const Step& later) {
    return std::ranges::any_of(later.sources, [&](const Source& source) { return source.level == level; });
  });
}

}  // namespace

std::vector<CandidateColumn> candidate_columns(std::span<Plan> plans, Relations& relations, bool directed) {
  std::vector<CandidateColumn> columns;
  for (Plan& plan : plans) {
    const Asking asking(plan, relations, directed);
    plan.columns.assign(plan.steps.size(), kNoNumber);
    for (int level = 0; level < plan.levels(); ++level) {
      if (!leads_on(plan, level)) continue;
      CandidateColumn column = asking.column(level);
      const auto known = std::ranges::find(columns, column);
      plan.columns[static_cast<std::size_t>(level)] = static_cast<std::uint32_t>(known - columns.begin());
      if (known == columns.end()) columns.push_back(std::move(column));
    }
  }
  return columns;
}

}  // namespace motiflux::dynamic
