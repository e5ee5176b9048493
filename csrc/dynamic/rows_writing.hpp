// Rows that other threads write while a call goes on, and after it has returned its matches.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "dynamic/matcher.hpp"

namespace motiflux::dynamic {

// Rows could not be written after the matches were returned.
struct RowsLost : std::runtime_error {
  explicit RowsLost(const std::string& why)
      : std::runtime_error(
            "the matches of the last batch were returned, but its updates could not be written"
            " (" +
            why + "): the graph of this monitor is lost; make a new one"),
        why(why) {}

  std::string why;
};

// Belongs to one thread at a time. A fork waits until nothing is written: the child has none of the threads.
class RowsWriting {
 public:
  RowsWriting() = default;
  RowsWriting(const RowsWriting&) = delete;
  RowsWriting& operator=(const RowsWriting&) = delete;
  ~RowsWriting() { stop(); }

  // Calls work(watch) on another thread, or here if there is none. The work before was finished or stopped.
  void start(const std::function<void(Watch&)>& work);
  bool is_begun() const { return state_ != nullptr; }
  // Throws what the work has thrown, if it has ended already.
  void check();
  // Waits until the work has ended; check() says how.
  void wait() const { waiting()(); }
  // Returns a function that waits until the work has ended that is begun now. Any thread may call it.
  std::function<void()> waiting() const;
  // Waits until the work has ended. Throws RowsLost if it has failed, and again until stop().
  void finish() {
    if (is_begun()) wait_for_end();
  }
  // Ends the work; what it wrote has to be taken back.
  void stop();

 private:
  struct State;
  void wait_for_end();

  std::shared_ptr<State> state_;
};

}  // namespace motiflux::dynamic
