#include "dynamic/compared_matcher.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// Changes that are matched before their rows are given.
constexpr std::size_t kSlice = 4096;

// Changes that a thread takes at a time.
constexpr std::size_t kTaken = 32;

// Changes ahead of which rows are prefetched, and their ends.
constexpr std::size_t kFar = 8, kNear = 4;

// Changes that are worth one more thread.
constexpr std::size_t kOfThread = 128;

}  // namespace

void ComparedMatcher::add_pattern(ComparedPattern pattern) {
  workers_.clear();
  patterns_.push_back(std::make_unique<ComparedPattern>(std::move(pattern)));
}

void ComparedMatcher::drop_pattern(std::size_t slot) {
  workers_.clear();
  std::erase_if(patterns_, [&](const auto& one) { return one->slot == slot; });
}

void ComparedMatcher::accept(std::size_t slot, std::size_t edge, std::vector<std::uint8_t> facets,
                             std::vector<Label> labels) {
  for (const auto& pattern : patterns_) {
    if (pattern->slot != slot) continue;
    const std::size_t edges = pattern->edges.size();
    ComparedPattern::QueryEdge& own =
        edge < edges ? pattern->edges[edge] : pattern->negated[edge - edges].edge;
    own.facets = std::move(facets);
    own.labels = std::move(labels);
    return;
  }
}

// As one change: the copies that are there before and after are common to both. Those that came are added to
// them one after the other, and what the last one completes appears, unless it was there before. So each
// embedding is found with one copy. The same from the other end for what vanishes. Where a negated edge goes,
// the embeddings that have a choice before and after appear; where one comes, they vanish.
std::vector<ComparedMatcher::Work> ComparedMatcher::all_work(bool batch) const {
  using View = ComparedCopies::View;
  constexpr ComparedCopies::Moment kNever = ComparedCopies::kNever;
  const View before{0, 1}, after{static_cast<ComparedCopies::Moment>(copies_.changes().size()), kNever};
  const bool negates =
      std::ranges::any_of(patterns_, [](const auto& pattern) { return !pattern->negated.empty(); });
  std::vector<Work> work;
  ComparedCopies::Moment moment = 0;
  for (const auto& [row, inserts] : copies_.changes()) {
    ++moment;
    if (!batch) {
      const View with = View::after(inserts ? moment : moment - 1);
      const View without = View::after(inserts ? moment - 1 : moment);
      work.push_back({{row, with, with, false, {}, false}, moment - std::uint64_t{1}, inserts});
      if (negates)
        work.push_back({{row, without, without, false, {}, true}, moment - std::uint64_t{1}, !inserts});
    } else if (inserts ? copies_.gone(row) == kNever : copies_.came(row) == 0) {
      const View view = inserts ? View{moment, kNever} : View{0, moment};
      const View with = inserts ? after : before, without = inserts ? before : after;
      work.push_back({{row, view, with, true, without, false}, 0, inserts});
      if (negates) work.push_back({{row, without, without, true, with, true}, 0, !inserts});
    }
  }
  return work;
}

void ComparedMatcher::match(const How& how, Found& found, Watch& watch, std::size_t most,
                            const std::function<void()>& full) {
  if (patterns_.empty() || copies_.changes().empty()) return;
  monitor_.tallies().open(how.batch, how.origins);
  const std::vector<Work> work = all_work(how.batch);
  for (const auto& pattern : patterns_)
    if (found.patterns.size() <= pattern->slot) found.patterns.resize(pattern->slot + 1);
  const std::span<const Work> all(work);
  for (std::size_t first = 0; first < all.size(); first += kSlice) {
    const std::span<const Work> slice = all.subspan(first, std::min(kSlice, all.size() - first));
    match_slice(slice, how.threads, watch);
    take(slice, found);
    std::size_t words = 0;
    for (const auto& pattern : patterns_) words += found.patterns[pattern->slot].rows.size();
    if (words >= most) full();
  }
  monitor_.settle_tallies(found);
}

void ComparedMatcher::match_slice(std::span<const Work> slice, int threads, Watch& watch) {
  threads = std::max(1, std::min(threads, static_cast<int>(slice.size() / kOfThread)));
  if (workers_.size() < static_cast<std::size_t>(threads)) workers_.resize(static_cast<std::size_t>(threads));
  for (Worker& worker : workers_) {
    worker.results.clear();
    worker.rows.resize(patterns_.size());
    for (Column<Vertex>& rows : worker.rows) rows.clear();
    worker.searches.resize(patterns_.size());
  }
  std::atomic<std::size_t> next{0};
  with_others(threads, watch, [&](int index, Watch& guarded) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    for (std::size_t p = 0; p < patterns_.size(); ++p)
      if (!worker.searches[p])
        worker.searches[p] =
            std::make_unique<ComparedSearch>(*patterns_[p], copies_, monitor_.graph(), monitor_.lists());
    for (std::size_t first; (first = next.fetch_add(kTaken)) < slice.size();) {
      if (!guarded.keep_going()) throw Stopped();
      const std::size_t last = std::min(slice.size(), first + kTaken);
      for (std::size_t at = first; at < last; ++at) {
        if (at + kFar < slice.size()) copies_.prefetch(slice[at + kFar].task.row, slice[at + kNear].task.row);
        for (std::size_t p = 0; p < patterns_.size(); ++p) {
          const bool is_read = patterns_[p]->listed || monitor_.tallies().has(patterns_[p]->slot);
          Column<Vertex>* const rows = is_read ? &worker.rows[p] : nullptr;
          const std::size_t words = worker.rows[p].size();
          const Total matches = worker.searches[p]->search(slice[at].task, rows, guarded);
          if (matches != 0) worker.results.push_back({at, p, matches, worker.rows[p].size() - words});
        }
      }
    }
  });
}

// Adds the results of the threads in the order of the changes.
void ComparedMatcher::take(std::span<const Work> slice, Found& found) {
  struct Place {
    const Result* result;
    std::size_t worker;
    std::size_t rows;  // the first word
  };
  std::vector<Place> places;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    std::vector<std::size_t> words(patterns_.size(), 0);
    for (const Result& result : workers_[w].results) {
      places.push_back({&result, w, words[result.pattern]});
      words[result.pattern] += result.words;
    }
  }
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return std::pair(a.result->work, a.result->pattern) < std::pair(b.result->work, b.result->pattern);
  });
  for (const auto& [result, worker, first] : places) {
    const Work& work = slice[result->work];
    const ComparedPattern& pattern = *patterns_[result->pattern];
    Found::OfPattern& own = found.patterns[pattern.slot];
    own.add(work.update, work.positive, result->matches);
    const std::span rows(workers_[worker].rows[result->pattern].data() + first, result->words);
    if (VertexTally* const tally = monitor_.tallies().of(pattern.slot)) {
      monitor_.tallies().at(work.update);
      tally->add_rows(rows, pattern.vertices.size(), work.positive);
    }
    if (!pattern.listed) continue;
    own.add_rows(work.update, work.positive, static_cast<std::uint64_t>(result->matches));
    std::ranges::copy(rows, own.rows.extend(rows.size()));
  }
}

std::vector<Copies::Row> ComparedMatcher::witnesses(std::size_t slot, std::span<const Vertex> images,
                                                    std::span<const ComparedCopies::View> views,
                                                    std::span<const ComparedCopies::Moment> least,
                                                    Watch& watch) {
  const auto own = std::ranges::find_if(patterns_, [&](const auto& one) { return one->slot == slot; });
  if (own == patterns_.end()) throw std::logic_error("no such pattern");
  const ComparedPattern& pattern = **own;
  ComparedSearch search(pattern, copies_, monitor_.graph(), monitor_.lists());
  const std::size_t size = pattern.vertices.size(), edges = pattern.edges.size();
  std::vector<Copies::Row> rows(views.size() * edges);
  for (std::size_t at = 0; at < views.size(); ++at) {
    ComparedCopies::View view = views[at];
    while (!search.witness(images.subspan(at * size, size), view, watch,
                           std::span(rows).subspan(at * edges, edges))) {
      if (view.came == least[at]) throw std::logic_error("a match has no choice of copies");
      view = ComparedCopies::View::after(view.came - 1);
    }
  }
  return rows;
}

}  // namespace motiflux::dynamic
