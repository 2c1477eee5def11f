"""Sent into the sandbox as one program: compiles C, describes it, runs it on input states.

Python 3.9 and the standard library only; nothing of this package is imported but its own modules.
"""
