"""From text to a pattern. Imported when the first text is parsed."""
