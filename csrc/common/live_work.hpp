// Native calls under way, so that they are over before the interpreter is taken down: a daemon thread that
// came back from one later would have no interpreter to return to. From the interpreter's exit handlers on,
// no new work is taken.
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

  // Asks all work to stop and waits, for a few seconds at most, until it has. Call without the GIL.
  static void stop_all();

 private:
  std::list<std::function<void()>>::iterator place_;
  int process_;  // a forked child's list does not hold its parent's work
};

}  // namespace motiflux
