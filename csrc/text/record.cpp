#include "text/record.hpp"

#include <algorithm>

namespace motiflux::text {
namespace {

// The state after one more character. Quotes are only at the ends of fields, or doubled, so that their parity
// gives the state; quotes in comments do not count.
Within after(char c, const Layout& layout, Within within) {
  if (c == '\n' && within != Within::kQuotes) return Within::kStart;
  if (within == Within::kComment) return within;
  if (c == '"' && layout.quotes) return within == Within::kQuotes ? Within::kFields : Within::kQuotes;
  if (within != Within::kStart) return within;
  if (layout.comments && (c == '#' || c == '%')) return Within::kComment;
  return is_blank(c) && c != layout.separator ? within : Within::kFields;
}

}  // namespace

std::size_t first_record_end(std::string_view text, const Layout& layout, Within begins) {
  Within within = begins;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n' && within != Within::kQuotes) return at + 1;
    within = after(text[at], layout, within);
  }
  return 0;
}

std::size_t last_record_end(std::string_view text, const Layout& layout) {
  const bool quotes = layout.quotes && text.find('"') != std::string_view::npos;
  if (quotes && layout.comments) {
    std::size_t end = 0;
    for (std::size_t more; (more = first_record_end(text.substr(end), layout)) != 0;) end += more;
    return end;
  }
  bool in_quotes = quotes && end_of(text, layout) == Within::kQuotes;
  for (std::size_t at = text.size(); at > 0; --at) {
    if (text[at - 1] == '"' && quotes) in_quotes = !in_quotes;
    if (text[at - 1] == '\n' && !in_quotes) return at;
  }
  return 0;
}

Within end_of(std::string_view text, const Layout& layout, Within begins) {
  if (!layout.quotes) return Within::kFields;  // only the state of quotes matters
  if (!layout.comments) {
    const bool odd = std::count(text.begin(), text.end(), '"') % 2 != 0;
    return odd != (begins == Within::kQuotes) ? Within::kQuotes : Within::kFields;
  }
  for (const char c : text) begins = after(c, layout, begins);
  return begins;
}

std::optional<Record> first_record(std::string_view text, const Layout& layout, bool at_end) {
  const char* const begin = text.data();
  const char* at = begin + (text.starts_with("\xef\xbb\xbf") ? 3 : 0);
  const char* const end = begin + text.size();
  Record record{};
  std::string unquoted;
  while (at != end) {
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    std::size_t bytes = first_record_end(rest, layout);
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
    split_record(at, at + bytes, layout, record.lines_through, unquoted, keep);
    record.end = static_cast<std::size_t>(at - begin);
    if (!record.fields.empty()) return record;
  }
  if (!at_end) return std::nullopt;
  record.begin = record.end = text.size();
  return record;
}

}  // namespace motiflux::text
