// A list of running native calls, so that they end before interpreter exit: a daemon thread that returned
// from a call later would find no interpreter. From the interpreter's exit handlers on, no new work is
// accepted.
#pragma once

#include <functional>
#include <list>

namespace motiflux {

class LiveWork {
 public:
  // `stop` asks the work to end soon; it may be called from another thread until this is destroyed.
  // Throws std::runtime_error once stop_all() has been called.
  explicit LiveWork(std::function<void()> stop);
  ~LiveWork();
  LiveWork(const LiveWork&) = delete;
  LiveWork& operator=(const LiveWork&) = delete;

  // Asks all work to stop and waits until it has stopped, for a few seconds at most. Call without the GIL.
  static void stop_all();

 private:
  std::list<std::function<void()>>::iterator place_;
  int process_;  // the list of a forked child does not have its parent's work
};

}  // namespace motiflux
