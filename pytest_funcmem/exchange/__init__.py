"""Harnesses as directories: to read, review, edit, commit, and to rerun a verdict from nothing else."""
