"""Harnesses of Rust functions: slicing a file, standing in for what it lacks, driving the function."""
