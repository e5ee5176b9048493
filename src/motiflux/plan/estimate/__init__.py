"""What plans are expected to give and to take."""
