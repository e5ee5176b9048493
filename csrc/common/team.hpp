// Threads that run one body together, of which all but the first start when there is work enough for them.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace motiflux {

class Team {
 public:
  // body(index) is run for index 0 and for each other below `threads` that is started.
  Team(int threads, std::function<void(int)> body) : threads_(threads), body_(std::move(body)) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Runs body(0) on this thread, waits for the others, and rethrows the first exception of all.
  void run();

  // Starts the others, as many as there may be; does nothing if called again. For body(0) alone to call.
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
