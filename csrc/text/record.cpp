#include "text/record.hpp"

#include <algorithm>

namespace motiflux::text {

std::size_t first_record_end(std::string_view text, const Layout& layout, bool in_quotes) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"' && layout.quotes) in_quotes = !in_quotes;
    if (text[at] == '\n' && !in_quotes) return at + 1;
  }
  return 0;
}

std::size_t last_record_end(std::string_view text, const Layout& layout) {
  bool in_quotes = ends_in_quotes(text, layout, false);
  for (std::size_t at = text.size(); at > 0; --at) {
    if (text[at - 1] == '"' && layout.quotes) in_quotes = !in_quotes;
    if (text[at - 1] == '\n' && !in_quotes) return at;
  }
  return 0;
}

// Quotes are only where fields begin and end, or doubled, so their number tells.
bool ends_in_quotes(std::string_view text, const Layout& layout, bool in_quotes) {
  if (!layout.quotes) return false;
  return in_quotes != (std::count(text.begin(), text.end(), '"') % 2 != 0);
}

std::optional<Record> first_record(std::string_view text, const Layout& layout, bool at_end) {
  const char* const begin = text.data();
  const char* at = begin + (text.starts_with("\xef\xbb\xbf") ? 3 : 0);
  const char* const end = begin + text.size();
  Record record{};
  std::string held;
  while (at != end) {
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    std::size_t bytes = first_record_end(rest, layout, false);
    if (bytes == 0) {
      check_record(rest.size(), record.lines_through + 1);
      if (!at_end) return std::nullopt;
      bytes = rest.size();
    }
    check_record(bytes, record.lines_through + 1);
    record.begin = static_cast<std::size_t>(at - begin);
    record.lines_before = record.lines_through;
    const auto keep = [&](std::size_t, std::string_view field, bool quoted) {
      record.fields.emplace_back(quoted ? field : trimmed(field));
    };
    split_record(at, at + bytes, layout, record.lines_through, held, keep);
    record.end = static_cast<std::size_t>(at - begin);
    if (!record.fields.empty()) return record;
  }
  if (!at_end) return std::nullopt;
  record.begin = record.end = text.size();
  return record;
}

}  // namespace motiflux::text
