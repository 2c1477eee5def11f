"""The rooms import downward only, and the plugin is light until it is switched on."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_funcmem

PACKAGE = Path(pytest_funcmem.__file__).parent
ROOMS = (
    "core",
    "languages",
    "corpora",
    "models",
    "sandbox",
    "harness",
    "metrics",
    "verdict",
    "store",
    "audit",
    "reporting",
    "exchange",
    "studies",
    "plugin",
    "cli",
)
HEAVY = (
    "torch",
    "transformers",
    "docker",
    "tree_sitter",
    "anthropic",
    "scipy",
    "sacrebleu",
    "pyarrow",
    "rich",
    "matplotlib",
)


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "pytest_funcmem" and len(parts) > 1 else None


def imports_of(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # What is sent into the sandbox as text has no package's name there.
            is_sent = bool({"worker", "runner"} & set(path.parts))
            assert node.level == 0 or is_sent, f"{path}: hides the room it imports from"
            found.append(node.module or "" if node.level == 0 else "")
    return found


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def own_room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def test_every_module_stands_in_a_room() -> None:
    assert len(modules()) > 30
    assert {own_room(path) for path in modules()} <= set(ROOMS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downward(path: Path) -> None:
    here = ROOMS.index(own_room(path))
    for module in imports_of(path):
        room = room_of(module)
        assert room is None or ROOMS.index(room) <= here, f"{path} imports {module}"


def test_core_uses_the_standard_library_only() -> None:
    for path in (PACKAGE / "core").glob("*.py"):
        for module in imports_of(path):
            top = module.split(".")[0]
            assert top in sys.stdlib_module_names or room_of(module) in (None, "core"), f"{path}: {module}"
            assert top in sys.stdlib_module_names or top == "pytest_funcmem", f"{path}: {module}"


def test_only_the_plugin_imports_pytest() -> None:
    for path in modules():
        if own_room(path) == "plugin":
            continue
        tops = {module.split(".")[0] for module in imports_of(path)}
        assert not tops & {"pytest", "_pytest"}, path


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, pytest\n"
        "code = pytest.main(['--help'])\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "assert code == 0, code\n"
        "assert 'pytest_funcmem.plugin' in sys.modules\n"
        "print('LOADED', loaded)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--funcmem-tau-func" in done.stdout
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_an_ordinary_run_loads_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "test_ordinary.py").write_text(
        f"import sys\ndef test_it():\n    assert not [n for n in {HEAVY!r} if n in sys.modules]\n"
        "    assert 'pytest_funcmem.audit' not in sys.modules\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_command_line_loads_nothing_but_its_parser() -> None:
    """``funcmem audit`` may be started in the tree that it audits: what it imports could be the tree's."""
    heavy = (*HEAVY, "httpx", "numpy", "pytest")
    code = (
        "import sys, pytest_funcmem.cli\n"
        f"print('LOADED', [name for name in {heavy!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "LOADED []"
