// Bindings of the results of updates.
#include "bind_found.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "bind_checks.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "dynamic/compared_matcher.hpp"
#include "python_int.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

constexpr std::size_t kBrief = 256;  // updates that are begun while the GIL is held

}  // namespace

bool PyFound::any() const {
  for (const dynamic::Found::OfPattern& one : found_.patterns)
    if (!one.changes.empty()) return true;
  return false;
}

nb::object PyFound::counts(std::size_t pattern) const {
  require(pattern < found_.patterns.size(), "no such pattern");
  const dynamic::Found::OfPattern& one = found_.patterns[pattern];
  return nb::make_tuple(to_python(Wide(one.positive)), to_python(Wide(one.negative)));
}

nb::object PyFound::changes(std::size_t pattern) const {
  require(pattern < found_.patterns.size(), "no such pattern");
  const auto& changes = found_.patterns[pattern].changes;
  std::vector<std::uint64_t> numbers, matches;
  std::vector<std::int8_t> signs;
  bool wide = false;
  if (!batch_)
    for (const auto& [update, count, positive] : changes) {
      numbers.push_back(origin(update));
      signs.push_back(positive ? 1 : -1);
      matches.push_back(static_cast<std::uint64_t>(count));
      wide = wide || count > UINT64_MAX;
    }
  nb::object of_updates = to_numpy(std::move(matches));
  if (wide) {
    nb::list exact;
    for (const auto& [update, count, positive] : changes) exact.append(to_python(Wide(count)));
    of_updates = exact;
  }
  return nb::make_tuple(to_numpy(std::move(numbers)), of_updates, to_numpy(std::move(signs)));
}

dynamic::Found::OfPattern PyFound::take_rows(std::size_t pattern) {
  require(pattern < found_.patterns.size(), "no such pattern");
  dynamic::Found::OfPattern& one = found_.patterns[pattern];
  dynamic::Found::OfPattern taken;
  taken.rows = std::exchange(one.rows, {});
  taken.runs = std::exchange(one.runs, {});
  if (!applied_.origins.empty())
    for (dynamic::Found::Run& run : taken.runs) run.update = origin(run.update);
  return taken;
}

nb::object PyFound::rows(std::size_t pattern) {
  dynamic::Found::OfPattern taken = take_rows(pattern);
  if (taken.runs.empty()) return nb::none();
  std::vector<std::uint64_t> updates;
  std::vector<std::uint8_t> positives;
  std::vector<std::int64_t> ends;
  for (const dynamic::Found::Run& run : taken.runs) {
    updates.push_back(run.update);
    positives.push_back(run.positive);
    ends.push_back((ends.empty() ? 0 : ends.back()) + static_cast<std::int64_t>(run.rows));
  }
  const auto rows = static_cast<std::size_t>(ends.back());
  const std::size_t width = taken.rows.size() / rows;
  nb::object table = to_numpy(std::move(taken.rows), rows, width);
  return nb::make_tuple(table, to_numpy(std::move(updates)), to_numpy(std::move(positives)),
                        to_numpy(std::move(ends)));
}

nb::object PyFound::passings(std::size_t pattern) {
  require(pattern < found_.patterns.size(), "no such pattern");
  std::vector<dynamic::Passing> passings = std::exchange(found_.patterns[pattern].passings, {});
  std::ranges::sort(passings, {},
                    [](const dynamic::Passing& one) { return std::pair(one.update, one.vertex); });
  nb::list found;
  for (const dynamic::Passing& one : passings)
    found.append(nb::make_tuple(one.vertex, one.update, to_python(Wide(static_cast<Total>(one.before))),
                                to_python(Wide(static_cast<Total>(one.after)))));
  return found;
}

namespace {

// Runs work() without the GIL, unless it is brief; returns `result`, or None after the deadline of `watch`.
// `failed`: whether it threw Stopped as Python has an error.
template <class Work>
nb::object watched(nb::object result, SignalWatch& watch, bool is_brief, const bool& failed, Work&& work) {
  try {
    if (!is_brief) watch.free_gil();
    work();
  } catch (const dynamic::Stopped&) {
    watch.take_gil();
    if (failed || watch.failed()) throw nb::python_error();
    if (watch.late()) return nb::none();
    throw;
  } catch (...) {
    watch.take_gil();  // before `result` is freed
    throw;
  }
  watch.take_gil();
  return result;
}

// Calls work(most, flush), where flush() gives what was found so far to Python.
template <class Work>
nb::object giving(const nb::object& result, const Terms& terms, const std::optional<nb::callable>& full,
                  SignalWatch& watch, bool is_brief, Work&& work) {
  bool failed = false;
  const std::function<void()> flush = [&] {
    const nb::gil_scoped_acquire acquire;
    try {
      (*full)(result);
    } catch (nb::python_error& error) {
      error.restore();
      failed = true;
      throw dynamic::Stopped();
    }
  };
  const std::size_t most = full ? terms.most : SIZE_MAX;
  return watched(result, watch, is_brief, failed, [&] { work(most, flush); });
}

// Adds the seconds of searches to those of the call.
void note_searches(dynamic::Monitor& monitor, const SignalWatch& watch) {
  std::vector<double>& all = monitor.progress().searched;
  const std::vector<double>& more = watch.searched();
  if (all.size() < more.size()) all.resize(more.size());
  for (std::size_t pattern = 0; pattern < more.size(); ++pattern) all[pattern] += more[pattern];
}

}  // namespace

nb::object apply_all(dynamic::Monitor& monitor, Applied applied, const Terms& terms,
                     const std::optional<nb::callable>& full, SignalWatch& watch) {
  watch.take_gil();
  const nb::object result = nb::cast(PyFound({}, std::move(applied), terms.how.batch));
  PyFound& holder = nb::cast<PyFound&>(result);
  const dynamic::Updates& updates = holder.applied_.updates;
  nb::object given = giving(result, terms, full, watch, updates.size() <= kBrief,
                            [&](std::size_t most, const std::function<void()>& flush) {
                              dynamic::How how = terms.how;
                              how.origins = holder.applied_.origins;
                              monitor.apply(updates, how, holder.found_, watch, most, flush);
                            });
  note_searches(monitor, watch);
  if (given.is_none() && !terms.how.batch && monitor.progress().update < updates.size())
    monitor.progress().origin = holder.origin(monitor.progress().update);
  return given;
}

nb::object prepare_all(dynamic::Monitor& monitor, Applied applied, const Terms& terms, SignalWatch& watch) {
  watch.take_gil();
  require(terms.how.batch, "batches are prepared");
  nb::object result = nb::cast(PyFound({}, std::move(applied), true));
  PyFound& holder = nb::cast<PyFound&>(result);
  holder.prepared_ = std::make_unique<dynamic::PreparedBatch>();
  const dynamic::Updates& updates = holder.applied_.updates;
  return watched(std::move(result), watch, updates.size() <= kBrief, false,
                 [&] { monitor.prepare_batch(updates, terms.how, *holder.prepared_, watch); });
}

nb::object apply_prepared(dynamic::Monitor& monitor, nb::handle prepared, const Terms& terms,
                          const std::optional<nb::callable>& full, SignalWatch& watch) {
  PyFound& holder = nb::cast<PyFound&>(prepared);
  require(holder.prepared_ != nullptr, "the batch is not prepared");
  const std::unique_ptr<dynamic::PreparedBatch> batch = std::move(holder.prepared_);
  return giving(nb::borrow(prepared), terms, full, watch, holder.applied_.updates.size() <= kBrief,
                [&](std::size_t most, const std::function<void()>& flush) {
                  monitor.apply_prepared(*batch, terms.how, holder.found_, watch, most, flush);
                });
}

nb::object match_compared(dynamic::Monitor& monitor, dynamic::ComparedMatcher& matcher, nb::handle found,
                          const Terms& terms, const std::optional<nb::callable>& full, SignalWatch& watch) {
  PyFound& holder = nb::cast<PyFound&>(found);
  const std::size_t changes = matcher.copies().changes().size();
  require(holder.applied_.updates.size() == changes, "results of other updates");
  nb::object given = giving(nb::borrow(found), terms, full, watch, changes <= kBrief,
                            [&](std::size_t most, const std::function<void()>& flush) {
                              dynamic::How how = terms.how;
                              how.origins = holder.applied_.origins;
                              matcher.match(how, holder.found_, watch, most, flush);
                            });
  note_searches(monitor, watch);
  return given;
}

void bind_found(nb::module_& module) {
  nb::class_<Terms>(module, "Terms")
      .def(
          "__init__",
          [](Terms* terms, bool batch, int threads, int at_once, bool put_off, std::size_t most) {
            require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
            require(at_once >= 0 && at_once <= 2, "unknown way to use threads");
            new (terms) Terms{{batch, threads, {static_cast<dynamic::AtOnce>(at_once), put_off}, {}}, most};
          },
          "batch"_a, "threads"_a, "at_once"_a, "put_off"_a, "most"_a);
  nb::class_<PyFound>(module, "Found")
      .def_prop_ro("noops", &PyFound::noops)
      .def_prop_ro("put_off", &PyFound::put_off)
      .def_prop_ro("any", &PyFound::any)
      .def_prop_ro("applied", &PyFound::applied)
      .def_prop_ro("expired", &PyFound::expired)
      .def_ro("self_loops", &PyFound::self_loops)
      .def("counts", &PyFound::counts, "pattern"_a)
      .def("changes", &PyFound::changes, "pattern"_a)
      .def("rows", &PyFound::rows, "pattern"_a)
      .def("passings", &PyFound::passings, "pattern"_a);
}

}  // namespace motiflux
