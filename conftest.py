"""Where the test suite finds its data, and the pair of models that it audits."""

from __future__ import annotations

pytest_plugins = ["pytester"]
