"""Where matches go: files, standard output."""
