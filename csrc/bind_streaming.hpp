// The updates of runs for a resident kernel, and its answers, as Python has them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "bind_checks.hpp"
#include "bind_ring.hpp"
#include "bind_run.hpp"
#include "bind_runs.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/stream_updates.hpp"
#include "motiflux/device/atomic_ref.hpp"
#include "ring/reader.hpp"

namespace motiflux {

class PyStreamUpdates : public MatchesFirst {
 public:
  explicit PyStreamUpdates(bool directed) : updates_(directed) {}

  void set_rows(std::size_t number, int way, const std::optional<InputArray<std::uint8_t>>& accepted,
                const std::optional<InputArray<std::uint64_t>>& entries,
                const std::optional<InputArray<std::uint32_t>>& edges);
  bool counts(std::size_t number) const { return updates_.counts(number); }
  void uncount(std::size_t number, const PyRun& run) {
    require(number < updates_.num_rows(), "no such rows");
    updates_.uncount(number, *run.run());
  }
  void clear() { updates_.clear(); }
  void forget_kinds() { updates_.forget_kinds(); }

  // Lists the updates of a run; where match() has begun it, nothing is done. Returns the kinds to be
  // numbered.
  nanobind::object begin(const PyRun& run);
  void number_kinds(const InputArray<std::uint32_t>& numbers);
  nanobind::object updates() const;
  std::size_t size() const { return updates_.updates().size(); }

  using Words =
      nanobind::ndarray<const std::uint32_t, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
  void take(const Words& records, std::uint64_t base) {
    updates_.take({records.data(), records.size()}, records.shape(1), base);
  }
  // Writes updates that wait, and takes answers, until all are finished (True), or nothing happens for some
  // time.
  bool exchange(PyReader& reader, PyUpdateWriter& writer, const ToldWords& told, const LineWords& words,
                std::uint64_t base, double seconds);
  std::size_t sent() const { return sent_; }
  // (totals [roots, 2], rows [k, width])
  nanobind::object answers(std::size_t width);

  // Has runs be matched by match(), until disarm(): the kernel runs, and has finished all updates up to a
  // moment. `width`: words of a row that is listed. Runs with new vertices beyond `vertices`, new classes or
  // new lists of ids are for Python.
  void arm(nanobind::object reader, nanobind::object writer, ToldWords told, LineWords lines,
           std::uint64_t moment, std::size_t vertices, nanobind::handle monitor, std::size_t width);
  void disarm() { armed_.reset(); }
  bool is_armed() const { return armed_.has_value(); }
  // That of the last update before the run that match() has begun and not finished, or of the last one.
  std::uint64_t moment() const { return moment_; }

  bool match(const std::shared_ptr<const dynamic::Run>& run,
             const std::function<void(const dynamic::RunMatches&)>& use) override;

 private:
  struct Armed {
    nanobind::object reader, writer;
    PyReader* reading;
    PyUpdateWriter* writing;
    ToldWords told;
    LineWords lines;
    const dynamic::Monitor* monitor;
    std::size_t vertices, classes, width;
    std::uint64_t lists;
  };

  // The same without Python's lock.
  bool exchange_now(ring::Reader& reader, ring::UpdateWriter& writer, const ring::Told& told,
                    const ring::Lines& lines, std::uint64_t base, ring::Clock::duration limit);

  dynamic::StreamUpdates updates_;
  std::vector<std::uint32_t> records_;
  std::size_t sent_ = 0, done_ = 0;
  std::optional<Armed> armed_;
  std::uint64_t moment_ = 0;
  std::shared_ptr<const dynamic::Run> begun_;  // by match(), and not finished there
  std::vector<dynamic::KindKey> unknown_;      // its kinds without a number
};

}  // namespace motiflux
