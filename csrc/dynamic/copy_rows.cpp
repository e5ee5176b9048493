#include "dynamic/copy_rows.hpp"

#include <algorithm>

namespace motiflux::dynamic {
namespace {

// Entries that a thread copies at a time, but for longer rows.
constexpr std::size_t kCopiedEntries = 1 << 16;

}  // namespace

void copy_rows(std::span<const std::uint64_t> addresses, std::span<const std::uint64_t> starts, Vertex* to,
               const Workers& workers) {
  parallel_rows(workers, starts, kCopiedEntries, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at)
      std::copy_n(reinterpret_cast<const Vertex*>(addresses[at]), starts[at + 1] - starts[at],
                  to + starts[at]);
  });
}

}  // namespace motiflux::dynamic
