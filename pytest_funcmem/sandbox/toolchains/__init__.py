"""Compiling and running code of compiled languages in a sandbox: what to call, with which limits."""
