#include "search/bundle.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace motiflux::search {
namespace {

using Problems = std::span<const Problem* const>;

const view::StepShape& step_of(const Problem& problem, int level) {
  return problem.plan.shape.steps[level];
}

// The first level that is counted, not enumerated.
int first_counted(const Problem& problem) {
  return std::min(static_cast<int>(problem.plan.shape.levels) - 1, problem.tail.start);
}

std::uint32_t known(const view::StepShape& step, std::uint32_t levels) {
  return levels & ((std::uint32_t{2} << step.anchor) - 1);
}

bool same_sources(const Problem& a, const Problem& b, int level) {
  const view::StepShape &x = step_of(a, level), &y = step_of(b, level);
  if (x.source_count != y.source_count || x.reuse != y.reuse) return false;
  for (std::uint32_t s = 0; s < x.source_count; ++s) {
    const std::uint32_t i = x.first_source + s, j = y.first_source + s;
    const view::Adjacency &rows = a.slots[a.plan.args.slots[i]], &others = b.slots[b.plan.args.slots[j]];
    if (a.plan.shape.sources[i].level != b.plan.shape.sources[j].level) return false;
    if (rows.offsets != others.offsets || rows.neighbors != others.neighbors) return false;
  }
  return true;
}

// Whether `level`, below which all is the same, has the same set before it is clipped to later levels.
bool same_set(const Problem& a, const Problem& b, int level) {
  const view::StepShape &x = step_of(a, level), &y = step_of(b, level);
  return same_sources(a, b, level) && x.anchor == y.anchor && known(x, x.after) == known(y, y.after) &&
         known(x, x.before) == known(y, y.before);
}

// Whether `level`, below which all is the same, has the same candidates but for their degrees.
bool same_step(const Problem& a, const Problem& b, int level) {
  const view::StepShape &x = step_of(a, level), &y = step_of(b, level);
  return same_sources(a, b, level) && x.anchor == y.anchor && x.after == y.after && x.before == y.before &&
         x.distinct == y.distinct && x.not_out == y.not_out && x.not_in == y.not_in;
}

view::StepArgs degrees(const Problem& problem, int level) {
  const view::StepShape& step = step_of(problem, level);
  const view::StepArgs& args = problem.plan.args.steps[level];
  return {step.bounds_out ? args.min_out_degree : 0, step.bounds_in ? args.min_in_degree : 0};
}

// The shared levels of several problems as a problem whose count is handed to each: with the smallest bounds.
class Prefix {
 public:
  Prefix(Problems problems, int levels) : problem_(*problems[0]) {
    const view::Plan& plan = problem_.plan;
    steps_.assign(plan.shape.steps, plan.shape.steps + plan.shape.levels);
    args_.assign(plan.args.steps, plan.args.steps + plan.shape.levels);
    for (int level = 0; level < levels; ++level) relax(problems, level);
    problem_.plan.shape.steps = steps_.data();
    problem_.plan.args.steps = args_.data();
    problem_.tail = {levels, {TailBlock{}}, {}};
    problem_.backjump = Backjump::kOff;
    problem_.free_order = nullptr;
    problem_.room.clear();  // other searches need less
  }
  Prefix(const Prefix&) = delete;
  Prefix& operator=(const Prefix&) = delete;

  const Problem& problem() const { return problem_; }

 private:
  void relax(Problems problems, int level) {
    const auto at = static_cast<std::size_t>(level);
    args_[at] = degrees(*problems[0], level);
    for (const Problem* problem : problems) {
      const view::StepArgs wanted = degrees(*problem, level);
      args_[at].min_out_degree = std::min(args_[at].min_out_degree, wanted.min_out_degree);
      args_[at].min_in_degree = std::min(args_[at].min_in_degree, wanted.min_in_degree);
    }
    steps_[at].bounds_out = args_[at].min_out_degree > 0;
    steps_[at].bounds_in = args_[at].min_in_degree > 0;
  }

  std::vector<view::StepShape> steps_;
  std::vector<view::StepArgs> args_;
  Problem problem_;
};

}  // namespace

int shared_levels(Problems problems) {
  const Problem& first = *problems[0];
  int most = first_counted(first);
  for (const Problem* problem : problems) most = std::min(most, first_counted(*problem));
  int level = 0;
  const auto same = [&](const Problem* problem) { return same_step(first, *problem, level); };
  while (level < most && std::all_of(problems.begin(), problems.end(), same)) ++level;
  return level;
}

class Bundle::Node final : public Visitor {
 public:
  Node(Problems problems, std::span<Visitor* const> visitors)
      : levels_(shared_levels(problems)),
        prefix_(problems, levels_),
        walker_(prefix_.problem(), *this, true) {
    for (const std::vector<std::size_t>& members : grouped(problems)) add(members, problems, visitors);
    lend();
  }

  Walker& walker() { return walker_; }
  const Problem& problem() const { return prefix_.problem(); }
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

  // Called at each partial embedding up to the last shared level.
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
  // Asks for more than the node does of the vertex at `level`.
  struct Bound {
    int level;
    view::StepArgs degrees;
  };
  struct Branch {
    std::unique_ptr<Node> node;  // either
    std::unique_ptr<Walker> leaf;
    const Problem* problem;
    Visitor* visitor;
    Walker* walker;
    const Walker* lender = nullptr;
    std::vector<Bound> bounds{};
    bool stopped = false;
  };

  // Positions of problems that share the next level too, or are alone.
  std::vector<std::vector<std::size_t>> grouped(Problems problems) const {
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t at = 0; at < problems.size(); ++at) {
      const auto joins = [&](const std::vector<std::size_t>& group) {
        const Problem& other = *problems[group[0]];
        return std::min(first_counted(*problems[at]), first_counted(other)) > levels_ &&
               same_step(*problems[at], other, levels_);
      };
      const auto group = std::find_if(groups.begin(), groups.end(), joins);
      if (group == groups.end())
        groups.push_back({at});
      else
        group->push_back(at);
    }
    return groups;
  }

  void add(const std::vector<std::size_t>& members, Problems problems, std::span<Visitor* const> visitors) {
    if (members.size() == 1) {
      const Problem* problem = problems[members[0]];
      Visitor* visitor = visitors[members[0]];
      auto leaf = std::make_unique<Walker>(*problem, *visitor, true);
      Walker* walker = leaf.get();
      branches_.push_back({nullptr, std::move(leaf), problem, visitor, walker});
    } else {
      std::vector<const Problem*> some;
      std::vector<Visitor*> theirs;
      for (std::size_t member : members) {
        some.push_back(problems[member]);
        theirs.push_back(visitors[member]);
      }
      auto node = std::make_unique<Node>(some, theirs);
      Node* inner = node.get();
      branches_.push_back({std::move(node), nullptr, &inner->problem(), inner, &inner->walker()});
    }
    bound(branches_.back());
  }

  // Has branches whose next level has the same set take it from the first of them, which is one that
  // enumerates the level, and so has its set anyway, if there is one.
  void lend() {
    std::stable_partition(branches_.begin(), branches_.end(),
                          [&](const Branch& branch) { return first_counted(*branch.problem) > levels_; });
    for (auto branch = branches_.begin(); branch != branches_.end(); ++branch) {
      const auto lender = std::find_if(branches_.begin(), branch, [&](const Branch& other) {
        return same_set(*other.problem, *branch->problem, levels_);
      });
      if (lender == branch) continue;
      lender->walker->keep_set(levels_);
      branch->lender = lender->walker;
    }
  }

  void bound(Branch& branch) const {
    for (int level = 0; level < levels_; ++level) {
      const view::StepArgs own = degrees(*branch.problem, level), walked = degrees(problem(), level);
      if (own.min_out_degree > walked.min_out_degree || own.min_in_degree > walked.min_in_degree)
        branch.bounds.push_back({level, own});
    }
  }

  bool accepts(const Branch& branch) const {
    return std::all_of(branch.bounds.begin(), branch.bounds.end(), [&](const Bound& bound) {
      const std::uint32_t vertex = walker_.value(bound.level);
      return problem().out.degree(vertex) >= bound.degrees.min_out_degree &&
             problem().in.degree(vertex) >= bound.degrees.min_in_degree;
    });
  }

  const int levels_;
  const Prefix prefix_;
  Walker walker_;
  std::vector<Branch> branches_;
};

Bundle::Bundle(Problems problems, std::span<Visitor* const> visitors) {
  if (shared_levels(problems) < 2) throw std::invalid_argument("the searches of one pass share two levels");
  root_ = std::make_unique<Node>(problems, visitors);
}

Bundle::~Bundle() = default;

bool Bundle::search(const Part& part) {
  return root_->walker().search(part);
}

std::uint64_t Bundle::arcs_done() const {
  return root_->walker().arcs_done();
}

void Bundle::share(Pool& pool) {
  root_->share(pool, root_->walker());
}

}  // namespace motiflux::search
