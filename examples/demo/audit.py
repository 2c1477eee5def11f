"""The demo: train a pair of models (once), audit it with pytest, show what leaks.

``python examples/demo/audit.py [PYTEST ARGUMENTS]``. The audit is an ordinary pytest run, whose command is
printed; it ends with exit code 1 where leaks were found, as a gate should, and then this script ends with 0,
since finding leaks is what the demo is there to show.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from pair import PairError, ensure_pair

LEAKS_FOUND = 1
PLACE = Path(".cache") / "demo"


def main() -> int:
    """Train and audit."""
    try:
        ensure_pair(PLACE / "pair")
    except PairError as error:
        print(error, file=sys.stderr)
        return 4
    pair = PLACE / "pair"
    report, page = PLACE / "audit.jsonl", PLACE / "audit.html"
    command = [
        "pytest",
        f"--funcmem-model={pair / 'target'}",
        f"--funcmem-reference={pair / 'reference'}",
        f"--funcmem-source={pair / 'sources'}",
        f"--funcmem-store={PLACE / 'store'}",
        f"--funcmem-report=json:{report}",
        f"--funcmem-report=html:{page}",
        *sys.argv[1:],
    ]
    print(f"\n$ {shlex.join(command)}", flush=True)
    code = subprocess.call([sys.executable, "-m", *command])
    if code != LEAKS_FOUND:
        print(f"\nThe audit was to find leaks and exit with {LEAKS_FOUND}; it exited with {code}.")
        return code or 1
    print(
        "\npytest exited with 1: the target leaks functions that the reference does not know, and a release"
        f"\ngate would stop here. The same results, one JSON object a line, are in {report}."
        "\n\nTo see what leaked and how, code beside code and output beside output, open in a browser:"
        f"\n{page.resolve()}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
