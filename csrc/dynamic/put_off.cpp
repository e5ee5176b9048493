#include "dynamic/put_off.hpp"

#include <algorithm>
#include <utility>

#include "dynamic/threads.hpp"

namespace motiflux::dynamic {

void PutOff::begin(const std::shared_ptr<PutOffNoops>& joined) {
  earlier_ = updates_.size();
  const bool joins = joined != nullptr && !joined->known && !calls_.empty() && calls_.back() == joined;
  call_ = joins ? joined : nullptr;
  opened_ = false;
}

void PutOff::open_call() {
  if (call_ == nullptr) call_ = std::make_shared<PutOffNoops>();
  calls_.push_back(call_);
  call_->known = false;
  opened_ = true;
}

std::size_t PutOff::add(const Part& part, std::size_t first) {
  const std::size_t here = updates_.size() - written_, room = many() - std::min(many(), here);
  const std::size_t end = first + std::min(room, part.entries.size() - first);
  if (end == first) return first;
  if (call_ == nullptr || call_->known) open_call();
  most_ = std::max(most_, part.most);
  const std::size_t before = updates_.size();
  updates_.insert(updates_.end(), part.entries.begin() + static_cast<std::ptrdiff_t>(first),
                  part.entries.begin() + static_cast<std::ptrdiff_t>(end));
  for (std::size_t at = before; at < updates_.size(); ++at) updates_[at].number = calls();
  return end;
}

bool PutOff::awaited() const {
  return std::any_of(calls_.begin(), calls_.end(), [&](const auto& noops) {
    return !noops->known && noops.use_count() > (noops == call_ ? 2 : 1);
  });
}

void PutOff::take_back() {
  if (opened_ && updates_.size() > earlier_) calls_.pop_back();
  updates_.resize(earlier_);
  call_ = nullptr;
}

bool PutOff::write_few(std::size_t most) {
  if (written_ == earlier_) return false;
  const std::size_t end = std::min(earlier_, written_ + most);
  const auto edge_of = [&](std::size_t at) {
    const Entry& one = updates_[at];
    return Edge{one.row, one.neighbor, graph_.relations().classes()[one.to()].edge};
  };
  for (std::size_t at = written_; at < end; ++at) graph_.prefetch(edge_of(at));
  for (std::size_t at = written_; at < end; ++at) graph_.prefetch_rows(edge_of(at));
  for (; written_ < end; ++written_) {
    const Moment call = updates_[written_].number;
    PutOffNoops& noops = *calls_[call - 1];
    noops.count += !write_one(edge_of(written_), updates_[written_].comes());
    noops.known = written_ + 1 == updates_.size() || updates_[written_ + 1].number != call;
  }
  if (written_ == updates_.size() || written_ >= kMany) drop(written_);
  return true;
}

// Whether the update had an effect.
bool PutOff::write_one(const Edge& edge, bool comes) {
  const std::uint64_t more = graph_.more_copies(edge);
  if (comes) {
    if (graph_.insert(edge)) return true;
    if (count_copies_) graph_.set_more_copies(edge, more + 1);
    return false;
  }
  if (more == 0) return graph_.erase(edge);
  graph_.set_more_copies(edge, more - 1);
  return true;
}

void PutOff::write_earlier(int threads, Watch& watch) {
  if (written_ < earlier_) write(earlier_, threads, watch, nullptr);
}

void PutOff::write_before(Call& call, int threads, Watch& watch) {
  if (written_ == call.earlier) return;
  write(call.earlier, threads, watch, nullptr);
  call.earlier = 0;
}

void PutOff::write_current(int threads, Watch& watch, std::vector<Done>& done) {
  if (written_ < updates_.size()) write(updates_.size(), threads, watch, &done);
}

// Writes the updates before `end`, which are those of whole calls, and appends the changes to `done`.
void PutOff::write(std::size_t end, int threads, Watch& watch, std::vector<Done>* done) {
  const std::uint64_t edges = graph_.edges();
  const std::span<const Entry> updates = std::span(updates_).subspan(written_, end - written_);
  const std::size_t calls = updates.back().number;
  std::vector<std::uint64_t> noops(calls + 1);  // by number of the call
  threads = threads_for(updates.size(), threads);
  writing_.start(threads, threads);
  try {
    for_each_partition(threads, threads, watch, [&](int slice, Watch&) {
      const std::size_t first = begin_of_slice(updates.size(), slice, threads);
      const std::size_t last = begin_of_slice(updates.size(), slice + 1, threads);
      writing_.add(slice, updates.subspan(first, last - first), most_);
    });
    writing_.admit();
    writing_.count_noops(noops.size());
    graph_.advance(1);
    for_each_partition(threads, threads, watch, [&](int partition, Watch& guarded) {
      writing_.forward(partition, [&] { return guarded.keep_going(); });
    });
    for_each_partition(threads, threads, watch, [&](int partition, Watch& guarded) {
      writing_.backward(partition, [&] { return guarded.keep_going(); });
    });
    writing_.sum_noops(noops);
    if (done != nullptr) done->reserve(done->size() + writing_.done());
    writing_.finish();
  } catch (...) {
    writing_.take_back();
    graph_.change_all();
    graph_.count_edges(edges);
    writing_.start(1);
    throw;
  }
  if (done != nullptr)
    writing_.for_each_done(
        [&](const std::vector<Done>& changes) { done->insert(done->end(), changes.begin(), changes.end()); });
  if (updates.size() > kMany) writing_.free_memory();
  writing_.start(1);
  for (std::size_t call = updates.front().number; call <= calls; ++call) {
    calls_[call - 1]->count += noops[call];
    calls_[call - 1]->known = true;
  }
  drop(end);
}

// Forgets the updates before `end`, which are written.
void PutOff::drop(std::size_t end) {
  // A call may be written in part.
  const Moment calls = end == updates_.size() ? this->calls() : updates_[end].number - 1;
  updates_.erase(updates_.begin(), updates_.begin() + static_cast<std::ptrdiff_t>(end));
  calls_.erase(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(calls));
  for (Entry& left : updates_) left.number -= calls;
  earlier_ -= std::min(earlier_, end);
  written_ = 0;
}

}  // namespace motiflux::dynamic
