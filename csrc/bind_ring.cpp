#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bind_ring.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/live_work.hpp"
#include "common/watched.hpp"
#include "ring/echo.hpp"
#include "ring/pace.hpp"
#include "ring/reader.hpp"
#include "ring/writer.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using ring::Clock;

using OutputRows = nb::ndarray<std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using InputRows = nb::ndarray<const std::uint32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

constexpr std::uint32_t kMaxRounds = std::numeric_limits<std::uint32_t>::max() - 1;

// Seconds as a duration, at most a hundred years.
Clock::duration duration(double seconds, const char* what) {
  constexpr double kForEver = 3.15e9;
  require(seconds >= 0, what);  // nor NaN
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::fmin(seconds, kForEver)));
}

std::size_t read(PyReader& self, OutputRows out, double wait_seconds, double spin_seconds) {
  const Clock::duration wait = duration(wait_seconds, "wait_seconds must be 0 or more");
  const Clock::duration spin = duration(spin_seconds, "spin_seconds must be 0 or more");
  PyReader::Use reader(self);
  require(out.shape(1) == reader->record_words(), "out must have one column per word of a record");
  std::atomic<bool> stopped{false};
  const LiveWork live([&] { stopped.store(true, std::memory_order_relaxed); });
  const Clock::time_point start = Clock::now(), deadline = start + wait;
  for (;;) {
    std::size_t rows = 0;
    Clock::time_point now;
    {
      nb::gil_scoped_release release;
      const Clock::time_point pause = std::min(deadline, Clock::now() + kSignalPeriod);
      rows = reader->read(out.data(), out.shape(0), start + spin, pause, stopped);
      now = Clock::now();
    }
    if (rows != 0 || out.shape(0) == 0 || now >= deadline || stopped.load()) return rows;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

template <class Writer>
bool try_write(Writer& self, InputRows records) {
  typename Writer::Use writer(self);
  require(records.shape(1) == writer->record_words(), "records must have one column per word of a record");
  return writer->try_write(records.data(), records.shape(0));
}

// Runs run(tick) without the GIL; it ends once tick() is false: after a signal, or at the end of the process.
template <class Run>
void run_until_stopped(Run&& run) {
  std::atomic<bool> stopped{false};
  bool python_error = false;
  const LiveWork live([&] { stopped.store(true, std::memory_order_relaxed); });
  const auto tick = [&] {
    nb::gil_scoped_acquire acquire;
    python_error = PyErr_CheckSignals() != 0;
    return !python_error && !stopped.load(std::memory_order_relaxed);
  };
  try {
    nb::gil_scoped_release release;
    run(tick);
  } catch (const ring::EchoTimeout& timeout) {
    PyErr_SetString(PyExc_TimeoutError, timeout.what());
    python_error = true;
  }
  if (python_error) throw nb::python_error();
}

nb::object echo(PyReader& reading, PyWriter& writing, std::uint32_t rounds, double round_seconds) {
  const Clock::duration limit = duration(round_seconds, "round_seconds must be 0 or more");
  require(rounds <= kMaxRounds, "rounds must be less than 2^32 - 1");
  PyReader::Use reader(reading);
  PyWriter::Use writer(writing);
  require(reader->record_words() == writer->record_words(), "the rings have records of different sizes");
  std::vector<std::uint64_t> nanoseconds(rounds);
  run_until_stopped(
      [&](const auto& tick) { nanoseconds.resize(ring::echo(*reader, *writer, nanoseconds, limit, tick)); });
  return to_numpy(std::move(nanoseconds));
}

using Due = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object take_answers(PyReader& reading, const ToldWords& told, const LineWords& lines, OutputRows out,
                        std::uint64_t finished, double wait_seconds, std::uint64_t last) {
  constexpr std::chrono::microseconds kBusy{20}, kSleep{10};
  const Clock::duration wait = duration(wait_seconds, "wait_seconds must be 0 or more");
  PyReader::Use reader(reading);
  check_answers(*reader, told, lines);
  require(out.shape(1) == reader->record_words(), "out must have one column per word of a record");
  require(lines.shape(0) == 0 || out.shape(0) >= streaming::kMostInLine, "out must have room for a line");
  require(last <= finished || last - finished <= lines.shape(0) || lines.shape(0) == 0,
          "last must be an update under way");
  const std::uint64_t before = finished;
  std::size_t count = 0;
  {
    const nb::gil_scoped_release release;
    const Clock::time_point start = Clock::now();
    for (;;) {
      count = ring::take_answers(*reader, {told.data(), told.data() + 1}, {lines.data(), lines.shape(0)},
                                 finished, out.data(), out.shape(0), last);
      const Clock::duration waited = Clock::now() - start;
      if (count != 0 || finished != before || waited >= wait) break;
      if (waited > kBusy) std::this_thread::sleep_for(kSleep);
    }
  }
  return nb::make_tuple(count, finished);
}

nb::object pace(PyReader& reading, PyUpdateWriter& writing, const ToldWords& told, const LineWords& lines,
                const InputRows& updates, const Due& due, std::uint64_t first, double limit_seconds,
                bool keeps) {
  const Clock::duration limit = duration(limit_seconds, "limit_seconds must be 0 or more");
  PyReader::Use reader(reading);
  PyUpdateWriter::Use writer(writing);
  require(updates.shape(1) == writer->record_words(), "updates must have one column per word of a record");
  require(updates.shape(0) == due.shape(0), "due must have one element per update");
  check_answers(*reader, told, lines);
  std::vector<ring::Paced> paced(due.shape(0), ring::Paced{0, 0});
  std::vector<std::uint32_t> kept;
  run_until_stopped([&](const auto& tick) {
    ring::pace(*reader, *writer, {told.data(), told.data() + 1}, {lines.data(), lines.shape(0)},
               updates.data(), {due.data(), due.shape(0)}, first, paced, keeps ? &kept : nullptr, limit,
               tick);
  });
  std::vector<std::uint64_t> times;
  times.reserve(2 * paced.size());
  for (const ring::Paced& one : paced) times.insert(times.end(), {one.written, one.answered});
  return nb::make_tuple(to_numpy(std::move(times)), to_numpy(std::move(kept)));
}

template <class End>
nb::class_<ExclusiveEnd<End>> bind_end(nb::module_& module, const char* name, const char* text) {
  nb::class_<ExclusiveEnd<End>> bound(module, name, text);
  bound
      .def(nb::init<std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uint32_t, std::uint32_t,
                    std::uint32_t, nb::object>(),
           nb::kw_only(), "tail"_a, "published"_a, "payload"_a, "slots"_a, "slot_bytes"_a, "record_words"_a,
           "memory"_a.none() = nb::none())
      .def_prop_ro("position", &ExclusiveEnd<End>::position);
  return bound;
}

}  // namespace

void bind_ring(nb::module_& module) {
  bind_end<ring::Reader>(
      module, "RingReader",
      "The host's end of a ring that a kernel writes to. Takes the host's addresses, keeps "
      "`memory` alive; for one thread at a time.")
      .def(
          "read", &read, "out"_a.noconvert(), "wait_seconds"_a = 0.0, "spin_seconds"_a = 20e-6,
          "Fill rows of `out` [rows, record_words] with the records that are there, waiting for a first one; "
          "return how many. RuntimeError if the next packet is corrupt, or another thread reads.");
  bind_end<ring::Writer>(
      module, "RingWriter",
      "The only producer of a ring that a kernel reads from, empty at the start. Takes the "
      "host's addresses, keeps `memory` alive; for one thread at a time.")
      .def("try_write", &try_write<PyWriter>, "records"_a,
           "Write `records` [count, record_words] as one packet; False if the ring is full.");
  nb::class_<PyUpdateWriter>(module, "UpdateWriter",
                             "Writes updates to lines of the host's memory, which a resident kernel reads. "
                             "Takes the host's addresses and the last update that was written, keeps "
                             "`memory` alive; for one thread at a time.")
      .def(
          "__init__",
          [](PyUpdateWriter* self, std::uintptr_t lines, std::size_t count, std::uintptr_t read,
             std::uint64_t moment, nb::object memory) {
            new (self)
                PyUpdateWriter(ring::UpdateWriter(reinterpret_cast<streaming::UpdateLine*>(lines), count,
                                                  reinterpret_cast<std::uint64_t*>(read), moment),
                               std::move(memory));
          },
          nb::kw_only(), "lines"_a, "count"_a, "read"_a, "moment"_a, "memory"_a.none() = nb::none())
      .def("try_write", &try_write<PyUpdateWriter>, "records"_a,
           "Write updates [count, 4]; False if there is no room for all of them.");
  module.def("echo", &echo, "reader"_a, "writer"_a, "rounds"_a, "round_seconds"_a = 1.0,
             "Send records one by one, wait busily for each to come back; return the nanoseconds that each "
             "took. TimeoutError if one takes longer than `round_seconds`, RuntimeError if something else "
             "comes back.");
  module.def(
      "take_answers", &take_answers, "reader"_a, "told"_a, "lines"_a, "out"_a.noconvert(), "finished"_a,
      "wait_seconds"_a = 0.0, "last"_a = 0,
      "Fill rows of `out` with the answers of a resident kernel that are there; return how many, and the "
      "last update that is finished with all its answers taken, from `finished` on. Answers in lines come in "
      "the order of their updates; then those of later updates, up to `last`, that are there.");
  module.def(
      "pace", &pace, "reader"_a, "writer"_a, "told"_a, "lines"_a, "updates"_a, "due"_a, "first"_a,
      "limit_seconds"_a = 10.0, "keeps"_a = false,
      "Write updates to a resident kernel when they are due, nanoseconds after the start; return for each "
      "the nanoseconds after that at which it was written, and at which it was answered; and the words of "
      "all "
      "answers, if it `keeps` them. TimeoutError if nothing is finished for `limit_seconds`.");
}

}  // namespace motiflux
