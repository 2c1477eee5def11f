"""The programs that run inside a sandbox. They import nothing of this package."""
