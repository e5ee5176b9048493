// The logs of calls, and two calls of which both can be taken back: the last one that was applied, and the
// one after it.
//
// While an engine matches a batch, its rows are written. Then the net changes of the next batch can be found,
// which read these rows. What this changes itself, numbers of copies and the list of updates that are put
// off, belongs to the next call.
#include <stdexcept>
#include <utility>

#include "dynamic/monitor.hpp"

namespace motiflux::dynamic {

void Monitor::open_log(std::shared_ptr<PutOffNoops> joined) {
  log_.call = ++calls_;
  put_off_.begin(joined);
  joined_ = std::move(joined);
  log_.edges_before = graph_.edges();
}

// Counts the changes of a call, which are final, and forgets them; if memory fails, it forgets none.
void Monitor::make_final(Log& log) {
  if (!log.written.empty()) label_changes_.add(graph_, log.written.all());
  for (const std::vector<Done>& done : log.done_before) label_changes_.add(graph_, done);
  label_changes_.add(graph_, log.done);
  log.written = Column<Update>();
  log.done.clear();
  log.done_before.clear();
}

void Monitor::take_back(std::uint64_t call) {
  while (log_.call >= call) {
    undo();
    if (!kept_) return;
    put_off_.reopen(std::move(kept_->put_off));
    log_ = std::move(*kept_);
    kept_.reset();
  }
}

void Monitor::keep_log() {
  if (kept_) throw std::logic_error("the changes of one call are kept already");
  log_.put_off = put_off_.current();
  kept_ = std::move(log_);
  log_ = Log();
  open_log(nullptr);
}

// Call it before anything is written that a call to be taken back has put off.
void Monitor::check_log() const {
  if (kept_) throw std::logic_error("updates are to be written whose call may be taken back");
}

std::uint64_t Monitor::begin_after() {
  finish_writing();
  keep_log();
  return log_.call;
}

std::uint64_t Monitor::begin_next() {
  if (!matches_net_ || !has_begun_writing_ || kept_) return 0;
  writing_.wait();
  writing_.check();  // an error of the running call
  writing_.finish();
  keep_log();
  return log_.call;
}

void Monitor::settle(std::uint64_t call) {
  if (!kept_ || kept_->call < call) return;
  make_final(*kept_);
  kept_.reset();
}

void Monitor::prepare_batch(std::span<const Update> updates, const How& how, PreparedBatch& batch,
                            Watch& watch) {
  Found found;
  const std::function<void()> full = [] {};
  Pass pass = pass_of_batch(found, watch, how.threads, SIZE_MAX, full);
  batch.plans_version = plans_version_;
  prepare(updates, how, batch, pass);
}

void Monitor::apply_prepared(PreparedBatch& batch, const How& how, Found& found, Watch& watch,
                             std::size_t most, const std::function<void()>& full) {
  if (batch.plans_version != plans_version_) throw std::logic_error("a batch is prepared for other plans");
  const std::uint64_t call = log_.call;
  try {
    Pass pass = pass_of_batch(found, watch, how.threads, most, full);
    found.noops = batch.noops;
    match_batch(batch, how, pass);
  } catch (...) {
    take_back(call);
    throw;
  }
}

}  // namespace motiflux::dynamic
