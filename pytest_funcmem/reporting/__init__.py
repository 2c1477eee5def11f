"""Finished records made readable: for people on a terminal, for programs as JSON.

The room gets records and settings. It knows neither where they come from nor pytest.
"""
