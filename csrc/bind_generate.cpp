// Bindings of the generators, which fill arrays of the caller. The GIL is free meanwhile, and Ctrl-C stops
// them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <optional>
#include <tuple>

#include "bind_checks.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/watched.hpp"
#include "generate/generate.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;

// Below this much work a watching thread costs more than the work.
constexpr std::size_t kInlineItems = 1 << 14;

template <class T>
using OutputArray = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ids = OutputArray<std::uint32_t>;

template <class Work>
void run_drawing(std::size_t items, int threads, Work&& work) {
  if (items < kInlineItems) {
    work(Workers{1, nullptr});
    return;
  }
  run_interruptible([&](const std::atomic<bool>& stop) { work(Workers{threads, &stop}); });
}

template <class T>
std::span<T> as_output(const OutputArray<T>& array) {
  return {array.data(), array.size()};
}

generate::Ends as_ends(const Ids& sources, const Ids& targets) {
  if (sources.size() != targets.size()) throw nb::value_error("sources and targets differ in length");
  return {as_output(sources), as_output(targets)};
}

nb::tuple to_python(generate::Edges&& edges) {
  return nb::make_tuple(to_numpy(std::move(edges.sources)), to_numpy(std::move(edges.targets)));
}

nb::tuple philox(std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t> counter,
                 std::tuple<std::uint32_t, std::uint32_t> key) {
  const auto [c0, c1, c2, c3] = counter;
  const random::Words found = random::philox({{c0, c1, c2, c3}}, std::get<0>(key), std::get<1>(key));
  return nb::make_tuple(found.word[0], found.word[1], found.word[2], found.word[3]);
}

nb::bytes make_permutation(std::uint64_t seed, std::uint32_t stream, std::uint64_t size) {
  if (size == 0) throw nb::value_error("a permutation of one number at least expected");
  const random::Permutation made = random::make_permutation(seed, stream, size);
  return nb::bytes(reinterpret_cast<const char*>(&made), sizeof made);
}

template <class T>
T from_bytes(const nb::bytes& bytes) {
  T value;
  if (bytes.size() != sizeof value) throw nb::value_error("a structure of another size expected");
  std::memcpy(&value, bytes.c_str(), sizeof value);
  return value;
}

void permute(const nb::bytes& permutation, const OutputArray<std::uint32_t>& values, int threads) {
  const auto order = from_bytes<random::Permutation>(permutation);
  for (const std::uint32_t value : as_output(values))
    if (value >= order.size) throw nb::value_error("numbers below the size of the permutation expected");
  run_drawing(values.size(), threads, [&](const Workers& workers) {
    parallel_for(workers, values.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        values.data()[i] = static_cast<std::uint32_t>(random::permuted(order, values.data()[i]));
    });
  });
}

void draw_rmat(const nb::bytes& parameters, std::uint64_t first, const Ids& sources, const Ids& targets,
               int threads) {
  const auto rmat = from_bytes<generate::Rmat>(parameters);
  if (rmat.levels == 0 || rmat.levels > generate::kMaxLevels)
    throw nb::value_error("1 to 31 levels expected");
  const generate::Ends out = as_ends(sources, targets);
  run_drawing(sources.size(), threads,
              [&](const Workers& workers) { generate::draw_rmat(rmat, first, out, workers); });
}

void draw_pairs(std::uint64_t seed, std::uint64_t vertices, bool directed, std::uint64_t first,
                const Ids& sources, const Ids& targets, int threads) {
  if (vertices < 2 && sources.size() != 0) throw nb::value_error("two vertices at least expected");
  const generate::Ends out = as_ends(sources, targets);
  run_drawing(sources.size(), threads, [&](const Workers& workers) {
    generate::draw_pairs(seed, vertices, directed, first, out, workers);
  });
}

nb::tuple skip_pairs(std::uint64_t seed, std::uint64_t vertices, bool directed, double probability,
                     std::uint64_t block, std::uint64_t first, std::uint64_t last, int threads) {
  if (!(probability > 0 && probability < 1) || block == 0 || first > last)
    throw nb::value_error("a probability between 0 and 1, and blocks, expected");
  generate::Edges found;
  run_drawing(kInlineItems, threads, [&](const Workers& workers) {
    found = generate::skip_pairs(seed, vertices, directed, probability, block, first, last, workers);
  });
  return to_python(std::move(found));
}

// Vertices, power, and the permutation of ids by `make_permutation`; empty for none.
using PySkew = std::tuple<std::uint64_t, double, nb::bytes>;

generate::Skew as_skew(const PySkew& given) {
  const auto& [vertices, power, ids] = given;
  generate::Skew skew{vertices, power, ids.size() != 0, {}};
  if (skew.permutes) skew.ids = from_bytes<random::Permutation>(ids);
  if (vertices < 2 || (skew.permutes && skew.ids.size != vertices))
    throw nb::value_error("ids of all vertices, two at least, expected");
  return skew;
}

// The numbers to draw: those given, or from `first` on.
using PyNumbers = std::optional<InputArray<std::uint64_t>>;

generate::Numbers as_numbers(std::uint64_t first, const PyNumbers& given, std::size_t size) {
  if (!given) return {first, {}};
  require(as_span(*given).size() == size, "a number for each item expected");
  return {first, as_span(*given)};
}

void draw_skewed(std::uint64_t seed, std::uint32_t stream, const PySkew& source, const PySkew& target,
                 bool directed, std::uint64_t first, const Ids& sources, const Ids& targets, int threads,
                 const PyNumbers& numbers) {
  const generate::Skew from = as_skew(source), to = as_skew(target);
  const generate::Ends out = as_ends(sources, targets);
  const generate::Numbers drawn = as_numbers(first, numbers, sources.size());
  run_drawing(sources.size(), threads, [&](const Workers& workers) {
    generate::draw_skewed(seed, stream, from, to, directed, drawn, out, workers);
  });
}

void draw_units(std::uint64_t seed, std::uint32_t stream, std::uint64_t first, const OutputArray<double>& out,
                int threads, const PyNumbers& numbers) {
  const generate::Numbers drawn = as_numbers(first, numbers, out.size());
  run_drawing(out.size(), threads, [&](const Workers& workers) {
    generate::draw_units(seed, stream, drawn, as_output(out), workers);
  });
}

void draw_codes(std::uint64_t seed, std::uint32_t stream, const InputArray<std::uint32_t>& ends,
                std::uint64_t first, const Ids& out, int threads, const PyNumbers& numbers) {
  const generate::Numbers drawn = as_numbers(first, numbers, out.size());
  run_drawing(out.size(), threads, [&](const Workers& workers) {
    generate::draw_codes(seed, stream, as_span(ends), drawn, as_output(out), workers);
  });
}

std::size_t keep_distinct(const Ids& sources, const Ids& targets, int threads) {
  const generate::Ends edges = as_ends(sources, targets);
  std::size_t kept = 0;
  run_drawing(sources.size(), threads,
              [&](const Workers& workers) { kept = generate::keep_distinct(edges, workers); });
  return kept;
}

std::size_t keep_first_at_each(const Ids& sources, const Ids& targets, std::uint64_t vertices,
                               std::uint32_t most, int threads) {
  const generate::Ends edges = as_ends(sources, targets);
  const auto all_known = [&](std::span<const std::uint32_t> ids) {
    return std::ranges::all_of(ids, [&](std::uint32_t id) { return id < vertices; });
  };
  require(all_known(edges.sources) && all_known(edges.targets), "ids of vertices expected");
  std::size_t kept = 0;
  run_drawing(sources.size(), threads, [&](const Workers& workers) {
    kept = generate::keep_first_at_each(edges, vertices, most, workers);
  });
  return kept;
}

}  // namespace

void bind_generate(nb::module_& module) {
  module.def("philox", &philox, nb::arg("counter"), nb::arg("key"));
  module.def("make_permutation", &make_permutation, nb::arg("seed"), nb::arg("stream"), nb::arg("size"));
  module.def("permute", &permute, nb::arg("permutation"), nb::arg("values"), nb::arg("threads"));
  module.def("draw_rmat", &draw_rmat, nb::arg("parameters"), nb::arg("first"), nb::arg("sources"),
             nb::arg("targets"), nb::arg("threads"));
  module.def("draw_pairs", &draw_pairs, nb::arg("seed"), nb::arg("vertices"), nb::arg("directed"),
             nb::arg("first"), nb::arg("sources"), nb::arg("targets"), nb::arg("threads"));
  module.def("skip_pairs", &skip_pairs, nb::arg("seed"), nb::arg("vertices"), nb::arg("directed"),
             nb::arg("probability"), nb::arg("block"), nb::arg("first"), nb::arg("last"), nb::arg("threads"));
  module.def("draw_skewed", &draw_skewed, nb::arg("seed"), nb::arg("stream"), nb::arg("source"),
             nb::arg("target"), nb::arg("directed"), nb::arg("first"), nb::arg("sources"), nb::arg("targets"),
             nb::arg("threads"), nb::arg("numbers") = nb::none());
  module.def("draw_units", &draw_units, nb::arg("seed"), nb::arg("stream"), nb::arg("first"), nb::arg("out"),
             nb::arg("threads"), nb::arg("numbers") = nb::none());
  module.def("draw_codes", &draw_codes, nb::arg("seed"), nb::arg("stream"), nb::arg("ends"), nb::arg("first"),
             nb::arg("out"), nb::arg("threads"), nb::arg("numbers") = nb::none());
  module.def("keep_first_at_each", &keep_first_at_each, nb::arg("sources"), nb::arg("targets"),
             nb::arg("vertices"), nb::arg("most"), nb::arg("threads"));
  module.def("keep_distinct", &keep_distinct, nb::arg("sources"), nb::arg("targets"), nb::arg("threads"));
}

}  // namespace motiflux
