"""Runs in the Rust image while it is built: compiles crates once, so that code under test only links them.

``compile`` leaves the compiled crates in ``deps`` beside this file and the arguments that name them to the
compiler in ``externs``; ``count`` says how many there are.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = Path("/usr/share/cargo/registry")
FEATURES = {"serde": ["derive"]}

CONFIG = f"""\
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "{SOURCES}"
"""


def crate_name(source: Path) -> str:
    """Name that a crate's manifest gives it."""
    lines = (source / "Cargo.toml").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("name = ")).split('"')[1]


def compile_crates(project: Path) -> None:
    """Make a project that depends on all of them, compile it, and keep what it was linked from."""
    names = (HERE / "crates.txt").read_text(encoding="ascii").split()
    lines = ["[package]", 'name = "all"', 'version = "0.0.0"', 'edition = "2021"', "", "[dependencies]"]
    for name in names:
        features = json.dumps(FEATURES.get(name, []))
        lines.append(f'{name} = {{ version = "*", features = {features} }}')
    # Without debug information archives are a third of the size, and linking is faster.
    lines += ["", "[profile.dev]", "debug = 0", "incremental = false", ""]
    for name, text in (
        ("Cargo.toml", "\n".join(lines)),
        (".cargo/config.toml", CONFIG),
        ("src/lib.rs", ""),
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["cargo", "build", "--offline", "--message-format=json"],
        cwd=project,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    deps = HERE / "deps"
    deps.mkdir()
    externs = ["-L", f"dependency={deps}"]
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact":
            continue
        source = Path(message["manifest_path"]).parent
        for path in map(Path, message["filenames"]):
            if path.suffix not in (".rlib", ".so") or source == project:
                continue
            shutil.copy(path, deps / path.name)
            if crate_name(source) in names:
                externs += ["--extern", f"{message['target']['name'].replace('-', '_')}={deps / path.name}"]
    (HERE / "externs").write_text("\n".join(externs) + "\n", encoding="utf-8")


def main(action: str) -> None:
    """Do one of the two."""
    if action == "compile":
        project = Path("/tmp/crates")
        compile_crates(project)
        shutil.rmtree(project)
    else:
        externs = (HERE / "externs").read_text(encoding="utf-8").split().count("--extern")
        sys.stdout.write(f"{externs}\n")


main(sys.argv[1])
