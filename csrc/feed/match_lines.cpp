#include "feed/match_lines.hpp"

#include <array>
#include <charconv>

#include "text/cell.hpp"
#include "text/utf8.hpp"

namespace motiflux::feed {
namespace {

using dynamic::Vertex;

constexpr std::size_t kLongest = 24;  // characters of an integer

// Appends values to a line.
class Writer {
 public:
  Writer(std::string& text, char separator) : text_(text), separator_(separator) {}

  void put(std::string_view piece) { text_ += piece; }
  void number(std::int64_t value) {
    std::array<char, kLongest> digits;
    text_.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  }
  void name(std::string_view value) {
    if (separator_ != 0)
      text::append_cell(text_, value, separator_);
    else
      text::append_json(text_, value);
  }

 private:
  std::string& text_;
  char separator_;
};

void put_change(Writer& writer, const BatchFacts& facts, std::size_t row) {
  const text::UpdateBatch& updates = facts.updates;
  const auto id = [&](std::int64_t value) {
    if (facts.names == nullptr)
      writer.number(value);
    else
      writer.name(facts.names->at(static_cast<std::size_t>(value)));
  };
  writer.put(R"(, "change": {"op": ")");
  writer.put(updates.inserts[row] != 0 ? "+" : "-");
  writer.put(R"(", "src": )");
  id(updates.source[row]);
  writer.put(R"(, "dst": )");
  id(updates.target[row]);
  if (!updates.label.empty()) {
    writer.put(R"(, "label": )");
    writer.number(updates.label[row]);
  }
  writer.put("}");
}

// Puts a vertex; false if its id has no form in UTF-8.
bool put_vertex(Writer& writer, const dynamic::VertexIds& ids, Vertex vertex) {
  if (ids.strings.size() == 0) {
    writer.number(ids.integers.at(vertex));
    return true;
  }
  const std::string_view name = ids.strings.at(vertex);
  if (!text::is_utf8(name)) return false;
  writer.name(name);
  return true;
}

}  // namespace

bool append_lines(const LineFormat& format, const dynamic::Found& found, const dynamic::VertexIds& ids,
                  const BatchFacts& facts, std::string& text) {
  Writer writer(text, format.separator);
  for (const LineFormat::OfPattern& pattern : format.patterns) {
    if (pattern.slot >= found.patterns.size()) continue;
    const dynamic::Found::OfPattern& matches = found.patterns[pattern.slot];
    const std::size_t width = pattern.parts.size() - 1;
    const Vertex* vertex = matches.rows.data();
    std::uint64_t rows = 0;
    for (const dynamic::Found::Run& run : matches.runs) rows += run.rows;
    if (rows * width != matches.rows.size()) return false;
    for (const dynamic::Found::Run& run : matches.runs) {
      const bool moved = !facts.in_batches && !facts.origins.empty();
      const auto at =
          moved ? static_cast<std::size_t>(facts.origins[run.update]) : static_cast<std::size_t>(run.update);
      for (std::uint64_t row = 0; row < run.rows; ++row) {
        writer.put(format.head);
        writer.number(run.positive ? 1 : -1);
        writer.put(format.middle);
        writer.number(facts.first + static_cast<std::int64_t>(at));
        for (std::size_t level = 0; level < width; ++level) {
          writer.put(pattern.parts[level]);
          if (!put_vertex(writer, ids, *vertex++)) return false;
        }
        writer.put(pattern.parts[width]);
        if (format.changes && !facts.in_batches) put_change(writer, facts, at);
        writer.put(format.tail);
      }
    }
  }
  return true;
}

}  // namespace motiflux::feed
