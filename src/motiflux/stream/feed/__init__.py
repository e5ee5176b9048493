"""Updates that several threads write to a monitor, and the answers that they take."""
