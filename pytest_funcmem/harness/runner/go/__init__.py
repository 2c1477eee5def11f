"""The Go runner: a package that a sandbox loads as a program, with nothing but the standard library.

It stands alone and runs on any CPython from 3.9 on, in the image whose toolchain it calls. It knows nothing
of verdicts, of expected outputs, or of the package around it.
"""
