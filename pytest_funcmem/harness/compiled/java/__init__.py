"""Java: what the host asks of the harness in its image, and what it edits in a function by itself."""
