"""Run hostile code in isolation: Docker, or the embedded namespace sandbox, over one worker program.

Knows nothing of functions, harnesses or verdicts: bytes and files go in, records and an outcome come out.
What comes back is hostile data, whichever sandbox it comes from.
"""
