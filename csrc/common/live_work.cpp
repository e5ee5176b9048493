#include "common/live_work.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace motiflux {
namespace {

constexpr std::chrono::seconds kPatience{5};

struct Registry {
  std::mutex mutex;
  std::condition_variable left;
  std::list<std::function<void()>> stops;
  bool closed = false;

  Registry();
};

// Never destroyed: threads may run after static destructors.
Registry& registry() {
  static auto* instance = new Registry();
  return *instance;
}

Registry::Registry() {
  // A forked child has none of the threads whose work is listed.
  pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                 [] {
                   registry().stops.clear();
                   registry().mutex.unlock();
                 });
}

}  // namespace

LiveWork::LiveWork(std::function<void()> stop) : process_(getpid()) {
  Registry& live = registry();
  std::lock_guard lock(live.mutex);
  if (live.closed) throw std::runtime_error("the interpreter is shutting down");
  place_ = live.stops.insert(live.stops.end(), std::move(stop));
}

LiveWork::~LiveWork() {
  if (getpid() != process_) return;
  Registry& live = registry();
  std::lock_guard lock(live.mutex);
  live.stops.erase(place_);
  live.left.notify_all();
}

void LiveWork::stop_all() {
  Registry& live = registry();
  std::unique_lock lock(live.mutex);
  live.closed = true;
  for (const std::function<void()>& stop : live.stops) stop();
  live.left.wait_for(lock, kPatience, [&] { return live.stops.empty(); });
}

}  // namespace motiflux
