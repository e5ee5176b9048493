#include "search/pick.hpp"

#include "search/walker.hpp"

namespace motiflux::search {
namespace {

class Picker final : public Visitor {
 public:
  Picker(const NativePlan& native_plan, const std::vector<std::uint32_t>& position, Control& control,
         std::span<const std::int64_t> places, PickedRows& picked)
      : writer_(native_plan, position), control_(control), places_(places), picked_(picked) {}

  void rows(const std::uint32_t* prefix, sets::Span last) override {
    const std::uint64_t end = picked_.seen + last.size();
    for (; next_ < places_.size() && place() < end; ++next_) {
      const std::uint32_t* const value = last.first + (place() - picked_.seen);
      writer_.append(picked_.rows, prefix, {value, value + 1});
    }
    picked_.seen = end;
  }

  void count(Total) override {}
  void count_wide(const Wide&) override {}

  bool keep_going() override { return next_ < places_.size() && control_.keep_going(); }

 private:
  std::uint64_t place() const { return static_cast<std::uint64_t>(places_[next_]); }

  RowWriter writer_;
  Control& control_;
  const std::span<const std::int64_t> places_;
  std::size_t next_ = 0;
  PickedRows& picked_;
};

}  // namespace

PickedRows pick_rows(const NativePlan& native_plan, const std::vector<std::uint32_t>& position,
                     Control& control, std::span<const std::int64_t> places, Pool& portion) {
  PickedRows picked;
  Picker picker(native_plan, position, control, places, picked);
  Walker walker(native_plan, picker, false);
  walker.share(portion);
  Pool::Worker worker(portion);
  for (;;) {
    auto item = worker.take();
    if (!item) item = worker.wait();
    if (!item || !picker.keep_going() || !walker.search(*item)) break;
    control.finished(walker.arcs_done());
  }
  return picked;
}

}  // namespace motiflux::search
