#include "search/bundle.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace motiflux::search {
namespace {

using NativePlans = std::span<const NativePlan* const>;

const view::StepShape& step_of(const NativePlan& native_plan, int level) {
  return native_plan.plan.shape.steps[level];
}

// The first level that is counted, not enumerated.
int first_counted(const NativePlan& native_plan) {
  return std::min(static_cast<int>(native_plan.plan.shape.levels) - 1, native_plan.tail.start);
}

std::uint32_t known(const view::StepShape& step, std::uint32_t levels) {
  return levels & ((std::uint32_t{2} << step.anchor) - 1);
}

bool same_sources(const NativePlan& a, const NativePlan& b, int level) {
  const view::StepShape &x = step_of(a, level), &y = step_of(b, level);
  if (x.source_count != y.source_count || x.reuse != y.reuse) return false;
  for (std::uint32_t s = 0; s < x.source_count; ++s) {
    const std::uint32_t i = x.first_source + s, j = y.first_source + s;
    const view::Adjacency &rows = a.adjacencies[a.plan.args.adjacency[i]],
                          &others = b.adjacencies[b.plan.args.adjacency[j]];
    if (a.plan.shape.sources[i].level != b.plan.shape.sources[j].level) return false;
    if (rows.offsets != others.offsets || rows.neighbors != others.neighbors) return false;
  }
  return true;
}

// Whether `level` has the same set in both plans, before it is clipped to later levels. The levels before are
// equal.
bool same_set(const NativePlan& a, const NativePlan& b, int level) {
  const view::StepShape &x = step_of(a, level), &y = step_of(b, level);
  return same_sources(a, b, level) && x.anchor == y.anchor && known(x, x.after) == known(y, y.after) &&
         known(x, x.before) == known(y, y.before);
}

// Whether the same arcs must not lead to `level` in both plans, where these are not all arcs.
bool same_apart(const NativePlan& a, const NativePlan& b, int level) {
  static const std::vector<Apart> none;
  const auto at = static_cast<std::size_t>(level);
  const std::vector<Apart>& x = a.apart.empty() ? none : a.apart[at];
  const std::vector<Apart>& y = b.apart.empty() ? none : b.apart[at];
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Apart& one, const Apart& other) {
    return one.earlier == other.earlier && one.rows.offsets == other.rows.offsets;
  });
}

// Whether `level` has the same candidates in both plans, degrees aside. The levels before are equal.
bool same_step(const NativePlan& a, const NativePlan& b, int level) {
  const view::StepShape &x = step_of(a, level), &y = step_of(b, level);
  return same_sources(a, b, level) && x.anchor == y.anchor && x.after == y.after && x.before == y.before &&
         x.distinct == y.distinct && x.not_out == y.not_out && x.not_in == y.not_in &&
         same_apart(a, b, level);
}

view::StepArgs degrees(const NativePlan& native_plan, int level) {
  const view::StepShape& step = step_of(native_plan, level);
  const view::StepArgs& args = native_plan.plan.args.steps[level];
  return {step.bounds_out ? args.min_out_degree : 0, step.bounds_in ? args.min_in_degree : 0};
}

// A plan of the levels that several plans share, with the smallest degree bounds.
class Prefix {
 public:
  Prefix(NativePlans native_plans, int levels) : native_plan_(*native_plans[0]) {
    const view::Plan& plan = native_plan_.plan;
    steps_.assign(plan.shape.steps, plan.shape.steps + plan.shape.levels);
    args_.assign(plan.args.steps, plan.args.steps + plan.shape.levels);
    for (int level = 0; level < levels; ++level) relax(native_plans, level);
    native_plan_.plan.shape.steps = steps_.data();
    native_plan_.plan.args.steps = args_.data();
    native_plan_.tail = {levels, {TailBlock{}}, {}};
    native_plan_.backjump = Backjump::kOff;
    native_plan_.adaptive_order = nullptr;
    native_plan_.all_different.clear();  // bounds of one plan do not hold for the others
  }
  Prefix(const Prefix&) = delete;
  Prefix& operator=(const Prefix&) = delete;

  const NativePlan& native_plan() const { return native_plan_; }

 private:
  void relax(NativePlans native_plans, int level) {
    const auto at = static_cast<std::size_t>(level);
    args_[at] = degrees(*native_plans[0], level);
    for (const NativePlan* native_plan : native_plans) {
      const view::StepArgs wanted = degrees(*native_plan, level);
      args_[at].min_out_degree = std::min(args_[at].min_out_degree, wanted.min_out_degree);
      args_[at].min_in_degree = std::min(args_[at].min_in_degree, wanted.min_in_degree);
    }
    steps_[at].bounds_out = args_[at].min_out_degree > 0;
    steps_[at].bounds_in = args_[at].min_in_degree > 0;
  }

  std::vector<view::StepShape> steps_;
  std::vector<view::StepArgs> args_;
  NativePlan native_plan_;
};

}  // namespace

int shared_levels(NativePlans native_plans) {
  const NativePlan& first = *native_plans[0];
  int most = first_counted(first);
  for (const NativePlan* native_plan : native_plans) most = std::min(most, first_counted(*native_plan));
  int level = 0;
  const auto same = [&](const NativePlan* native_plan) { return same_step(first, *native_plan, level); };
  while (level < most && std::all_of(native_plans.begin(), native_plans.end(), same)) ++level;
  return level;
}

class Bundle::Node final : public Visitor {
 public:
  Node(NativePlans native_plans, std::span<Visitor* const> visitors)
      : levels_(shared_levels(native_plans)),
        prefix_(native_plans, levels_),
        walker_(prefix_.native_plan(), *this, true) {
    for (const std::vector<std::size_t>& members : grouped(native_plans))
      add(members, native_plans, visitors);
    lend();
  }

  Walker& walker() { return walker_; }
  const NativePlan& native_plan() const { return prefix_.native_plan(); }
  int levels() const { return levels_; }

  void share(Pool& pool, Walker& outermost) {
    walker_.share(pool, outermost);
    for (Branch& branch : branches_) {
      if (branch.node)
        branch.node->share(pool, outermost);
      else
        branch.walker->share(pool, outermost);
    }
  }

  void rows(const std::uint32_t*, sets::Span) override {}

  void count_wide(const Wide&) override {}

  // Called for each partial embedding of the shared levels.
  void count(Total) override {
    for (Branch& branch : branches_)
      if (!branch.stopped && accepts(branch))
        branch.stopped = !branch.walker->follow(walker_, levels_, branch.lender);
  }

  bool keep_going() override {
    bool any = false;
    for (Branch& branch : branches_) {
      branch.stopped = branch.stopped || !branch.visitor->keep_going();
      any = any || !branch.stopped;
    }
    return any;
  }

 private:
  // A degree bound of a branch that is larger than the bound of the node.
  struct Bound {
    int level;
    view::StepArgs degrees;
  };
  struct Branch {
    std::unique_ptr<Node> node;  // or `leaf`
    std::unique_ptr<Walker> leaf;
    const NativePlan* native_plan;
    Visitor* visitor;
    Walker* walker;
    const Walker* lender = nullptr;
    std::vector<Bound> bounds{};
    bool stopped = false;
  };

  // Groups of positions of plans that share the next level too; a plan that shares it with none is alone.
  std::vector<std::vector<std::size_t>> grouped(NativePlans native_plans) const {
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t at = 0; at < native_plans.size(); ++at) {
      const auto joins = [&](const std::vector<std::size_t>& group) {
        const NativePlan& other = *native_plans[group[0]];
        return std::min(first_counted(*native_plans[at]), first_counted(other)) > levels_ &&
               same_step(*native_plans[at], other, levels_);
      };
      const auto group = std::find_if(groups.begin(), groups.end(), joins);
      if (group == groups.end())
        groups.push_back({at});
      else
        group->push_back(at);
    }
    return groups;
  }

  void add(const std::vector<std::size_t>& members, NativePlans native_plans,
           std::span<Visitor* const> visitors) {
    if (members.size() == 1) {
      const NativePlan* native_plan = native_plans[members[0]];
      Visitor* visitor = visitors[members[0]];
      auto leaf = std::make_unique<Walker>(*native_plan, *visitor, true);
      Walker* walker = leaf.get();
      branches_.push_back({nullptr, std::move(leaf), native_plan, visitor, walker});
    } else {
      std::vector<const NativePlan*> some;
      std::vector<Visitor*> theirs;
      for (std::size_t member : members) {
        some.push_back(native_plans[member]);
        theirs.push_back(visitors[member]);
      }
      auto node = std::make_unique<Node>(some, theirs);
      Node* inner = node.get();
      branches_.push_back({std::move(node), nullptr, &inner->native_plan(), inner, &inner->walker()});
    }
    bound(branches_.back());
  }

  // Makes branches whose next level has the same set take it from the first of them: if possible a branch
  // that enumerates the level and so computes its set anyway.
  void lend() {
    std::stable_partition(branches_.begin(), branches_.end(),
                          [&](const Branch& branch) { return first_counted(*branch.native_plan) > levels_; });
    for (auto branch = branches_.begin(); branch != branches_.end(); ++branch) {
      const auto lender = std::find_if(branches_.begin(), branch, [&](const Branch& other) {
        return same_set(*other.native_plan, *branch->native_plan, levels_);
      });
      if (lender == branch) continue;
      lender->walker->keep_set(levels_);
      branch->lender = lender->walker;
    }
  }

  void bound(Branch& branch) const {
    for (int level = 0; level < levels_; ++level) {
      const view::StepArgs own = degrees(*branch.native_plan, level), walked = degrees(native_plan(), level);
      if (own.min_out_degree > walked.min_out_degree || own.min_in_degree > walked.min_in_degree)
        branch.bounds.push_back({level, own});
    }
  }

  bool accepts(const Branch& branch) const {
    return std::all_of(branch.bounds.begin(), branch.bounds.end(), [&](const Bound& bound) {
      const std::uint32_t vertex = walker_.value(bound.level);
      return native_plan().out.degree(vertex) >= bound.degrees.min_out_degree &&
             native_plan().in.degree(vertex) >= bound.degrees.min_in_degree;
    });
  }

  const int levels_;
  const Prefix prefix_;
  Walker walker_;
  std::vector<Branch> branches_;
};

Bundle::Bundle(NativePlans native_plans, std::span<Visitor* const> visitors) {
  if (shared_levels(native_plans) < 2)
    throw std::invalid_argument("the searches of one pass share two levels");
  root_ = std::make_unique<Node>(native_plans, visitors);
}

Bundle::~Bundle() = default;

bool Bundle::search(const WorkItem& item) {
  return root_->walker().search(item);
}

std::uint64_t Bundle::arcs_done() const {
  return root_->walker().arcs_done();
}

void Bundle::share(Pool& pool) {
  root_->share(pool, root_->walker());
}

}  // namespace motiflux::search
