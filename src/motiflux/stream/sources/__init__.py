"""Where updates come from: text, tables, rows of the program."""
