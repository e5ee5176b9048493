// Ends of rings, as Python sees them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "bind_checks.hpp"
#include "ring/answers.hpp"
#include "ring/reader.hpp"
#include "ring/update_writer.hpp"
#include "ring/writer.hpp"

namespace motiflux {

inline device::Ring ring_at(std::uintptr_t tail, std::uintptr_t published, std::uintptr_t payload,
                            std::uint32_t slots, std::uint32_t slot_bytes) {
  return {nullptr,
          reinterpret_cast<std::uint64_t*>(tail),
          reinterpret_cast<std::uint64_t*>(published),
          reinterpret_cast<unsigned char*>(payload),
          slots,
          slot_bytes};
}

// One end of a ring for Python, used by one thread at a time; keeps the owner of its memory alive.
template <class End>
class ExclusiveEnd {
 public:
  ExclusiveEnd(End end, nanobind::object memory) : end_(std::move(end)), memory_(std::move(memory)) {}
  ExclusiveEnd(std::uintptr_t tail, std::uintptr_t published, std::uintptr_t payload, std::uint32_t slots,
               std::uint32_t slot_bytes, std::uint32_t record_words, nanobind::object memory)
      : end_(ring_at(tail, published, payload, slots, slot_bytes), record_words),
        memory_(std::move(memory)) {}

  // A lock: while one exists, no other thread can make one.
  class Use {
   public:
    explicit Use(ExclusiveEnd& owner) : owner_(owner) {
      if (owner.used_.exchange(true)) throw std::runtime_error("another thread uses this end of the ring");
    }
    ~Use() { owner_.used_.store(false); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    End* operator->() { return &owner_.end_; }
    End& operator*() { return owner_.end_; }

   private:
    ExclusiveEnd& owner_;
  };

  std::uint64_t position() const { return end_.position(); }

 private:
  End end_;
  nanobind::object memory_;
  std::atomic<bool> used_{false};
};

using PyReader = ExclusiveEnd<ring::Reader>;
using PyWriter = ExclusiveEnd<ring::Writer>;
using PyUpdateWriter = ExclusiveEnd<ring::UpdateWriter>;

using ToldWords =
    nanobind::ndarray<std::uint64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using LineWords =
    nanobind::ndarray<std::uint64_t, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

// Checks what the answers of a resident kernel are read from.
inline void check_answers(const ring::Reader& reader, const ToldWords& told, const LineWords& lines) {
  const std::size_t count = lines.shape(0);
  require(told.shape(0) == 2, "told must be the words `packets` and `finished`");
  require(lines.shape(1) == 8 && (count & (count - 1)) == 0, "lines must be [a power of two or 0, 8]");
  require(count == 0 || reader.record_words() >= 8, "records must have room for what a line has");
}

}  // namespace motiflux
