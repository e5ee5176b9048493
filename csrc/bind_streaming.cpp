// The updates of a run for a resident kernel, and its answers.
#include "bind_streaming.hpp"

#include <nanobind/stl/optional.h>

#include <utility>

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using ring::Clock;

constexpr std::size_t kPacket = 32, kRecords = 256;
// A wait is busy for so long, then with short sleeps.
constexpr std::chrono::microseconds kBusy{100}, kSleep{20};
// After so long without an answer Python looks after the kernel.
constexpr std::chrono::milliseconds kLongest{5};

nb::tuple as_tuple(const std::vector<std::uint32_t>& numbers) {
  nb::list listed;
  for (const std::uint32_t number : numbers) listed.append(number);
  return nb::tuple(listed);
}

}  // namespace

void PyStreamUpdates::set_rows(std::size_t number, int way,
                               const std::optional<InputArray<std::uint8_t>>& accepted,
                               const std::optional<InputArray<std::uint64_t>>& entries,
                               const std::optional<InputArray<std::uint32_t>>& edges) {
  require(way >= 0 && way <= 2, "unknown way");
  require(entries.has_value() == edges.has_value(), "edges of each entry expected");
  dynamic::StreamRows rows;
  rows.way = static_cast<dynamic::Way>(way);
  rows.all = !accepted;
  const auto classes = as_span(accepted);
  rows.accepted.assign(classes.begin(), classes.end());
  rows.counted = entries.has_value() || updates_.counts(number);
  const auto keys = as_span(entries);
  const auto counts = as_span(edges);
  require(keys.size() == counts.size(), "edges of each entry expected");
  rows.entries.assign(keys.begin(), keys.end());
  rows.edges.assign(counts.begin(), counts.end());
  updates_.set_rows(number, std::move(rows));
}

nb::object PyStreamUpdates::begin(const PyRun& run) {
  if (begun_ != run.run()) {
    sent_ = done_ = 0;
    unknown_ = updates_.begin(*run.run());
  }
  begun_.reset();
  nb::list keys;
  for (const dynamic::KindKey& key : unknown_)
    keys.append(nb::make_tuple(key.forward, key.back, as_tuple(key.plans), as_tuple(key.skipped)));
  unknown_.clear();
  return keys;
}

void PyStreamUpdates::number_kinds(const InputArray<std::uint32_t>& numbers) {
  updates_.number_kinds(as_span(numbers));
}

nb::object PyStreamUpdates::updates() const {
  std::vector<std::uint32_t> words;
  for (const dynamic::StreamUpdate& one : updates_.updates())
    words.insert(words.end(), {one.source, one.target, one.of, one.flags});
  const std::size_t count = updates_.updates().size();
  return to_numpy(std::move(words), count, std::size_t{4});
}

bool PyStreamUpdates::exchange(PyReader& reading, PyUpdateWriter& writing, const ToldWords& told,
                               const LineWords& words, std::uint64_t base, double seconds) {
  PyReader::Use reader(reading);
  PyUpdateWriter::Use writer(writing);
  check_answers(*reader, told, words);
  const ring::Lines lines(words.data(), words.shape(0));
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const nb::gil_scoped_release release;
  return exchange_now(*reader, *writer, {told.data(), told.data() + 1}, lines, base, limit);
}

bool PyStreamUpdates::exchange_now(ring::Reader& reader, ring::UpdateWriter& writer, const ring::Told& told,
                                   const ring::Lines& lines, std::uint64_t base, Clock::duration limit) {
  const std::span<const dynamic::StreamUpdate> all = updates_.updates();
  records_.resize(kRecords * reader.record_words());
  Clock::time_point event = Clock::now();
  while (done_ < all.size()) {
    bool happened = false;
    const std::size_t last = std::min(all.size(), done_ + lines.room(all.size()));
    while (sent_ < last) {
      const std::size_t some = std::min(kPacket, last - sent_);
      if (!writer.try_write(reinterpret_cast<const std::uint32_t*>(all.data() + sent_), some)) break;
      sent_ += some;
      happened = true;
    }
    std::uint64_t finished = base + done_;
    const std::size_t count = ring::take_answers(reader, told, lines, finished, records_.data(), kRecords);
    updates_.take({records_.data(), count * reader.record_words()}, reader.record_words(), base);
    happened = happened || count != 0 || finished > base + done_;
    done_ = std::min<std::size_t>(all.size(), finished - base);
    const Clock::time_point now = Clock::now();
    if (happened) event = now;
    if (now - event > limit) return false;
    if (now - event > kBusy) std::this_thread::sleep_for(kSleep);
  }
  return true;
}

nb::object PyStreamUpdates::answers(std::size_t width) {
  require(width > 0, "rows have the number of their root");
  std::vector<std::uint64_t> totals = updates_.take_totals();
  std::vector<std::uint32_t> rows = updates_.take_rows(width);
  const std::size_t roots = totals.size() / 2, count = rows.size() / width;
  return nb::make_tuple(to_numpy(std::move(totals), roots, std::size_t{2}),
                        to_numpy(std::move(rows), count, width));
}

void PyStreamUpdates::arm(nb::object reader, nb::object writer, ToldWords told, LineWords lines,
                          std::uint64_t moment, std::size_t vertices, nb::handle monitor, std::size_t width) {
  require(width > 0, "rows have the number of their root");
  const dynamic::Monitor& changing = native_monitor_of(monitor);
  PyReader& reading = nb::cast<PyReader&>(reader);
  PyUpdateWriter& writing = nb::cast<PyUpdateWriter&>(writer);
  check_answers(*PyReader::Use(reading), told, lines);
  armed_.emplace(Armed{std::move(reader), std::move(writer), &reading, &writing, std::move(told),
                       std::move(lines), &changing, vertices, changing.relations().classes().size(), width,
                       changing.lists_version()});
  moment_ = moment;
  sent_ = done_ = 0;
  begun_.reset();
}

bool PyStreamUpdates::match(const std::shared_ptr<const dynamic::Run>& run,
                            const std::function<void(const dynamic::RunMatches&)>& use) {
  if (!armed_) return false;
  const Armed& armed = *armed_;
  const dynamic::Monitor& monitor = *armed.monitor;
  if (monitor.graph().vertices() > armed.vertices || monitor.relations().classes().size() != armed.classes ||
      monitor.lists_version() != armed.lists)
    return false;
  sent_ = done_ = 0;
  unknown_ = updates_.begin(*run);
  begun_ = run;
  if (!unknown_.empty()) return false;
  PyReader::Use reader(*armed.reading);
  PyUpdateWriter::Use writer(*armed.writing);
  const ring::Lines lines(armed.lines.data(), armed.lines.shape(0));
  if (!exchange_now(*reader, *writer, {armed.told.data(), armed.told.data() + 1}, lines, moment_, kLongest))
    return false;
  begun_.reset();
  moment_ += sent_;
  sent_ = done_ = 0;
  const std::vector<std::uint64_t> totals = updates_.take_totals();
  const std::vector<std::uint32_t> rows = updates_.take_rows(armed.width);
  use({totals, {}, rows, armed.width});
  return true;
}

void bind_streaming(nb::module_& module) {
  nb::class_<PyStreamUpdates>(module, "StreamUpdates",
                              "The updates of a run for a resident kernel, and its answers.")
      .def(nb::init<bool>(), "directed"_a)
      .def("set_rows", &PyStreamUpdates::set_rows, "number"_a, "way"_a, "accepted"_a.none(),
           "entries"_a.none() = nb::none(), "edges"_a.none() = nb::none(),
           "Tell which classes rows have; and of entries that may stand for several edges, how many do.")
      .def("counts", &PyStreamUpdates::counts, "number"_a, "Whether edges of entries of rows are counted.")
      .def("uncount", &PyStreamUpdates::uncount, "number"_a, "run"_a,
           "Take the edges that a run brings out of the counts of rows, which have them already.")
      .def("clear", &PyStreamUpdates::clear, "Forget rows and kinds.")
      .def("forget_kinds", &PyStreamUpdates::forget_kinds, "Forget the numbers of kinds.")
      .def("begin", &PyStreamUpdates::begin, "run"_a,
           "List the updates of a run; return kinds without a number, (forward, back, plans, skipped).")
      .def("number_kinds", &PyStreamUpdates::number_kinds, "numbers"_a,
           "Give the kinds that `begin` returned numbers, in their order.")
      .def_prop_ro("updates", &PyStreamUpdates::updates, "The updates, uint32 [k, 4]; a copy.")
      .def("__len__", &PyStreamUpdates::size)
      .def_prop_ro("sent", &PyStreamUpdates::sent, "How many updates were written.")
      .def("take", &PyStreamUpdates::take, "records"_a, "base"_a,
           "Take answers, records [k, words]; `base`: the moment before the first update's.")
      .def("exchange", &PyStreamUpdates::exchange, "reader"_a, "writer"_a, "told"_a, "lines"_a, "base"_a,
           "seconds"_a,
           "Write updates and take answers until all are finished, True, or nothing happens for some time.")
      .def("arm", &PyStreamUpdates::arm, "reader"_a, "writer"_a, "told"_a, "lines"_a, "moment"_a,
           "vertices"_a, "monitor"_a, "width"_a,
           "Have runs matched without Python while nothing else is needed, until `disarm`.")
      .def("disarm", &PyStreamUpdates::disarm)
      .def_prop_ro("is_armed", &PyStreamUpdates::is_armed)
      .def_prop_ro("moment", &PyStreamUpdates::moment,
                   "The moment before the run that was begun since `arm`, or of the last update.")
      .def("answers", &PyStreamUpdates::answers, "width"_a,
           "Return totals [roots, 2] and rows [k, width] of what was taken.");
}

}  // namespace motiflux
