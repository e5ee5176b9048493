#include "search/control.hpp"

#include <algorithm>

namespace motiflux::search {
namespace {

// Many chunks per thread, so that the last ones end together, but none too small for the cost of taking it.
constexpr std::uint64_t kPiecesPerThread = 256;
constexpr std::uint64_t kSmallestPiece = 16;
constexpr std::uint64_t kLargestPiece = 4096;
constexpr double kForever = 1e9;  // seconds; beyond it the clock's integer would overflow

}  // namespace

Control::Control(std::uint64_t arcs, int threads, std::optional<double> timeout_seconds)
    : arcs_(arcs),
      threads_(threads),
      chunk_(std::clamp(arcs / (kPiecesPerThread * static_cast<std::uint64_t>(threads)), kSmallestPiece,
                        kLargestPiece)) {
  if (timeout_seconds && *timeout_seconds < kForever)
    deadline_ = Clock::now() +
                std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*timeout_seconds));
}

std::optional<ArcRange> Control::take() {
  const std::uint64_t taken = taken_.fetch_add(chunk_, std::memory_order_relaxed);
  if (taken >= arcs_) return std::nullopt;
  const std::uint64_t last = arcs_ - taken;
  return ArcRange{last > chunk_ ? last - chunk_ : 0, last};
}

void Control::stop(Stop reason) {
  int none = static_cast<int>(Stop::kNone);
  reason_.compare_exchange_strong(none, static_cast<int>(reason), std::memory_order_acq_rel);
}

bool Control::keep_going() {
  if (deadline_ && Clock::now() >= *deadline_) stop(Stop::kTimeout);
  return reason() == Stop::kNone;
}

}  // namespace motiflux::search
