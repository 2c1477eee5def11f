"""The HTML report: one file that needs no network, made to open well with thousands of functions."""
