"""The program that runs inside the isolation, the same one in every sandbox.

A supervisor talks to the host; a zygote, which never sees a request or a result, forks each candidate.
These files are sent into the isolation as text and run on any CPython from 3.9 on, so they use the standard
library only, import one another relatively, and must not import anything else of this package.
"""
