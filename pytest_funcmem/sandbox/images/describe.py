"""Runs in an image while it is built: notes the versions of its toolchain where the host will look for them.

Arguments are ``NAME=COMMAND``; the first line that a command says is its version.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parent / "toolchain.json"


def main(arguments: list[str]) -> None:
    """Run the commands and write what they said; any that fails fails the build."""
    versions = {}
    for argument in arguments:
        name, _, command = argument.partition("=")
        said = subprocess.run(
            shlex.split(command), check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        versions[name] = said.stdout.strip().splitlines()[0]
    TARGET.write_text(json.dumps(versions, sort_keys=True), encoding="utf-8")


main(sys.argv[1:])
