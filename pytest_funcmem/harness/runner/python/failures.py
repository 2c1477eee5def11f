"""Notes where the function under test failed, so that a search can repair the state."""

from __future__ import annotations

import types
from typing import Any

from .fabrication import fabrication, short_path
from .made_objects import Fabricated


def note_failure(error: BaseException) -> None:
    """Note where the function under test failed, and the keys that a made-up key could have been."""
    trace = error.__traceback__
    failed, last = None, None
    helper: types.CodeType | None = None
    local: dict[str, Any] = {}
    while trace is not None:
        last = trace.tb_frame
        if id(last.f_code) in fabrication.codes:
            helper = None
            failed, local = trace.tb_lineno - fabrication.codes[id(last.f_code)], last.f_locals
        elif failed is not None and helper is None:
            helper = last.f_code
        trace = trace.tb_next
    if failed is not None and helper is not None:
        fabrication.asked.setdefault(("", "helper", helper.co_name, failed))
    if failed is not None:
        fabrication.asked.setdefault(("", "error", "", failed))
        for name, value in list(local.items())[:60]:
            if isinstance(value, Fabricated):
                fabrication.asked.setdefault((short_path(value), "local", name, failed))
    if not isinstance(error, KeyError) or last is None or not error.args:
        return
    key = error.args[0]
    path = short_path(key) if isinstance(key, Fabricated) else ""
    names = set(last.f_code.co_names)
    values = [*last.f_locals.values(), *(last.f_globals[name] for name in last.f_globals if name in names)]
    for value in values:
        if type(value) is dict:
            for known in [item for item in value if type(item) in (str, int)][:12]:
                fabrication.asked.setdefault((path, "key", repr(known), failed if failed is not None else -1))
