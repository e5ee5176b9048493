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
  write(earlier_, go_on);
  earlier_ = 0;
}

void PutOff::write_current(const Bulk::GoOn& go_on, std::vector<Done>& done) {
  if (updates_.empty()) return;
  done.reserve(done.size() + 2 * updates_.size());  // so that noting the changes cannot fail
  const std::vector<Done> changes = write(updates_.size(), go_on);
  done.insert(done.end(), changes.begin(), changes.end());
}

// Writes the first `count` updates, which are those of whole calls; returns the changes.
std::vector<Done> PutOff::write(std::size_t count, const Bulk::GoOn& go_on) {
  const std::uint64_t edges = graph_.edges();
  const std::size_t written_calls = updates_[count - 1].call;
  std::vector<std::uint64_t> noops(written_calls);
  std::vector<Done> done;
  done.reserve(2 * count);  // so that noting a change cannot fail
  const auto note = [&] {
    writing_.for_each_done(
        [&](const std::vector<Done>& changes) { done.insert(done.end(), changes.begin(), changes.end()); });
  };
  writing_.start(1);
  try {
    for (std::size_t at = 0; at < count; ++at) {
      const PutOffUpdate& one = updates_[at];
      const Class to = one.to & ~kComes;
      const Edge edge{one.source, one.target, graph_.relations().classes()[to].edge};
      const Class from = graph_.relations().class_of(edge.label, graph_.label(edge.source));
      writing_.add(0, one.call - 1, edge, to, from, (one.to & kComes) != 0, false);
    }
    writing_.admit();
    writing_.count_noops(noops);
    graph_.advance(1);
    writing_.forward(0, go_on);
    writing_.backward(0, go_on);
    writing_.finish();
    note();
  } catch (...) {
    done.clear();
    note();
    take_back_changes(graph_, done);
    graph_.change_all();
    graph_.count_edges(edges);
    writing_.start(1);
    throw;
  }
  writing_.start(1);
  for (std::size_t call = 0; call < written_calls; ++call) {
    calls_[call]->count += noops[call];
    calls_[call]->known = true;
  }
  updates_.erase(updates_.begin(), updates_.begin() + static_cast<std::ptrdiff_t>(count));
  calls_.erase(calls_.begin(), calls_.begin() + static_cast<std::ptrdiff_t>(written_calls));
  for (PutOffUpdate& left : updates_) left.call -= static_cast<std::uint32_t>(written_calls);
  return done;
}

}  // namespace motiflux::dynamic
