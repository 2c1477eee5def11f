"""The runner of Rust programs: what a sandbox loads to compile harnesses and to run their input states.

It stands alone and runs on any CPython from 3.9 on. It knows nothing of verdicts, of expected outputs, or of
the package around it.
"""
