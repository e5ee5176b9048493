// Embeddings as blocks of rows, produced by threads and taken by one consumer.
//
// Memory is bounded by the blocks in flight: a thread whose block is full waits until the queue has room.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "search/native_plan.hpp"
#include "search/pool.hpp"
#include "search/projection.hpp"
#include "search/row_writer.hpp"

namespace motiflux::search {

struct EnumerationOptions {
  int threads = 1;
  std::size_t block_rows = 1;
  std::optional<std::uint64_t> limit;  // most rows delivered
  std::optional<double> timeout;       // seconds from the start, waiting for the consumer included
  std::optional<Portion> portion{};    // the items to search, if not all
};

class Enumeration {
 public:
  // position[l] is the column of level l. `native_plan` must outlive the object.
  Enumeration(const NativePlan& native_plan, std::vector<std::uint32_t> position,
              const EnumerationOptions& options);
  // The rows of a projection instead of embeddings.
  Enumeration(const NativePlan& native_plan, ProjectionPlan projection, const EnumerationOptions& options);
  ~Enumeration();
  Enumeration(const Enumeration&) = delete;
  Enumeration& operator=(const Enumeration&) = delete;

  // Waits at most `wait` for a block. An empty result: none is ready yet, or, if finished(), none is left.
  std::optional<Block> next(std::chrono::milliseconds wait);
  bool finished();
  // Asks the threads to stop without waiting for them.
  void cancel();
  // Stops the threads; blocks not taken are dropped. May be called by several threads.
  void close();

  const Control& control() const { return control_; }
  // The items of a portion that were not searched, once it has finished.
  std::vector<WorkItem> left() const { return pool_.left(); }
  std::size_t columns() const { return projection_ ? projection_->returned.size() : position_.size(); }

 private:
  class Producer;

  Enumeration(const NativePlan& native_plan, std::vector<std::uint32_t> position,
              std::optional<ProjectionPlan> projection, const EnumerationOptions& options);
  void run();
  void produce(DelayedStart* delayed_start);
  template <class Searcher>
  void search(Producer& producer, Searcher& walker);
  // False when the search is over.
  bool deliver(Block block);

  const NativePlan& native_plan_;
  const std::vector<std::uint32_t> position_;
  const std::optional<ProjectionPlan> projection_;
  const EnumerationOptions options_;
  const int threads_;
  Control control_;

  std::mutex close_mutex_;
  std::mutex mutex_;
  std::condition_variable has_block_;
  std::condition_variable has_room_;
  std::deque<Block> queue_;
  std::uint64_t delivered_ = 0;  // rows put into the queue so far
  bool running_ = true;
  std::exception_ptr error_;
  Pool pool_;
  std::optional<DelayedStart> delayed_start_;
  std::thread thread_;
};

}  // namespace motiflux::search
