"""The ``local`` builder for compiled languages: one search and one proof, and a toolkit for each language."""
