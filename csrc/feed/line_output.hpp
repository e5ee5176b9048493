// Where lines are written natively: a file that grows, or a pipe whose reader may be slow.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace motiflux::feed {

class LineOutput {
 public:
  // `grows`: a regular file written at its end, and cut again if a write fails. Otherwise a stream.
  LineOutput(int descriptor, bool grows) : descriptor_(descriptor), grows_(grows) {}

  bool grows() const { return grows_; }
  // Writes all of it to a file that grows; false if it fails, and the file is as before.
  bool append(std::string_view lines);
  // Writes to a stream as long as it takes more without waiting; the rest waits, and later lines after it.
  void print(std::string_view lines);

  // Bytes written since the last call.
  std::size_t take_written() {
    const std::size_t written = written_;
    written_ = 0;
    return written;
  }
  bool has_rest() const { return !rest_.empty(); }
  std::string take_rest() {
    std::string rest;
    rest.swap(rest_);
    return rest;
  }

 private:
  int descriptor_;
  bool grows_;
  std::size_t written_ = 0;
  std::string rest_;
};

}  // namespace motiflux::feed
