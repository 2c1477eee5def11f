"""Room of the package; see ARCHITECTURE.md."""
