"""The builder that needs no language model: it reads the original, guesses inputs, searches, and proves."""
