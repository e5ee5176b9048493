"""The bytes of files: compression, progress, replacement of a file as a whole."""
