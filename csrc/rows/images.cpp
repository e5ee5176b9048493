#include "rows/images.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <vector>

namespace motiflux::rows {
namespace {

constexpr std::size_t kWidest = 8;  // cells per register
#if defined(__x86_64__)
const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
#endif

// Consecutive rows, and the output of their images.
struct RowBlock {
  const std::uint32_t* cells;
  std::uint32_t* out;
  std::size_t rows;
};

class Writer {
 public:
  Writer(std::span<const std::uint32_t> sources, std::size_t columns) : sources_(sources), columns_(columns) {
    if (columns == 0 || columns > kWidest) return;
    padded_.resize(sources.size() / columns * kWidest);
    for (std::size_t i = 0; i < sources.size(); ++i)
      padded_[i / columns * kWidest + i % columns] = sources[i];
  }

  void write(RowBlock block) const;

 private:
  void cell_by_cell(RowBlock block) const {
    for (std::size_t row = 0; row < block.rows; ++row, block.cells += columns_)
      for (const std::uint32_t source : sources_) *block.out++ = block.cells[source];
  }

#if defined(__x86_64__)
  // A shuffle makes an image of a row. Registers are wider than rows: cells read and written beyond a row
  // belong to the next row and are written again later.
  __attribute__((target("avx2"))) void by_four(const RowBlock& block) const {
    std::uint32_t* out = block.out;
    for (std::size_t row = 0; row < block.rows; ++row) {
      const __m128 cells = _mm_loadu_ps(reinterpret_cast<const float*>(block.cells + row * columns_));
      for (std::size_t image = 0; image < padded_.size(); image += kWidest, out += columns_) {
        const auto* to = reinterpret_cast<const __m128i*>(padded_.data() + image);
        _mm_storeu_ps(reinterpret_cast<float*>(out), _mm_permutevar_ps(cells, _mm_loadu_si128(to)));
      }
    }
  }

  __attribute__((target("avx2"))) void by_eight(const RowBlock& block) const {
    std::uint32_t* out = block.out;
    for (std::size_t row = 0; row < block.rows; ++row) {
      const auto* from = reinterpret_cast<const __m256i*>(block.cells + row * columns_);
      const __m256i cells = _mm256_loadu_si256(from);
      for (std::size_t image = 0; image < padded_.size(); image += kWidest, out += columns_) {
        const auto* to = reinterpret_cast<const __m256i*>(padded_.data() + image);
        const __m256i written = _mm256_permutevar8x32_epi32(cells, _mm256_loadu_si256(to));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), written);
      }
    }
  }
#endif

  std::span<const std::uint32_t> sources_;
  std::size_t columns_;
  std::vector<std::uint32_t> padded_;  // `sources_`, padded to eight per image
};

#if defined(__x86_64__)
void Writer::write(RowBlock block) const {
  // Behind the last rows, nothing may be read or written.
  const std::size_t last = padded_.empty() ? 0 : (kWidest + columns_ - 1) / columns_;
  if (kHasAvx2 && !padded_.empty() && block.rows > last) {
    const RowBlock wide{block.cells, block.out, block.rows - last};
    if (columns_ <= 4)
      by_four(wide);
    else
      by_eight(wide);
    block = {block.cells + wide.rows * columns_, block.out + wide.rows * sources_.size(), last};
  }
  cell_by_cell(block);
}
#else
void Writer::write(RowBlock block) const {
  cell_by_cell(block);
}
#endif

// Writes images as ids, looking up the ids once per row.
class IdWriter {
 public:
  IdWriter(const Block& block, const SomeImages& images, std::span<const std::int64_t> ids, std::int64_t* out)
      : block_(block),
        images_(images),
        ids_(ids),
        out_(out),
        of_each_(images.sources.size() / block.columns) {
    if (block.columns > kWide) return;
    halves_.resize(of_each_ * kWidest);
    for (std::size_t i = 0; i < images.sources.size(); ++i) {
      std::uint32_t* const half = halves_.data() + i / block.columns * kWidest + 2 * (i % block.columns);
      half[0] = 2 * images.sources[i];
      half[1] = 2 * images.sources[i] + 1;
    }
  }

  std::size_t first_row() const { return images_.first / of_each_; }
  std::size_t last_row() const { return (images_.last + of_each_ - 1) / of_each_; }

  // Writes the requested images of the rows [begin, end).
  void write(std::size_t begin, std::size_t end) const {
#if defined(__x86_64__)
    // Registers are wider than rows: cells beyond the rows of this part belong to another thread.
    const bool enough = end - begin > kWide + 2;
    if (kHasAvx2 && enough && block_.columns >= 2 && block_.columns <= kWide) {
      cell_by_cell(begin, begin + 1);
      by_register(begin + 1, end - kWide);
      begin = end - kWide;
    }
#endif
    cell_by_cell(begin, end);
  }

 private:
  static constexpr std::size_t kWide = 4;  // ids per register

  void cell_by_cell(std::size_t begin, std::size_t end) const {
    const std::size_t columns = block_.columns;
    std::int64_t found[kMostColumns];
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t column = 0; column < columns; ++column) found[column] = id(row, column);
      const std::size_t from = std::max(images_.first, row * of_each_);
      const std::size_t to = std::min(images_.last, (row + 1) * of_each_);
      std::int64_t* out = out_ + (from - images_.first) * columns;
      for (std::size_t i = (from - row * of_each_) * columns; i < (to - row * of_each_) * columns; ++i)
        *out++ = found[images_.sources[i]];
    }
  }

#if defined(__x86_64__)
  __attribute__((target("avx2"))) void by_register(std::size_t begin, std::size_t end) const {
    const std::size_t columns = block_.columns;
    std::int64_t* out = out_ + (begin * of_each_ - images_.first) * columns;
    for (std::size_t row = begin; row < end; ++row) {
      const std::int64_t third = columns > 2 ? id(row, 2) : 0, fourth = columns > 3 ? id(row, 3) : 0;
      const __m256i found = _mm256_set_epi64x(fourth, third, id(row, 1), id(row, 0));
      for (std::size_t half = 0; half < of_each_ * kWidest; half += kWidest, out += columns) {
        const auto* to = reinterpret_cast<const __m256i*>(halves_.data() + half);
        const __m256i written = _mm256_permutevar8x32_epi32(found, _mm256_loadu_si256(to));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), written);
      }
    }
  }
#endif

  std::int64_t id(std::size_t row, std::size_t column) const {
    return id_of(ids_, block_.cells[row * block_.columns + column]);
  }

  const Block& block_;
  const SomeImages& images_;
  std::span<const std::int64_t> ids_;
  std::int64_t* out_;
  std::size_t of_each_;
  std::vector<std::uint32_t> halves_;  // of ids, eight per image
};

}  // namespace

void gather_images(const Block& block, const SomeImages& images, std::span<const std::int64_t> ids,
                   std::int64_t* out, const Workers& workers) {
  if (images.first == images.last) return;
  const IdWriter writer(block, images, ids, out);
  const std::size_t first = writer.first_row();
  const std::size_t grain = std::max<std::size_t>(1, kGrainCells / images.sources.size());
  parallel_for(workers, writer.last_row() - first, grain,
               [&](std::size_t begin, std::size_t end) { writer.write(first + begin, first + end); });
}

void write_images(const Block& block, std::span<const std::uint32_t> sources, std::uint32_t* out,
                  const Workers& workers) {
  const Writer writer(sources, block.columns);
  const std::size_t grain = std::max<std::size_t>(1, kGrainCells / std::max<std::size_t>(1, sources.size()));
  parallel_for(workers, block.rows(), grain, [&](std::size_t begin, std::size_t end) {
    writer.write({block.cells.data() + begin * block.columns, out + begin * sources.size(), end - begin});
  });
}

}  // namespace motiflux::rows
