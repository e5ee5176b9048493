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

void Monitor::open_log(const std::shared_ptr<PutOffNoops>& joined) {
  log_.call = ++calls_;
  log_.is_new = true;
  put_off_.begin(joined);
  log_.edges_before = graph_.edges();
  progress_.update = 0;
  progress_.origin.reset();
  progress_.searched.clear();
}

std::uint64_t Monitor::begin(const std::shared_ptr<PutOffNoops>& joined) {
  check_log();
  finish_writing();
  make_final(log_);
  final_call_ = calls_;
  tallies_.forget();
  open_log(joined);
  return log_.call;
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
  if (call <= final_call_) throw NotOpen(call, "is final, and cannot be taken back");
  while (log_.call >= call) {
    undo();
    if (!kept_) return;
    put_off_.reopen(std::move(kept_->put_off));
    log_ = std::move(*kept_);
    kept_.reset();
  }
}

// Begins a call, so that the one before can be taken back after it.
std::uint64_t Monitor::keep_log() {
  check_log();
  if (log_.call <= final_call_) return begin();
  log_.put_off = put_off_.current();
  kept_ = std::move(log_);
  log_ = Log();
  open_log(nullptr);
  return log_.call;
}

// Call it before anything is written that a call to be taken back has put off.
void Monitor::check_log() const {
  if (kept_) throw CallsOverlap();
}

std::uint64_t Monitor::begin_after() {
  finish_writing();
  return keep_log();
}

std::uint64_t Monitor::begin_next() {
  if (!matches_net_ || !has_begun_writing_ || kept_) return 0;
  writing_.wait();
  writing_.check();  // an error of the running call
  writing_.finish();
  return keep_log();
}

void Monitor::settle(std::uint64_t call) {
  if (call > 0 && call <= final_call_) return;
  Log& first = kept_ ? *kept_ : log_;
  if (call == 0 || call != first.call) throw NotOpen(call, "is not the first that can be made final");
  make_final(first);
  final_call_ = call;
  kept_.reset();
}

std::uint64_t Monitor::final_edges() {
  if (log_.call <= final_call_) {
    write_put_off();
    return graph_.edges();
  }
  finish_writing();
  Unwatched watch;
  const std::uint64_t before = graph_.edges();
  if (kept_)
    put_off_.write_before(kept_->put_off, 1, watch);
  else
    put_off_.write_earlier(1, watch);
  const std::uint64_t more = graph_.edges() - before;
  log_.edges_before += more;
  if (!kept_) return log_.edges_before;
  return kept_->edges_before += more;
}

void Monitor::prepare_batch(std::span<const Update> updates, const How& how, PreparedBatch& batch,
                            Watch& watch) {
  Found found;
  const std::function<void()> full = [] {};
  Pass pass = pass_of_batch(found, watch, how.threads, SIZE_MAX, full);
  batch.plans_version = plans_version_;
  batch.call = log_.call;
  prepare(updates, how, batch, pass);
}

void Monitor::apply_prepared(PreparedBatch& batch, const How& how, Found& found, Watch& watch,
                             std::size_t most, const std::function<void()>& full) {
  if (batch.plans_version != plans_version_) throw std::logic_error("a batch is prepared for other plans");
  const std::uint64_t call = batch.call;
  if (call != log_.call) throw NotOpen(call, "is not the last one, so that its batch cannot be applied");
  log_.is_new = false;
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
