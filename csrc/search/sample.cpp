#include "search/sample.hpp"

#include <algorithm>
#include <array>

#include "motiflux/number.hpp"
#include "search/compare.hpp"
#include "sets/intersect.hpp"

namespace motiflux::search {
namespace {

// SplitMix64: the sequence is the same on every machine, unlike sequences of the standard distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t end) { return high_product(next(), end); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

using Embedding = std::array<std::uint32_t, view::kMaxLevels>;

class Sampler {
 public:
  Sampler(const NativePlan& native_plan, const SampleOptions& options)
      : native_plan_(native_plan), options_(options), random_(options.seed), compare_(native_plan) {
    for (std::uint32_t level = 0; level < native_plan.plan.shape.levels; ++level) {
      const view::StepShape& step = native_plan.plan.shape.steps[level];
      if (step.reuse != view::kNoReuse)
        sources_.push_back(sources_[static_cast<std::size_t>(step.reuse)]);
      else
        sources_.emplace_back();
      for (std::uint32_t s = 0; s < step.source_count; ++s) sources_.back().push_back(step.first_source + s);
    }
  }

  std::vector<LevelEstimate> run() {
    std::vector<LevelEstimate> estimates;
    double size = 1, found = 1;  // up to the level, and up to the last level that is enumerated
    population_.assign(options_.members, {});
    weights_.resize(options_.members);
    ways_.assign(options_.members, 1);
    for (int level = 0; level < static_cast<int>(native_plan_.plan.shape.levels); ++level) {
      LevelEstimate estimate;
      double total = 0, scanned = 0, met = 0;
      for (std::size_t m = 0; m < population_.size(); ++m) {
        const std::uint64_t before = work_;
        const double weight = level == 1 ? root_weights_[m] : 1;
        weights_[m] = draw(level, population_[m]) * weight;
        scanned += static_cast<double>(work_ - before);
        if (level >= native_plan_.tail.start) {
          met += met_ * weight / ways_[m];
          ways_[m] *= met_;
        }
        total += weights_[m];
        estimate.alive += weights_[m] > 0;
      }
      const double members = options_.members;
      if (level <= native_plan_.tail.start) found = size;
      estimate.scanned = found * scanned / members;
      estimate.met = (level <= 1 ? 1 : size) * met / members;
      // Roots keep their weights until level 1: drawn in proportion to them, hubs would be rare.
      size = (level <= 1 ? 1 : size) * total / members;
      estimate.size = size;
      estimates.push_back(estimate);
      if (estimate.alive == 0 || work_ > options_.max_work) break;
      if (level == 0)
        root_weights_ = weights_;
      else
        resample(total);
    }
    return estimates;
  }

 private:
  // Draws a candidate of `level` into `values`; returns the number of candidates, or 0 if the draw is
  // rejected.
  double draw(int level, Embedding& values) {
    if (level == 0) {
      // A root in proportion to its arcs: large subtrees are likely to be drawn.
      ++work_;
      if (native_plan_.root_arcs() == 0) return 0;
      const std::uint64_t* offsets = native_plan_.root().offsets;
      const std::uint64_t arc = random_.below(native_plan_.root_arcs());
      const std::uint64_t* end = std::upper_bound(offsets, offsets + native_plan_.roots + 1, arc);
      values[0] = static_cast<std::uint32_t>(end - offsets - 1);
      const auto share =
          static_cast<double>(end[0] - end[-1]) / static_cast<double>(native_plan_.root_arcs());
      return compare_.accepts(0, values[0], values.data()) ? 1 / share : 0;
    }
    const sets::Span candidates = this->candidates(level, values);
    met_ = static_cast<double>(candidates.size());
    if (candidates.size() == 0) return 0;
    const std::uint32_t value = candidates.first[random_.below(candidates.size())];
    values[static_cast<std::size_t>(level)] = value;
    return compare_.accepts(level, value, values.data()) ? static_cast<double>(candidates.size()) : 0;
  }

  sets::Span candidates(int level, const Embedding& values) {
    const view::StepShape& step = native_plan_.plan.shape.steps[level];
    const rules::Bounds allowed = compare_.bounds(level, step.after, step.before, values.data());
    spans_.clear();
    for (std::uint32_t source : sources_[static_cast<std::size_t>(level)]) {
      const view::Adjacency& rows = native_plan_.adjacencies[native_plan_.plan.args.adjacency[source]];
      const std::uint32_t value = values[native_plan_.plan.shape.sources[source].level];
      spans_.push_back(sets::clip({rows.begin(value), rows.end(value)}, allowed.first, allowed.end));
    }
    std::sort(spans_.begin(), spans_.end(), [](sets::Span a, sets::Span b) { return a.size() < b.size(); });
    sets::Span result = spans_[0];
    work_ += 1;
    if (buffer_.size() < result.size()) buffer_.resize(result.size());
    for (std::size_t s = 1; s < spans_.size() && result.size() > 0; ++s) {
      work_ += std::min(result.size() + spans_[s].size(), result.size() * sets::kGallopRatio);
      const std::size_t size = sets::intersect(result, spans_[s], buffer_.data(), native_plan_.sets);
      result = {buffer_.data(), buffer_.data() + size};
    }
    return result;
  }

  // Systematic resampling: member m of the next population is the member whose weight covers the point m + u
  // of the cumulated weights.
  void resample(double total) {
    next_.clear();
    next_ways_.clear();
    const double step = total / static_cast<double>(population_.size());
    double point = random_.unit() * step, reached = 0;
    for (std::size_t m = 0; m < population_.size(); ++m) {
      reached += weights_[m];
      for (; point < reached && next_.size() < population_.size(); point += step) {
        next_.push_back(population_[m]);
        next_ways_.push_back(ways_[m]);
      }
    }
    // Rounding may leave the last place empty.
    while (next_.size() < population_.size()) {
      next_.push_back(next_.back());
      next_ways_.push_back(next_ways_.back());
    }
    population_.swap(next_);
    ways_.swap(next_ways_);
  }

  const NativePlan& native_plan_;
  const SampleOptions options_;
  Random random_;
  Compare compare_;
  std::vector<std::vector<std::uint32_t>> sources_;  // of each level, including the sources of a reused set
  std::vector<Embedding> population_, next_;
  std::vector<double> weights_, root_weights_;
  // Of each member, the product of the sizes of the tail's sets that it was drawn from: the number of members
  // that the embedding of the levels before the tail has.
  std::vector<double> ways_, next_ways_;
  double met_ = 0;  // candidates of the last draw
  std::vector<sets::Span> spans_;
  std::vector<std::uint32_t> buffer_;
  std::uint64_t work_ = 0;
};

}  // namespace

std::vector<LevelEstimate> sample_sizes(const NativePlan& native_plan, const SampleOptions& options) {
  if (options.members == 0 || native_plan.roots == 0) return {};
  return Sampler(native_plan, options).run();
}

}  // namespace motiflux::search
