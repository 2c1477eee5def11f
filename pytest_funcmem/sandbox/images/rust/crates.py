"""Runs in the Rust image while it is built: compiles crates once, so that code under test only links them.

``compile`` leaves the compiled crates in ``deps`` beside this file and the arguments that name them to the
compiler in ``externs``; ``count`` says how many there are. Cargo compiles some crates more than once (for
build scripts and for programs, or in two versions), so the arguments are those that it gives a program.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = Path("/usr/share/cargo/registry")
FEATURES = {"serde": ["derive"]}

PROJECT = "every_crate"
CONFIG = f"""\
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "{SOURCES}"
"""


def externs_of_program(said: str) -> dict[str, Path]:
    """Crates and their archives as cargo gives them to the compiler of the project's own program."""
    commands = [line.strip()[len("Running `") : -1] for line in said.splitlines() if "Running `" in line]
    words = next(
        words
        for words in map(shlex.split, commands)
        if "--crate-name" in words and words[words.index("--crate-name") + 1] == PROJECT
    )
    found: dict[str, Path] = {}
    for flag, word in zip(words, words[1:]):  # noqa: B905, RUF007 (an image's Python may be old)
        if flag == "--extern":
            name, _, path = word.partition("=")
            found[name] = Path(path)
    return found


def compile_crates(project: Path) -> None:
    """Make a project that depends on all of them, compile it, and keep what it was linked from."""
    names = (HERE / "crates.txt").read_text(encoding="ascii").split()
    lines = [
        "[package]",
        f'name = "{PROJECT}"',
        'version = "0.0.0"',
        'edition = "2021"',
        "",
        "[dependencies]",
    ]
    for name in names:
        features = json.dumps(FEATURES.get(name, []))
        lines.append(f'{name} = {{ version = "*", features = {features} }}')
    # Without debug information archives are a third of the size, and linking is faster.
    lines += ["", "[profile.dev]", "debug = 0", "incremental = false", ""]
    for name, text in (
        ("Cargo.toml", "\n".join(lines)),
        (".cargo/config.toml", CONFIG),
        ("src/main.rs", "fn main() {}\n"),
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["cargo", "build", "--offline", "--verbose", "--message-format=json"],
        cwd=project,
        check=False,
        capture_output=True,
        text=True,
    )
    sys.stderr.write(done.stderr)
    done.check_returncode()
    deps = HERE / "deps"
    deps.mkdir()
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact":
            for path in map(Path, message["filenames"]):
                if path.suffix in (".rlib", ".so"):
                    shutil.copy(path, deps / path.name)
    externs = ["-L", f"dependency={deps}"]
    for name, path in sorted(externs_of_program(done.stderr).items()):
        externs += ["--extern", f"{name}={deps / path.name}"]
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


if __name__ == "__main__":
    main(sys.argv[1])
