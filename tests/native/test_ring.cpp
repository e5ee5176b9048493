// The ring between threads: nothing lost, nothing twice, nothing overwritten before it is read.
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "check.hpp"
#include "motiflux/device/ring.hpp"
#include "ring_memory.hpp"

namespace {

namespace device = motiflux::device;
using device::Order;
using device::Ring;

constexpr std::uint32_t kRecordWords = 3;
constexpr std::uint32_t kMostRecords = 4;
constexpr std::uint32_t kSlotBytes = kMostRecords * kRecordWords * 4;

std::uint32_t mixed(std::uint64_t value) {
  value *= 0x9E3779B97F4A7C15u;
  return static_cast<std::uint32_t>(value >> 32);
}

// How many records packet `number` of a producer has: 0 to 4, so that packets are partial, full and empty.
std::uint32_t records_of(std::uint32_t producer, std::uint32_t number) {
  return mixed(std::uint64_t{producer} << 32 | number) % (kMostRecords + 1);
}

// A record names its producer and packet, and ends with a checksum of both and of its place.
void write_packet(std::uint32_t* words, std::uint32_t producer, std::uint32_t number, std::uint32_t records) {
  for (std::uint32_t r = 0; r < records; ++r) {
    words[r * kRecordWords] = producer;
    words[r * kRecordWords + 1] = number;
    words[r * kRecordWords + 2] = mixed((std::uint64_t{producer} << 40 | number) * 8 + r);
  }
}

void produce(const Ring& ring, std::uint32_t producer, std::uint32_t packets) {
  for (std::uint32_t number = 0; number < packets; ++number) {
    std::uint64_t ticket;
    while (!device::try_reserve(ring, ticket)) std::this_thread::yield();
    const std::uint32_t records = records_of(producer, number);
    write_packet(device::payload_of<std::uint32_t>(ring, ticket), producer, number, records);
    device::publish(ring, ticket, records);
  }
}

// What the consumer knows of each producer: packets without records are passed over.
class Expected {
 public:
  Expected(std::uint32_t producers, std::uint32_t packets) : next_(producers), packets_(packets) {
    for (std::uint32_t producer = 0; producer < producers; ++producer) pass_over_empty(producer);
  }

  void check(const std::uint32_t* words, std::uint32_t count) {
    CHECK(count <= kMostRecords);
    if (count == 0) return;
    const std::uint32_t producer = words[0];
    CHECK(producer < next_.size());
    const std::uint32_t number = next_[producer]++;
    CHECK(number < packets_);
    CHECK(count == records_of(producer, number));
    std::uint32_t expected[kMostRecords * kRecordWords];
    write_packet(expected, producer, number, count);
    for (std::uint32_t i = 0; i < count * kRecordWords; ++i) CHECK(words[i] == expected[i]);
    pass_over_empty(producer);
  }

  void check_all_came() const {
    for (std::uint32_t number : next_) CHECK(number == packets_);
  }

 private:
  void pass_over_empty(std::uint32_t producer) {
    while (next_[producer] < packets_ && records_of(producer, next_[producer]) == 0) ++next_[producer];
  }

  std::vector<std::uint32_t> next_;
  std::uint32_t packets_;
};

void every_packet_arrives_once_whole_and_in_its_producers_order(std::uint32_t producers, std::uint32_t slots,
                                                                std::uint32_t packets) {
  RingMemory memory(slots, kSlotBytes);
  const Ring ring = memory.ring();
  std::vector<std::thread> threads;
  for (std::uint32_t producer = 0; producer < producers; ++producer)
    threads.emplace_back([&ring, producer, packets] { produce(ring, producer, packets); });

  Expected expected(producers, packets);
  const std::uint64_t total = std::uint64_t{producers} * packets;
  for (std::uint64_t position = 0; position < total; ++position) {
    std::uint32_t count;
    const unsigned char* payload;
    while ((payload = device::try_take(ring, position, count)) == nullptr) std::this_thread::yield();
    expected.check(reinterpret_cast<const std::uint32_t*>(payload), count);
    device::release(ring, position);
  }
  for (std::thread& thread : threads) thread.join();
  expected.check_all_came();
  std::uint32_t count;
  CHECK(device::try_take(ring, total, count) == nullptr);
  CHECK(memory.tickets.claimed == total && memory.tickets.issued == total && memory.tail == total);
}

// While the consumer does nothing, producers fill the slots and then are told that the ring is full; each
// packet that it gives back lets exactly one more in.
void a_full_ring_says_so_and_holds_no_more_than_its_slots(std::uint32_t producers, std::uint32_t slots) {
  RingMemory memory(slots, kSlotBytes);
  const Ring ring = memory.ring();
  std::uint64_t published = 0;
  std::uint32_t refused[8] = {}, stop = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&, producer] {
      while (device::system_wide(stop).load(Order::kRelaxed) == 0) {
        std::uint64_t ticket;
        if (!device::try_reserve(ring, ticket)) {
          device::system_wide(refused[producer]).fetch_add(1, Order::kRelaxed);
          std::this_thread::yield();
          continue;
        }
        write_packet(device::payload_of<std::uint32_t>(ring, ticket), producer, 0, kMostRecords);
        device::system_wide(published).fetch_add(1, Order::kRelaxed);
        device::publish(ring, ticket, kMostRecords);
      }
    });
  }
  const auto wait_until_all_are_refused = [&] {
    for (std::uint32_t producer = 0; producer < producers; ++producer) {
      const std::uint32_t before = device::system_wide(refused[producer]).load(Order::kRelaxed);
      while (device::system_wide(refused[producer]).load(Order::kRelaxed) < before + 3)
        std::this_thread::yield();
    }
  };
  const auto in_all = [&] { return device::system_wide(published).load(Order::kRelaxed); };
  for (std::uint64_t position = 0; position < 3 * slots + 2; ++position) {
    while (in_all() < position + slots) std::this_thread::yield();
    wait_until_all_are_refused();
    CHECK(in_all() == position + slots);
    std::uint32_t count;
    while (device::try_take(ring, position, count) == nullptr) std::this_thread::yield();
    CHECK(count == kMostRecords);
    CHECK(in_all() == position + slots);
    device::release(ring, position);
  }
  device::system_wide(stop).store(1, Order::kRelaxed);
  for (std::thread& thread : threads) thread.join();
}

void a_producer_alone_gets_tickets_in_turn_and_is_refused_only_when_full() {
  RingMemory memory(4, kSlotBytes);
  const Ring ring = memory.ring();
  std::uint64_t ticket, position = 0;
  std::uint32_t count;
  for (std::uint64_t next = 0; next < 40; ++next) {
    CHECK(device::try_reserve(ring, ticket) && ticket == next);
    device::publish(ring, ticket, static_cast<std::uint32_t>(next));
    if (next < 3) continue;
    std::uint64_t refused = 99;
    CHECK(!device::try_reserve(ring, refused));
    CHECK(device::try_take(ring, position, count) != nullptr && count == position);
    device::release(ring, position++);
  }
}

void packets_are_taken_in_the_order_of_their_tickets() {
  RingMemory memory(4, kSlotBytes);
  const Ring ring = memory.ring();
  std::uint64_t first, second;
  std::uint32_t count;
  CHECK(device::try_reserve(ring, first) && device::try_reserve(ring, second));
  device::publish(ring, second, 2);
  CHECK(device::try_take(ring, 0, count) == nullptr);
  device::publish(ring, first, device::kMaxRecords);
  CHECK(device::try_take(ring, 0, count) != nullptr && count == device::kMaxRecords);
  CHECK(device::try_take(ring, 1, count) != nullptr && count == 2);
}

void what_is_known_of_the_consumer_never_falls() {
  RingMemory memory(4, kSlotBytes);
  const Ring ring = memory.ring();
  memory.tickets.tail_seen = 5;
  memory.tail = 3;  // read before another producer read 5
  CHECK(device::refresh_tail(ring) == 3);
  CHECK(memory.tickets.tail_seen == 5);
}

// Where the 56 bits of a published word wrap.
void numbers_may_wrap(std::uint64_t start) {
  RingMemory memory(2, kSlotBytes);
  const Ring ring = memory.ring();
  memory.tickets = {start, start, start};
  memory.tail = start;
  for (std::uint64_t before = start - 2; before != start; ++before) device::publish(ring, before, 1);
  std::uint32_t count;
  for (std::uint64_t position = start; position != start + 6; ++position) {
    CHECK(device::try_take(ring, position, count) == nullptr);
    std::uint64_t ticket;
    CHECK(device::try_reserve(ring, ticket) && ticket == position);
    device::publish(ring, ticket, 3);
    CHECK(device::try_take(ring, position, count) != nullptr && count == 3);
    device::release(ring, position);
  }
}

}  // namespace

int main() {
  packets_are_taken_in_the_order_of_their_tickets();
  a_producer_alone_gets_tickets_in_turn_and_is_refused_only_when_full();
  what_is_known_of_the_consumer_never_falls();
  numbers_may_wrap((std::uint64_t{1} << 56) - 3);
  for (std::uint32_t slots : {1, 2, 4}) {
    for (std::uint32_t producers : {1, 2, 3, 4}) {
      every_packet_arrives_once_whole_and_in_its_producers_order(producers, slots, 24000 / producers);
      a_full_ring_says_so_and_holds_no_more_than_its_slots(producers, slots);
    }
  }
  every_packet_arrives_once_whole_and_in_its_producers_order(4, 64, 5000);
}
