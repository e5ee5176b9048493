// Bindings of feeds whose updates are applied natively.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "bind_checks.hpp"
#include "bind_streaming.hpp"
#include "bindings.hpp"
#include "common/free_gil.hpp"
#include "feed_queue.hpp"
#include "feed_turn.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using Clock = FeedQueue::Clock;

constexpr double kLongest = 1e6;  // seconds of a wait
constexpr dynamic::Label kNoCode = ~dynamic::Label{0};

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, kLongest)));
}

template <class Value>
const Value* column_of(nb::handle column, std::uint64_t size) {
  InputArray<Value> values;
  if (!nb::try_cast(column, values, false) || values.size() != size) return nullptr;
  return values.data();
}

// (updates, size, inserts, sources, targets, labels): the last four as columns of plain updates, or None.
FeedPart part_of(nb::handle given) {
  FeedPart part;
  part.updates = nb::borrow(given[0]);
  part.size = nb::cast<std::uint64_t>(given[1]);
  const auto* inserts = reinterpret_cast<const std::uint8_t*>(column_of<bool>(given[2], part.size));
  part.sources = column_of<std::int64_t>(given[3], part.size);
  part.targets = column_of<std::int64_t>(given[4], part.size);
  const bool labelled = !given[5].is_none();
  if (labelled) part.labels = column_of<std::int64_t>(given[5], part.size);
  const bool fits =
      part.sources != nullptr && part.targets != nullptr && labelled == (part.labels != nullptr);
  if (fits) part.inserts = inserts;
  return part;
}

nb::list listed(const FeedParts& parts) {
  nb::list found;
  for (const FeedPart& part : parts) found.append(nb::make_tuple(part.first, part.updates));
  return found;
}

class PyFeedQueue {
 public:
  PyFeedQueue(std::uint64_t room, double spin) : queue_(room, duration_of(spin)) {}

  // The position of the first update; -1: no room, -2: closed.
  std::int64_t write(const nb::list& given) {
    const FeedParts spent = queue_.take_spent();
    FeedParts parts;
    for (const nb::handle part : given) parts.push_back(part_of(part));
    std::uint64_t first = 0;
    switch (queue_.write(parts, first)) {
      case FeedQueue::Wrote::kNoRoom:
        return -1;
      case FeedQueue::Wrote::kClosed:
        return -2;
      case FeedQueue::Wrote::kYes:
        break;
    }
    return static_cast<std::int64_t>(first);
  }
  bool wait_for_room(std::uint64_t size, double seconds) {
    const Clock::time_point end = Clock::now() + duration_of(seconds);
    const FreeGil free_gil;
    return queue_.wait_for_room(size, end);
  }

  // Appends (first, updates, delta) or (first, updates, found, seconds, slots); false: none within the time.
  // Python raises what a signal demands when this returns, and would lose a result: the list stays.
  bool take(double seconds, nb::list given) {
    const Clock::time_point end = Clock::now() + duration_of(seconds);
    FeedAnswers taken;
    {
      const FreeGil free_gil;
      taken = queue_.take(end);
    }
    const FeedParts spent = queue_.take_spent();
    if (taken.empty()) return false;
    FeedAnswer& answer = taken.front();
    if (!answer.native) {
      given.append(answer.made);
      return true;
    }
    FeedAnswer::Native& native = *answer.native;
    PyFound found(std::move(native.found), std::move(native.applied), native.in_batches);
    found.self_loops = native.self_loops;
    given.append(nb::make_tuple(answer.first, answer.updates, nb::cast(std::move(found)), native.seconds,
                                native.slots));
    return true;
  }
  void give_back(nb::tuple taken) {
    FeedAnswers answers = made(std::move(taken));
    queue_.give_back(answers);
  }
  bool has_no_more() { return queue_.has_no_more(); }
  bool wait_until_answered(double seconds) {
    const Clock::time_point end = Clock::now() + duration_of(seconds);
    const FreeGil free_gil;
    return queue_.wait_until_answered(end);
  }

  bool pause(std::uint64_t owner, double seconds) {
    const Clock::time_point end = Clock::now() + duration_of(seconds);
    const FreeGil free_gil;
    return queue_.pause(owner, end);
  }
  void resume(std::uint64_t owner) { queue_.resume(owner); }
  bool is_paused_by(std::uint64_t owner) { return queue_.is_paused_by(owner); }
  void close(bool gives_up) { queue_.close(gives_up); }

  void stop() { queue_.stop(); }

  int wait_for_work(double seconds) {
    const Clock::time_point end = Clock::now() + duration_of(seconds);
    const FreeGil free_gil;
    return static_cast<int>(queue_.wait_for_work(end));
  }
  // (how it ended, updates, calls)
  nb::tuple turn(PyVertexIds& ids, nb::handle monitor, const Terms& terms, dynamic::Label unlabelled,
                 bool zero, const std::optional<InputArray<std::int32_t>>& label_codes,
                 PyStreamUpdates* first, std::uint64_t most, std::uint64_t slots, double seconds,
                 double rest) {
    dynamic::Monitor& changing = native_monitor_of(monitor);
    const FeedTurn::Known known{unlabelled, unlabelled != kNoCode, zero, as_span(label_codes)};
    // The matcher of an engine is Python's.
    auto* const matcher =
        static_cast<PythonMatcher*>(const_cast<dynamic::RunMatcher*>(changing.run_matcher()));
    FeedTurn turn(queue_, ids, changing, terms, known, most, slots);
    FeedTurn::End end = FeedTurn::End::kLeft;
    if (matcher != nullptr) matcher->let_first(first);
    try {
      const FreeGil free_gil;
      end = turn.run(Clock::now() + duration_of(seconds), duration_of(rest));
    } catch (...) {
      if (matcher != nullptr) matcher->let_first(nullptr);
      throw;
    }
    if (matcher != nullptr) matcher->let_first(nullptr);
    return nb::make_tuple(static_cast<int>(end), turn.updates(), turn.calls());
  }

  // Takes the first parts, of at most so many updates, or one: [(first, updates)].
  nb::list take_parts(std::uint64_t most) {
    const FeedParts spent = queue_.take_spent();
    taken_ = queue_.take_parts(most, false, false);
    return listed(taken_);
  }
  // Has all but the first ones of those that take_parts() returned wait again.
  void put_back(std::size_t kept) {
    FeedParts back;
    auto from = taken_.begin();
    for (; kept > 0 && from != taken_.end(); --kept) ++from;
    back.splice(back.end(), taken_, from, taken_.end());
    queue_.put_back(back);
  }
  void answer(std::uint64_t first, std::uint64_t updates, nb::object delta) {
    FeedAnswers answers = made(nb::make_tuple(first, updates, std::move(delta)));
    FeedParts none;
    queue_.answer(answers, none);
  }
  nb::list end() { return listed(queue_.end()); }

  std::uint64_t written() { return queue_.written(); }
  std::uint64_t answered() { return queue_.answered(); }
  bool is_closed() { return queue_.is_closed(); }

 private:
  // The answer that is given as this tuple.
  static FeedAnswers made(nb::tuple given) {
    FeedAnswers answers(1);
    answers.front().first = nb::cast<std::uint64_t>(given[0]);
    answers.front().updates = nb::cast<std::uint64_t>(given[1]);
    answers.front().made = std::move(given);
    return answers;
  }

  FeedQueue queue_;
  FeedParts taken_;
};

}  // namespace

void bind_feed_queue(nb::module_& module) {
  nb::class_<PyFeedQueue>(module, "FeedQueue", "Updates of producers that wait, and answers for consumers.")
      .def(nb::init<std::uint64_t, double>(), "room"_a, "spin"_a)
      .def("write", &PyFeedQueue::write, "parts"_a,
           "Take parts (updates, size, inserts, sources, targets, labels); return the position of the first "
           "update, -1 if there is no room, -2 if it is closed.")
      .def("wait_for_room", &PyFeedQueue::wait_for_room, "size"_a, "seconds"_a)
      .def("take", &PyFeedQueue::take, "seconds"_a, "given"_a,
           "Append the next answer, (first, updates, delta) or (first, updates, found, seconds, slots); "
           "return "
           "whether there is one.")
      .def("give_back", &PyFeedQueue::give_back, "taken"_a)
      .def_prop_ro("has_no_more", &PyFeedQueue::has_no_more)
      .def("wait_until_answered", &PyFeedQueue::wait_until_answered, "seconds"_a)
      .def("pause", &PyFeedQueue::pause, "owner"_a, "seconds"_a)
      .def("resume", &PyFeedQueue::resume, "owner"_a)
      .def("is_paused_by", &PyFeedQueue::is_paused_by, "owner"_a)
      .def("close", &PyFeedQueue::close, "gives_up"_a)
      .def("stop", &PyFeedQueue::stop, "Have a turn that runs end soon: its call is undone.")
      .def("wait_for_work", &PyFeedQueue::wait_for_work, "seconds"_a,
           "Wait for updates: 0 if there are some, 1 if it is time to rest, 2 if none will come.")
      .def(
          "turn", &PyFeedQueue::turn, "ids"_a, "monitor"_a, "terms"_a, "unlabelled"_a, "zero"_a,
          "label_codes"_a.none(), "first"_a.none(), "most"_a, "slots"_a, "seconds"_a, "rest"_a,
          "Apply plain updates for some time: (0: it is over, 1: the first ones are for Python, 2: they were "
          "undone; updates, calls).")
      .def("take_parts", &PyFeedQueue::take_parts, "most"_a)
      .def("put_back", &PyFeedQueue::put_back, "kept"_a)
      .def("answer", &PyFeedQueue::answer, "first"_a, "updates"_a, "delta"_a)
      .def("end", &PyFeedQueue::end)
      .def_prop_ro("written", &PyFeedQueue::written)
      .def_prop_ro("answered", &PyFeedQueue::answered)
      .def_prop_ro("is_closed", &PyFeedQueue::is_closed);
}

}  // namespace motiflux
