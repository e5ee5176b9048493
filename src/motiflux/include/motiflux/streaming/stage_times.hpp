// How long the steps of a batch take, in cycles, in units with MOTIFLUX_STAGE_TIMES.
#pragma once

#include "motiflux/platform.hpp"

namespace motiflux::streaming {

enum class Step : std::uint32_t {
  kWait,     // for updates
  kReceive,  // from the ring
  kRoom,     // for slots of updates
  kList,     // the changes of rows
  kSort,
  kJudge,    // which changes are effective, and what is to be written
  kReserve,  // memory
  kHeaders,  // ends of lifetimes in old versions, and headers of new ones
  kCopy,
  kInstall,  // ends of lifetimes in new versions, and these in their places
  kPublish,
  kIssue,
  // Of batches of few changes, those of single warps, which wait for the others then:
  kPrepared,    // the rows of the first warp
  kWritten,     // likewise
  kOpened,      // works
  kListed,      // the next batch
  kFilled,      // what is kept
  kFound,       // ids in the rows of the first warp, of kPrepared
  kCopied,      // the first strips of the first warp, of kWritten
  kFetched,     // blocks to be kept
  kHandedOver,  // works of the next batch
};
inline constexpr std::uint32_t kSteps = 21;

// Of one thread.
struct StepTimes {
  std::uint64_t last;
  std::uint64_t batches;
  std::uint64_t cycles[kSteps];

#if defined(MOTIFLUX_STAGE_TIMES)
  // The step ends now.
  MOTIFLUX_DEVICE void end(Step step) {
    const auto now = static_cast<std::uint64_t>(clock64());
    if (last != 0) cycles[static_cast<std::uint32_t>(step)] += now - last;
    if (step == Step::kIssue) ++batches;
    last = now;
  }
  // A step of a single warp ends now.
  MOTIFLUX_DEVICE void end(Step step, std::uint64_t begun) {
    cycles[static_cast<std::uint32_t>(step)] += static_cast<std::uint64_t>(clock64()) - begun;
  }
#endif
};

}  // namespace motiflux::streaming
