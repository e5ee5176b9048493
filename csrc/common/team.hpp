// Threads that run one body together; all but the first start only when there is enough work for them.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace motiflux {

class Team {
 public:
  // Runs body(index) for index 0 and for each other index below `threads` whose thread is started.
  Team(int threads, std::function<void(int)> body) : threads_(threads), body_(std::move(body)) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Runs body(0) on this thread, waits for the other threads, and rethrows the first exception.
  void run();

  // Starts the other threads; does nothing if called again. Only body(0) may call it.
  void start_others();

 private:
  void guarded(int index);

  const int threads_;
  const std::function<void(int)> body_;
  bool reinforced_ = false;
  std::vector<std::thread> others_;
  std::mutex error_mutex_;
  std::exception_ptr first_error_;
};

}  // namespace motiflux
