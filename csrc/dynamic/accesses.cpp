#include "dynamic/accesses.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

using Clock = std::chrono::steady_clock;

// Roots and nodes in a piece of work: .1 to 1 ms; fewer nodes if each has many draws.
constexpr std::uint64_t kRootsOfPiece = 256, kNodesOfPiece = 64;

constexpr std::uint64_t kFirstWalks = 4096;

// More walks would need numbers of more bits (Draws::binomial), and more nodes of a level, 50 bytes each, too
// much memory.
constexpr std::uint64_t kMostWalks = std::uint64_t{1} << 40, kMostNodes = std::uint64_t{1} << 22;

constexpr double kForever = 1e9;  // seconds; beyond it the clock's integer would overflow
constexpr auto kNever = Clock::time_point::max();

// A round is to end within this part of the time that is left. A weighted one that has begun may end later,
// until this part of all the time: what it has found so far says nothing.
constexpr double kOfTime = .8, kMostTime = 1.5;

// A round has at most so many times the walks of all rounds before.
constexpr std::uint64_t kGrowth = 4;

constexpr std::size_t kVerticesTaken = 1 << 14;

// The purposes of random numbers.
constexpr std::uint32_t kRoots = 0x41000000, kNodes = 0x41000200;

// One estimate.
class Estimate {
 public:
  Estimate(const AccessSearch& search, const Run& run, const AccessOptions& options, Watch& watch)
      : search_(search), options_(options), watch_(watch), roots_(run.all_roots()) {
    for (std::size_t number = 0; number < roots_.size(); ++number)
      if (search.plans[roots_[number].plan].deepest > 0)
        searched_.push_back(static_cast<std::uint32_t>(number));
    for (const std::uint32_t number : searched_)
      levels_ = std::max(levels_, search.plans[roots_[number].plan].levels());
    if (options.seconds && *options.seconds < kForever) {
      const auto after = [begun = Clock::now()](double seconds) {
        return begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
      };
      deadline_ = after(*options.seconds);
      latest_ = after(kMostTime * *options.seconds);
    }
    const auto threads = static_cast<std::size_t>(std::max(1, options.threads));
    sums_.resize(threads);
    for (AccessSums& sums : sums_) walkers_.emplace_back(search, sums);
    found_.roots = searched_.size();
    found_.largest = search.largest;
  }

  Accesses run() {
    if (searched_.empty()) return std::move(found_);
    if (options_.method == AccessMethod::kExact)
      visit_all();
    else
      walk();
    found_.rows = table_.rows(options_.threads, value_of(), watch_);
    return std::move(found_);
  }
  // Whether D was too small; the result is none then.
  bool exceeded() const {
    return std::ranges::any_of(walkers_, [](const AccessWalker& walker) { return walker.exceeded(); });
  }

 private:
  double roots() const { return static_cast<double>(searched_.size()); }
  const Root& root(std::size_t at) const { return roots_[searched_[at]]; }
  bool has_deadline() const { return deadline_ != kNever; }

  // Calls work(walker, piece) for pieces in a fixed order without pattern, which returns the number of walks.
  // Returns the sum of those that were begun before `latest`; one piece is, in any case.
  template <class Work>
  std::uint64_t for_each_piece(std::uint64_t pieces, Clock::time_point latest, Work&& work) {
    std::uint64_t stride =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(pieces) * .618));
    while (std::gcd(stride, pieces) != 1) ++stride;
    std::atomic<std::uint64_t> next{0}, walks{0};
    const auto threads = static_cast<int>(std::min<std::uint64_t>(walkers_.size(), pieces));
    with_others(threads, watch_, [&](int thread, Watch& guarded) {
      AccessWalker& walker = walkers_[static_cast<std::size_t>(thread)];
      walker.watch(guarded);
      for (std::uint64_t turn; (turn = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
        if (turn > 0 && latest != kNever && Clock::now() >= latest) {
          late_ = true;
          return;
        }
        __extension__ using Wide = unsigned __int128;
        walks += work(walker, static_cast<std::uint64_t>(Wide{turn} * stride % pieces));
        if (!guarded.keep_going()) throw Stopped();
      }
    });
    return walks;
  }

  void visit_all() {
    const std::uint64_t count = searched_.size(), of_piece = 16;
    for_each_piece((count + of_piece - 1) / of_piece, kNever, [&](AccessWalker& walker, std::uint64_t piece) {
      for (std::uint64_t at = piece * of_piece; at < std::min(count, (piece + 1) * of_piece); ++at)
        walker.visit_all(root(at));
      return std::uint64_t{0};
    });
    take();
  }

  void walk() {
    const bool weighted = options_.method == AccessMethod::kWeighted;
    const std::uint64_t of_round = weighted ? kMostNodes : kMostWalks;
    const std::uint64_t most = options_.most_walks > 0 ? std::min(options_.most_walks, kMostWalks) : of_round;
    for (std::uint64_t next = std::min({first_walks(), most, of_round}); next > 0;) {
      const auto begun = Clock::now();
      const std::uint64_t walks = weighted ? weighted_round(next) : published_round(next);
      found_.late = late_;
      if (walks == 0 || exceeded()) return;
      found_.is_exact = weighted && !drawn_;
      if (found_.is_exact) {  // better than what the rounds before drew
        table_ = {};
        found_.walks = 0;
      }
      found_.walks += walks;
      ++found_.rounds;
      take();
      if (found_.is_exact) return;
      const auto ended = Clock::now();
      if (late_ || found_.walks >= most || found_.walks >= found_.wanted) return;
      std::uint64_t more =
          std::min({kGrowth * next, most - found_.walks, found_.wanted - found_.walks, of_round});
      if (has_deadline()) {  // as many as end in time, if these take as long as those
        const double each = std::chrono::duration<double>(ended - begun).count() / static_cast<double>(next);
        const double left = std::chrono::duration<double>(deadline_ - ended).count();
        more = std::min(
            more, static_cast<std::uint64_t>(std::clamp(kOfTime * left / std::max(each, 1e-12), 0., 0x1p62)));
        if (more < next / 2) return;
      }
      next = more;
    }
  }

  std::uint64_t first_walks() const {
    if (options_.of_paper) {
      // At least one walk for each root on average: where degrees are small the formula gives less than one.
      const auto depth = static_cast<double>(levels_);
      const double walks =
          roots() * std::pow(static_cast<double>(search_.largest), depth - 2) / std::pow(32, depth);
      return static_cast<std::uint64_t>(std::clamp(walks, roots(), static_cast<double>(kMostWalks)));
    }
    return options_.walks > 0 ? options_.walks : std::min<std::uint64_t>(searched_.size(), kFirstWalks);
  }

  // The place of random numbers of a round, and that of a root in it.
  std::uint64_t round_id() const { return child_id(options_.seed, found_.rounds); }
  std::uint64_t root_id(std::uint64_t piece, std::uint64_t at) const {
    return child_id(child_id(round_id(), piece), at);
  }

  // The numbers of walks from all roots are multinomial. In one pass, the walks of each piece of roots are a
  // binomial part of those that are left; within a piece likewise, or drawn one by one if they are fewer.
  std::uint64_t published_round(std::uint64_t walks) {
    const std::uint64_t count = searched_.size(), pieces = (count + kRootsOfPiece - 1) / kRootsOfPiece;
    std::vector<std::uint64_t> of_piece(pieces);
    Draws draws(options_.seed, kRoots, round_id());
    for (std::uint64_t piece = 0, left = walks; piece < pieces; ++piece) {
      const std::uint64_t first = piece * kRootsOfPiece, size = std::min(kRootsOfPiece, count - first);
      of_piece[piece] = draws.binomial(left, static_cast<double>(size) / static_cast<double>(count - first));
      left -= of_piece[piece];
    }
    return for_each_piece(pieces, deadline_, [&](AccessWalker& walker, std::uint64_t piece) {
      const std::uint64_t first = piece * kRootsOfPiece, size = std::min(kRootsOfPiece, count - first);
      Draws own(options_.seed, kRoots, child_id(round_id(), piece));
      std::vector<std::uint64_t> hits(size);
      std::uint64_t left = of_piece[piece];
      if (left / 4 < size) {
        for (; left > 0; --left) ++hits[own.below(size)];
      } else {
        for (std::uint64_t at = 0; at < size; ++at) {
          hits[at] = own.binomial(left, 1 / static_cast<double>(size - at));
          left -= hits[at];
        }
      }
      for (std::uint64_t at = 0; at < size; ++at)
        if (hits[at] > 0) walker.walk(root(first + at), hits[at], root_id(piece, at));
      return of_piece[piece];
    });
  }

  // Nodes of one level, with what is needed to go on from them.
  struct Node {
    std::uint32_t root;
    std::uint64_t places;  // of children
    double weight;
  };
  struct Nodes {
    std::vector<Node> all;
    std::vector<Vertex> vertices;  // from level 2 on, of each node
    double mass = 0;               // places times weights

    void add(std::uint32_t root, std::uint64_t places, double weight, std::span<const Vertex> below) {
      if (places == 0) return;
      all.push_back({root, places, weight});
      vertices.insert(vertices.end(), below.begin(), below.end());
      mass += static_cast<double>(places) * weight;
    }
  };

  // Level by level, looks at as many places as there are walks, or at all: those of a node are drawn the more
  // often the more nodes it stands for, so that all children that are found stand for equally many. If a node
  // stands for more than that, all its places are looked at. Weights that are counted are times the number of
  // walks, so that rounds can be added up. Returns 0 if it is too late.
  std::uint64_t weighted_round(std::uint64_t walks) {
    drawn_ = walks < searched_.size();
    Nodes nodes = weighted_roots(walks);
    for (std::size_t below = 0; !nodes.all.empty() && !late_; ++below) {
      const double share = nodes.mass / static_cast<double>(walks);  // what a child stands for
      const std::uint64_t level_id = child_id(round_id(), below);
      nodes = weighted_nodes(
          nodes.all.size(), walks, [&](AccessWalker& walker, std::uint64_t number, Nodes& found) {
            const Node& node = nodes.all[number];
            const std::span<const Vertex> path(nodes.vertices.data() + number * below, below);
            Draws random(options_.seed, kNodes, child_id(level_id, number));
            // As many draws as the node's part of the mass, rounded up or down so that this is their mean.
            const double expected = static_cast<double>(node.places) * (node.weight / share);
            const bool takes_all = node.weight >= share;
            if (!takes_all) drawn_.store(true, std::memory_order_relaxed);
            const auto draws = takes_all ? node.places : static_cast<std::uint64_t>(expected + random.unit());
            if (draws == 0) return;
            walker.go_to(roots_[node.root], path);
            // With as many draws as places each place is drawn, though not by the weight of the node.
            const double weight = takes_all ? node.weight : share;
            std::vector<Vertex> below_child(path.begin(), path.end());
            below_child.push_back(0);
            const auto children = walker.children(draws, random);
            for (std::size_t at = 0; at < children.size(); ++at) {
              below_child.back() = children[at].vertex;
              const double own = weight * static_cast<double>(children[at].hits);
              walker.go_to(roots_[node.root], below_child);
              found.add(node.root, walker.open_rows(own * static_cast<double>(walks)), own, below_child);
            }
          });
    }
    return late_ ? 0 : walks;
  }

  // All roots, or one from each of as many equal parts as there are walks.
  Nodes weighted_roots(std::uint64_t walks) {
    const std::uint64_t count = searched_.size();
    const bool takes_all = walks >= count;
    const double weight = takes_all ? 1 : roots() / static_cast<double>(walks);
    return weighted_nodes(
        std::min(walks, count), walks, [&](AccessWalker& walker, std::uint64_t number, Nodes& found) {
          std::uint64_t at = number;
          if (!takes_all) {
            Draws random(options_.seed, kRoots, child_id(round_id(), number));
            at = std::min(static_cast<std::uint64_t>((static_cast<double>(number) + random.unit()) * weight),
                          count - 1);
          }
          walker.go_to(root(at), {});
          found.add(searched_[at], walker.open_rows(weight * static_cast<double>(walks)), weight, {});
        });
  }

  // What work(walker, number, found) finds for each number, in order.
  template <class Work>
  Nodes weighted_nodes(std::uint64_t count, std::uint64_t walks, Work&& work) {
    const std::uint64_t of_piece = std::clamp<std::uint64_t>(kNodesOfPiece * count / walks, 1, kNodesOfPiece);
    const std::uint64_t pieces = (count + of_piece - 1) / of_piece;
    std::vector<Nodes> parts(pieces);
    for_each_piece(pieces, found_.rounds == 0 ? kNever : latest_,
                   [&](AccessWalker& walker, std::uint64_t piece) {
                     const std::uint64_t last = std::min(count, (piece + 1) * of_piece);
                     for (std::uint64_t number = piece * of_piece; number < last; ++number)
                       work(walker, number, parts[piece]);
                     return std::uint64_t{0};
                   });
    Nodes found;
    for (const Nodes& part : parts) {
      found.all.insert(found.all.end(), part.all.begin(), part.all.end());
      found.vertices.insert(found.vertices.end(), part.vertices.begin(), part.vertices.end());
      found.mass += part.mass;
    }
    return found;
  }

  // Takes over what was counted.
  void take() {
    table_.add(sums_, watch_);
    if (options_.method != AccessMethod::kExact) found_.wanted = wanted();
  }

  // Formula (3): what a unit of a sum stands for.
  AccessTable::ValueOf value_of() const {
    const auto walks = static_cast<double>(found_.walks);
    switch (options_.method) {
      case AccessMethod::kExact:
        return [](std::uint16_t) { return 1.; };
      case AccessMethod::kWeighted:
        return [unit = std::ldexp(1 / walks, -AccessWalker::kFraction)](std::uint16_t) { return unit; };
      default:
        return [first = roots() / walks, largest = static_cast<double>(search_.largest)](
                   std::uint16_t level) { return first * std::pow(largest, level - 1); };
    }
  }

  // Formula (5).
  std::uint64_t wanted() const {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    if (table_.is_empty()) return kMost;
    const auto depth = static_cast<double>(levels_);
    const double walks = (depth - 1) * (2 + options_.alpha) * roots() *
                         std::pow(static_cast<double>(search_.largest), depth - 2) /
                         (options_.alpha * options_.alpha * (1 - options_.delta) *
                          table_.times_of_rank(options_.top, value_of()));
    return walks < 0x1p63 ? static_cast<std::uint64_t>(std::ceil(walks)) : kMost;
  }

  const AccessSearch& search_;
  const AccessOptions& options_;
  Watch& watch_;
  std::span<const Root> roots_;
  std::vector<std::uint32_t> searched_;  // roots of plans that open rows
  std::size_t levels_ = 0;               // n
  Clock::time_point deadline_ = kNever, latest_ = kNever;
  std::vector<AccessSums> sums_;  // by thread
  std::vector<AccessWalker> walkers_;
  std::atomic<bool> late_{false};
  std::atomic<bool> drawn_{false};  // whether a round left out children
  AccessTable table_;
  Accesses found_;
};

}  // namespace

void AccessEstimator::find_plans(const Monitor& monitor, std::span<const RowName> names) {
  const std::size_t classes = monitor.relations().classes().size();
  if (monitor_ == &monitor && version_ == monitor.plans_version() && classes_ == classes &&
      std::ranges::equal(names_, names))
    return;
  monitor_ = nullptr;
  std::vector<AccessPlan> plans;
  for (const Plan& plan : monitor.plans()) plans.push_back(access_plan(plan, monitor.listed(plan), names));
  walked_ = walked_names(plans, names.size());
  plans_ = std::move(plans);
  names_.assign(names.begin(), names.end());
  version_ = monitor.plans_version();
  classes_ = classes;
  largest_ = 0;
  monitor_ = &monitor;
}

void AccessEstimator::find_largest(const UnionRows& rows, bool anew, int threads, Watch& watch) {
  std::size_t most = anew ? 1 : std::max<std::size_t>(1, largest_);
  for (std::size_t name = 0; name < walked_.size(); ++name)
    if (walked_[name]) most = std::max(most, rows.largest_touched(name));
  if (!anew && largest_ > 0) {
    largest_ = most;
    return;
  }
  std::atomic<std::size_t> next{0}, largest{most};
  with_others(threads, watch, [&](int, Watch& guarded) {
    std::size_t own = 0;
    for (std::size_t at;
         (at = next.fetch_add(kVerticesTaken, std::memory_order_relaxed)) < rows.vertices();) {
      const auto last = static_cast<Vertex>(std::min<std::size_t>(rows.vertices(), at + kVerticesTaken));
      for (std::size_t name = 0; name < walked_.size(); ++name)
        if (walked_[name]) own = std::max(own, rows.largest(name, static_cast<Vertex>(at), last));
      if (!guarded.keep_going()) throw Stopped();
    }
    for (std::size_t known = largest; known < own && !largest.compare_exchange_weak(known, own);) {
    }
  });
  largest_ = largest;
}

Accesses AccessEstimator::estimate(const Monitor& monitor, const Run& run, std::span<const RowName> names,
                                   const AccessOptions& options, Watch& watch) {
  const Graph& graph = monitor.graph();
  find_plans(monitor, names);
  const UnionRows rows(graph, run, names);
  const bool uses_largest = options.method != AccessMethod::kExact;
  for (bool anew = false;; anew = true) {
    if (uses_largest) find_largest(rows, anew, options.threads, watch);
    const AccessSearch search{plans_,          rows,
                              monitor.lists(), graph.candidates().is_used() ? &graph.candidates() : nullptr,
                              options.seed,    largest_};
    Estimate estimate(search, run, options, watch);
    Accesses found = estimate.run();
    // The graph was changed without this: the longest row is longer now.
    if (!estimate.exceeded() || anew) return found;
  }
}

}  // namespace motiflux::dynamic
