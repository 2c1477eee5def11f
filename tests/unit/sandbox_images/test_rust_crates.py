"""What the script that compiles the Rust image's crates reads off cargo."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest_funcmem.sandbox.images as images

SAID = """\
   Compiling libc v0.2.139
     Running `CARGO=/usr/bin/cargo rustc --crate-name libc --edition=2015 lib.rs --extern x=/t/libx-0.rlib`
     Running `CARGO=/usr/bin/cargo CARGO_PKG_AUTHORS='A B' rustc --crate-name every_crate --edition=2021 \
src/main.rs --crate-type bin -L dependency=/t/deps --extern libc=/t/deps/liblibc-2.rlib \
--extern md5=/t/deps/libmd5-7.rlib --extern serde_derive=/t/deps/libserde_derive-1.so`
    Finished dev
"""


def crates_script() -> ModuleType:
    path = Path(images.__file__).parent / "rust" / "crates.py"
    spec = importlib.util.spec_from_file_location("rust_image_crates", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_crate_is_named_once_as_a_program_gets_it() -> None:
    assert crates_script().externs_of_program(SAID) == {
        "libc": Path("/t/deps/liblibc-2.rlib"),
        "md5": Path("/t/deps/libmd5-7.rlib"),
        "serde_derive": Path("/t/deps/libserde_derive-1.so"),
    }
