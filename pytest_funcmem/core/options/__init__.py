"""Options: what one is (``option``), all of them (``table``), what an audit makes of them (``settings``)."""

from __future__ import annotations

from pytest_funcmem.core.options.option import Option, parse_value
from pytest_funcmem.core.options.settings import PRESETS, Settings, settings_from
from pytest_funcmem.core.options.table import OPTIONS

__all__ = ["OPTIONS", "PRESETS", "Option", "Settings", "parse_value", "settings_from"]
