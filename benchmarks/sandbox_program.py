"""The candidate of ``sandbox.py``: a small function, called on ten inputs; or a flood of output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable


def main(payload: bytes, emit: Callable[[bytes], None]) -> None:
    """Run the function of the payload on its inputs, or print as many MiB as it says."""
    request = json.loads(payload)
    if "flood_mib" in request:
        piece = b"x" * (1 << 20)
        for _ in range(request["flood_mib"]):
            os.write(1, piece)
        return
    namespace: dict[str, object] = {"__name__": "candidate"}
    exec(compile(request["code"], "<candidate>", "exec"), namespace)
    function = namespace[request["function"]]
    assert callable(function)
    for arguments in request["inputs"]:
        emit(json.dumps(function(*arguments)).encode())
    emit(b"done")
