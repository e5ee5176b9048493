#include "feed/line_output.hpp"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace motiflux::feed {
namespace {

// Bytes that a write takes without waiting once poll() has called the descriptor ready.
std::size_t ready_bytes(int descriptor) {
  struct stat facts;
  if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) return SIZE_MAX;
  return PIPE_BUF;
}

}  // namespace

bool LineOutput::append(std::string_view lines) {
  const off_t before = lseek(descriptor_, 0, SEEK_CUR);
  if (before < 0) return false;
  std::size_t done = 0;
  while (done < lines.size()) {
    const ssize_t size = write(descriptor_, lines.data() + done, lines.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      // Should cutting fail too, the caller's own attempt cuts the file, or reports the error.
      const int cut = ftruncate(descriptor_, before);
      static_cast<void>(cut);
      lseek(descriptor_, before, SEEK_SET);
      return false;
    }
    done += static_cast<std::size_t>(size);
  }
  written_ += done;
  return true;
}

void LineOutput::print(std::string_view lines) {
  std::size_t done = 0;
  if (rest_.empty()) {
    const std::size_t most = ready_bytes(descriptor_);
    while (done < lines.size()) {
      pollfd asked{descriptor_, POLLOUT, 0};
      if (poll(&asked, 1, 0) <= 0 || (asked.revents & POLLOUT) == 0) break;
      const ssize_t size = write(descriptor_, lines.data() + done, std::min(most, lines.size() - done));
      if (size <= 0) break;  // the caller tries again, and raises the error
      done += static_cast<std::size_t>(size);
    }
  }
  written_ += done;
  rest_ += lines.substr(done);
}

}  // namespace motiflux::feed
