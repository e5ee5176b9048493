#include "dynamic/put_off.hpp"

#include <algorithm>
#include <utility>

namespace motiflux::dynamic {

void PutOff::begin() {
  earlier_ = updates_.size();
  call_ = nullptr;
}

void PutOff::open_call() {
  if (call_ == nullptr) call_ = std::make_shared<PutOffNoops>();
  calls_.push_back(call_);
  call_->known = false;
}

bool PutOff::awaited() const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [&](const auto& noops) { return noops.use_count() > (noops == call_ ? 2 : 1); });
}

void PutOff::take_back() {
  if (updates_.size() > earlier_) calls_.pop_back();
  updates_.resize(earlier_);
  call_ = nullptr;
}

void PutOff::write_earlier(const Bulk::GoOn& go_on) {
  if (earlier_ == 0) return;
  write(earlier_, go_on, nullptr);
  earlier_ = 0;
}

void PutOff::write_current(const Bulk::GoOn& go_on, std::vector<Done>& done) {
  if (!updates_.empty()) write(updates_.size(), go_on, &done);
}

// Writes the first `count` updates, which are those of whole calls, and appends the changes to `done`.
void PutOff::write(std::size_t count, const Bulk::GoOn& go_on, std::vector<Done>* done) {
  const std::uint64_t edges = graph_.edges();
  const std::size_t written_calls = updates_[count - 1].number;
  std::vector<std::uint64_t> noops(written_calls + 1);  // by number of the call
  writing_.start(1);
  try {
    writing_.add(std::span(updates_).first(count), most_);
    writing_.count_noops(noops);
    writing_.forward(0, go_on);
    writing_.backward(0, go_on);
    if (done != nullptr) done->reserve(done->size() + writing_.done());
    writing_.finish();
  } catch (...) {
    writing_.take_back();
    graph_.change_all();
    graph_.count_edges(edges);
    writing_.start(1);
    throw;
  }
  if (done != nullptr) writing_.for_each_done([&](const Done& one) { done->push_back(one); });
  if (count > kMany) writing_.free_memory();
  writing_.start(1);
  for (std::size_t call = 0; call < written_calls; ++call) {
    calls_[call]->count += noops[call + 1];
    calls_[call]->known = true;
  }
  updates_.erase(updates_.begin(), updates_.begin() + static_cast<std::ptrdiff_t>(count));
  calls_.erase(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(written_calls));
  for (Entry& left : updates_) left.number -= static_cast<Moment>(written_calls);
}

}  // namespace motiflux::dynamic
