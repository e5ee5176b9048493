// Memory of rows: blocks of words, of a few sizes, in arenas.
//
//   arena   | block | block | ... | free |     many blocks, each as long as its capacity asks for
//   arena   | block                      |     one long block: it is freed with its block
//
// An arena begins with a page, so that a device can be given all of it (dynamic/row_reader.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace motiflux::dynamic {

// Memory of whole pages, which stays where it is until nobody holds it.
class Arena {
 public:
  explicit Arena(std::size_t words);
  // Memory of somebody else, which is only read.
  Arena(const std::uint32_t* data, std::size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::uint32_t* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // No other arena of the process has this number, now or later; addresses are used again.
  std::uint64_t number() const { return number_; }
  bool is_lent() const { return is_lent_; }

 private:
  std::uint32_t* data_;
  std::size_t bytes_;
  std::uint64_t number_;
  bool is_lent_ = false;
};

using Arenas = std::vector<std::shared_ptr<const Arena>>;

// Blocks of one capacity have equally many words.
class RowBlocks {
 public:
  std::uint32_t* take(std::uint32_t capacity, std::size_t words);
  void give_back(std::uint32_t* block, std::uint32_t capacity, std::size_t words);
  // Memory for many blocks, `words` together, none of them large.
  std::uint32_t* take_many(std::size_t words);
  // Whether a block has an arena of its own.
  static bool is_large(std::size_t words);

  // There may be as many bytes more in time: chunks are as large as if there were.
  void expect(std::size_t bytes) { expected_ = bytes; }
  std::size_t bytes() const { return bytes_; }
  Arenas arenas() const;

 private:
  std::vector<std::shared_ptr<const Arena>> chunks_;
  std::unordered_map<const std::uint32_t*, std::shared_ptr<const Arena>> alone_;  // by its block
  std::uint32_t* next_ = nullptr;
  std::size_t left_ = 0, bytes_ = 0, expected_ = 0;
  std::array<std::vector<std::uint32_t*>, 64> free_{};  // by size_class()
};

}  // namespace motiflux::dynamic
