#include "dynamic/divided_roots.hpp"

#include <algorithm>
#include <stdexcept>

#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// Roots that a thread takes at a time.
constexpr std::size_t kPart = std::size_t{1} << 14;

// Of a share, the fewest pieces if there are enough roots, and the most roots of a piece: neighbouring roots
// read the same rows.
constexpr std::size_t kFewestPieces = 64, kLongestPiece = 32;

SearchRoot search_root(const Root& root, std::uint32_t slot) {
  return {root.plan, root.first, root.second, root.moment + 1, slot};
}

}  // namespace

template <class Visit>
void DividedRoots::for_each_part(Watch& watch, Visit&& visit) const {
  const std::size_t size = run_->roots.size(), parts = (size + kPart - 1) / kPart;
  for_each_partition(static_cast<int>(parts), run_->threads, watch, [&](int number, Watch& guarded) {
    const auto part = static_cast<std::size_t>(number);
    visit(part, part * kPart, std::min((part + 1) * kPart, size));
    if (!guarded.keep_going()) throw Stopped();
  });
}

DividedRoots::DividedRoots(std::shared_ptr<const Run> run, std::span<const Manner> manners,
                           ShareOfRoots share, Watch& watch)
    : run_(std::move(run)),
      manners_(manners.begin(), manners.end()),
      share_(share),
      piece_(std::clamp(run_->roots.size() / (kFewestPieces * share.shares), std::size_t{1}, kLongestPiece)) {
  const std::span<const Root> roots = run_->all_roots();
  struct Part {
    std::size_t counted = 0;
    std::vector<std::uint32_t> listed, matches;
  };
  std::vector<Part> parts((roots.size() + kPart - 1) / kPart);
  for_each_part(watch, [&](std::size_t number, std::size_t first, std::size_t last) {
    Part& part = parts[number];
    for (std::size_t root = first; root < last; ++root) {
      if (roots[root].plan >= manners_.size()) throw std::out_of_range("a root names an unknown plan");
      if (!share_.has(root, piece_)) continue;
      switch (manners_[roots[root].plan]) {
        case Manner::kCounted:
          ++part.counted;
          break;
        case Manner::kListed:
          part.listed.push_back(static_cast<std::uint32_t>(root));
          break;
        case Manner::kIsMatch:
          part.matches.push_back(static_cast<std::uint32_t>(root));
      }
    }
  });
  if (roots.size() > UINT32_MAX) throw std::length_error("a run has more than 2^32 - 1 searches");
  for (const Part& part : parts) {
    counted_before_.push_back(counted_);
    counted_ += part.counted;
    listed_.insert(listed_.end(), part.listed.begin(), part.listed.end());
    matches_.insert(matches_.end(), part.matches.begin(), part.matches.end());
  }
}

void DividedRoots::write_counted(std::span<SearchRoot> to, Watch& watch) const {
  const std::span<const Root> roots = run_->all_roots();
  for_each_part(watch, [&](std::size_t part, std::size_t first, std::size_t last) {
    SearchRoot* out = to.data() + counted_before_[part];
    for (std::size_t root = first; root < last; ++root) {
      if (!is(root, Manner::kCounted)) continue;
      const auto number = static_cast<std::uint32_t>(root);
      const std::uint32_t slot =
          run_->one_change ? 2 * roots[root].plan + run_->positive.data()[root] : number;
      *out++ = search_root(roots[root], slot);
    }
  });
}

void DividedRoots::write_listed(std::span<SearchRoot> to) const {
  std::ranges::transform(listed_, to.begin(), [&](std::uint32_t number) {
    return search_root(run_->all_roots()[number], number);
  });
}

}  // namespace motiflux::dynamic
