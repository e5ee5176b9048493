// The host's two ends of a ring: records across packets, waiting, packets that make no sense, round trips.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "ring/echo.hpp"
#include "ring/reader.hpp"
#include "ring/writer.hpp"
#include "ring_memory.hpp"

namespace {

namespace device = motiflux::device;
namespace ring = motiflux::ring;
using ring::Clock;
using std::chrono::milliseconds;

template <class Error, class Call>
bool throws(Call&& call, const std::string& part = "") {
  try {
    call();
    return false;
  } catch (const Error& error) {
    return std::string(error.what()).find(part) != std::string::npos;
  }
}

// `count` records of two words: their number and twice that.
std::vector<std::uint32_t> records(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = first; i < first + count; ++i) words.insert(words.end(), {i, 2 * i});
  return words;
}

void records_are_read_in_order_whatever_the_sizes_of_packets_and_outputs() {
  constexpr std::uint32_t kTotal = 500;
  for (std::size_t rows : {1, 2, 3, 7, 100}) {
    RingMemory memory(4, 40);
    ring::Reader reader(memory.ring(), 2);
    ring::Writer writer(memory.ring(), 2);
    std::uint32_t written = 0;
    std::vector<std::uint32_t> all, out(2 * rows);
    for (;;) {
      // Packets of 0 to 5 records, until the ring is full.
      while (written < kTotal) {
        const std::uint32_t count =
            std::min(static_cast<std::uint32_t>(writer.position() % 6), kTotal - written);
        if (!writer.try_write(records(written, count).data(), count)) break;
        written += count;
      }
      const std::size_t filled = reader.take(out.data(), rows);
      CHECK(filled <= rows);
      all.insert(all.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(2 * filled));
      if (filled != 0) continue;
      CHECK(reader.position() == writer.position());
      if (written == kTotal) break;
    }
    CHECK(all == records(0, kTotal));
  }
}

void a_packet_is_given_back_when_its_last_record_is_read() {
  RingMemory memory(1, 40);
  ring::Reader reader(memory.ring(), 2);
  ring::Writer writer(memory.ring(), 2);
  const std::vector<std::uint32_t> five = records(0, 5);
  CHECK(writer.try_write(five.data(), 5));
  std::vector<std::uint32_t> out(6);
  CHECK(reader.take(out.data(), 3) == 3 && out == records(0, 3));
  CHECK(reader.position() == 0 && !writer.try_write(five.data(), 1));
  CHECK(reader.take(out.data(), 3) == 2 && out[0] == 3 && out[2] == 4);
  CHECK(reader.position() == 1 && writer.try_write(five.data(), 1));
  CHECK(reader.take(nullptr, 0) == 0 && reader.position() == 1);
}

void both_ends_go_on_where_others_left_off() {
  RingMemory memory(2, 8);
  std::vector<std::uint32_t> out(2);
  for (std::uint32_t i = 0; i < 5; ++i) {
    ring::Writer writer(memory.ring(), 2);
    CHECK(writer.position() == i);
    CHECK(writer.try_write(records(i, 1).data(), 1));
    CHECK(throws<std::invalid_argument>([&] { ring::Writer(memory.ring(), 2); }, "nobody has read"));
    ring::Reader reader(memory.ring(), 2);
    CHECK(reader.take(out.data(), 1) == 1 && out == records(i, 1));
  }
}

void a_wait_ends_with_the_first_record_the_deadline_or_a_stop() {
  RingMemory memory(2, 8);
  ring::Reader reader(memory.ring(), 2);
  ring::Writer writer(memory.ring(), 2);
  std::vector<std::uint32_t> out(2);
  std::atomic<bool> stopped{false};
  const Clock::time_point start = Clock::now();
  CHECK(reader.read(out.data(), 1, start, start + milliseconds(20), stopped) == 0);
  CHECK(Clock::now() >= start + milliseconds(20));
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(10));
    CHECK(writer.try_write(records(4, 1).data(), 1));
    std::this_thread::sleep_for(milliseconds(10));
    stopped = true;
  });
  const auto read = [&] {
    return reader.read(out.data(), 1, Clock::now() + milliseconds(1), Clock::now() + std::chrono::hours(1),
                       stopped);
  };
  CHECK(read() == 1 && out == records(4, 1));
  CHECK(read() == 0);
  later.join();
}

void corrupt_words_are_refused(std::uint64_t laps, std::uint64_t word) {
  RingMemory memory(2, 16);
  ring::Reader reader(memory.ring(), 2);
  ring::Writer writer(memory.ring(), 2);
  std::vector<std::uint32_t> out(8);
  for (std::uint64_t i = 0; i < laps; ++i) {
    CHECK(writer.try_write(records(0, 2).data(), 2));
    CHECK(reader.take(out.data(), 4) == 2);
  }
  memory.published[laps % 2] = word;
  for (int again = 0; again < 2; ++again)
    CHECK(throws<std::runtime_error>([&] { reader.take(out.data(), 4); }, "is corrupt"));
  CHECK(reader.position() == laps);
}

void records_before_a_corrupt_word_are_not_lost() {
  RingMemory memory(2, 16);
  ring::Reader reader(memory.ring(), 2);
  ring::Writer writer(memory.ring(), 2);
  CHECK(writer.try_write(records(7, 2).data(), 2));
  memory.published[1] = 0xDEAD00;
  std::vector<std::uint32_t> out(4);
  CHECK(reader.take(out.data(), 4 / 2) == 2 && out == records(7, 2));
  CHECK(throws<std::runtime_error>([&] { reader.take(out.data(), 2); }, "packet 1 of the ring is corrupt"));
}

void a_count_that_changes_in_the_middle_of_a_packet_changes_nothing() {
  RingMemory memory(1, 16);
  ring::Reader reader(memory.ring(), 2);
  ring::Writer writer(memory.ring(), 2);
  std::vector<std::uint32_t> out(20);
  CHECK(writer.try_write(records(7, 2).data(), 2));
  CHECK(reader.take(out.data(), 1) == 1);
  memory.published[0] = (std::uint64_t{1} << 8) | 0;
  CHECK(reader.take(out.data(), 10) == 1 && out[0] == 8);
}

void sizes_and_addresses_that_make_no_sense_are_refused() {
  RingMemory memory(4, 40);
  const auto refused = [&](auto&& change, std::uint32_t words, const char* part) {
    device::Ring bad = memory.ring();
    change(bad);
    CHECK(throws<std::invalid_argument>([&] { ring::Reader(bad, words); }, part));
    CHECK(throws<std::invalid_argument>([&] { ring::Writer(bad, words); }, part));
  };
  refused([](device::Ring& r) { r.slots = 0; }, 2, "power of two");
  refused([](device::Ring& r) { r.slots = 3; }, 2, "power of two");
  refused([](device::Ring& r) { r.slot_bytes = 0; }, 2, "multiple of 4");
  refused([](device::Ring& r) { r.slot_bytes = 38; }, 2, "multiple of 4");
  refused([](device::Ring&) {}, 0, "one record");
  refused([](device::Ring&) {}, 11, "one record");
  refused([](device::Ring&) {}, 0x40000001, "one record");
  refused([](device::Ring& r) { r.tail = nullptr; }, 2, "tail");
  refused([](device::Ring& r) { ++r.payload; }, 2, "payload");
  refused([](device::Ring& r) { r.published = reinterpret_cast<std::uint64_t*>(r.payload + 4); }, 2,
          "published");
  ring::Writer writer(memory.ring(), 2);
  CHECK(throws<std::invalid_argument>([&] { writer.try_write(records(0, 6).data(), 6); }, "more records"));
  CHECK(writer.position() == 0);
}

// Takes packets and answers each, changed by `change`, until a packet without records.
template <class Change>
void answer_all(device::Ring in, device::Ring out, Change&& change) {
  for (std::uint64_t position = 0;; ++position) {
    std::uint32_t count;
    const unsigned char* packet;
    while ((packet = device::try_take(in, position, count)) == nullptr) std::this_thread::yield();
    if (count == 0) return;
    std::uint64_t ticket;
    while (!device::try_reserve(out, ticket)) std::this_thread::yield();
    for (std::uint32_t i = 0; i < 2 * count; ++i)
      device::payload_of<std::uint32_t>(out, ticket)[i] =
          change(reinterpret_cast<const std::uint32_t*>(packet)[i]);
    device::publish(out, ticket, count);
    device::release(in, position);
  }
}

void an_echo_is_timed_checked_and_given_up() {
  RingMemory to(2, 8), from(2, 8);
  ring::Writer writer(to.ring(), 2);
  ring::Reader reader(from.ring(), 2);
  std::thread other([&] { answer_all(to.ring(), from.ring(), [](std::uint32_t word) { return word; }); });
  const auto always = [] { return true; };
  std::vector<std::uint64_t> times(200);
  CHECK(ring::echo(reader, writer, times, milliseconds(10000), always) == times.size());
  for (std::uint64_t time : times) CHECK(time > 0 && time < 10'000'000'000);
  CHECK(writer.try_write(nullptr, 0));
  other.join();
  RingMemory nobody(2, 8);
  ring::Writer lost(nobody.ring(), 2);
  CHECK(throws<ring::EchoTimeout>([&] { ring::echo(reader, lost, times, milliseconds(5), always); },
                                  "round 0"));
  CHECK(ring::echo(reader, lost, times, milliseconds(10000), [] { return false; }) == 0);

  RingMemory again(2, 8), wrong(2, 8);
  ring::Writer asking(again.ring(), 2);
  ring::Reader answered(wrong.ring(), 2);
  std::thread liar(
      [&] { answer_all(again.ring(), wrong.ring(), [](std::uint32_t word) { return word / 5; }); });
  CHECK(throws<std::runtime_error>([&] { ring::echo(answered, asking, times, milliseconds(10000), always); },
                                   "something else"));
  CHECK(asking.try_write(nullptr, 0));
  liar.join();
}

void a_reader_and_a_writer_on_two_threads_agree() {
  constexpr std::uint32_t kTotal = 20000;
  RingMemory memory(4, 40);
  ring::Reader reader(memory.ring(), 2);
  ring::Writer writer(memory.ring(), 2);
  std::thread writing([&] {
    for (std::uint32_t written = 0; written < kTotal;) {
      const std::uint32_t count = std::min(1 + written % 5, kTotal - written);
      if (writer.try_write(records(written, count).data(), count))
        written += count;
      else
        std::this_thread::yield();
    }
  });
  std::atomic<bool> stopped{false};
  std::vector<std::uint32_t> all, out(14);
  while (all.size() < 2 * kTotal) {
    const Clock::time_point now = Clock::now();
    const std::size_t rows =
        reader.read(out.data(), 7, now + milliseconds(1), now + milliseconds(5000), stopped);
    CHECK(rows != 0);
    all.insert(all.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(2 * rows));
  }
  writing.join();
  CHECK(all == records(0, kTotal));
}

}  // namespace

int main() {
  records_are_read_in_order_whatever_the_sizes_of_packets_and_outputs();
  a_packet_is_given_back_when_its_last_record_is_read();
  both_ends_go_on_where_others_left_off();
  a_wait_ends_with_the_first_record_the_deadline_or_a_stop();
  corrupt_words_are_refused(0, (std::uint64_t{1} << 8) | 3);  // more records than fit
  corrupt_words_are_refused(0, 5);                            // a count without a ticket
  corrupt_words_are_refused(0, (std::uint64_t{2} << 8) | 1);  // the ticket of another slot
  corrupt_words_are_refused(0, (std::uint64_t{3} << 8) | 1);  // a lap ahead
  corrupt_words_are_refused(4, 0);                            // used, and zero again
  corrupt_words_are_refused(4, (std::uint64_t{1} << 8) | 1);  // two laps behind
  corrupt_words_are_refused(4, ~std::uint64_t{0});
  records_before_a_corrupt_word_are_not_lost();
  a_count_that_changes_in_the_middle_of_a_packet_changes_nothing();
  sizes_and_addresses_that_make_no_sense_are_refused();
  an_echo_is_timed_checked_and_given_up();
  a_reader_and_a_writer_on_two_threads_agree();
}
