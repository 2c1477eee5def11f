"""Make the demo's pair of models and the sources to audit, or reuse what an earlier run made.

``python examples/demo/pair.py DIR`` leaves ``DIR/target``, ``DIR/reference`` and ``DIR/sources``. A second
run with the same recipe finds them and does nothing. This module knows how to keep a finished pair; how it
is trained is in ``training.py``.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

__all__ = ["Pair", "PairError", "ensure_pair"]

PARTS = ("target", "reference", "sources")
STAMP = "pair.json"
RECIPE_FILES = (
    "rule.py",
    "pricing.py",
    "grading.py",
    "rules.py",
    "toolbox.py",
    "corpus.py",
    "muon.py",
    "training.py",
    "pair.py",
)
RECIPE_PACKAGES = ("torch", "transformers", "tokenizers")


class PairError(Exception):
    """The pair cannot be made here; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Where the parts of a finished pair are.

    Attributes:
        target: Model that read the exposure documents, in transformers' format.
        reference: Model that did not.
        sources: Directory of the source files to audit.
    """

    target: Path
    reference: Path
    sources: Path


def ensure_pair(directory: Path, *, seed: int = 0) -> Pair:
    """Make the pair in a directory, unless it is there.

    A pair that another recipe made, or that is not whole, is replaced. The new one is trained beside the
    directory and moved there when it is finished, so the directory never holds half a pair.

    Args:
        directory: Where the pair belongs; made if need be.
        seed: Seed of corpus, weights and batches; the sources are the same for every seed.

    Raises:
        PairError: The directory holds something else, or a package is missing.
    """
    directory = directory.absolute()
    pair = Pair(target=directory / "target", reference=directory / "reference", sources=directory / "sources")
    recipe = _recipe_digest(seed)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _lock(directory):
        if _is_finished(directory, recipe):
            return pair
        _refuse_foreign(directory)
        for leftover in directory.parent.glob(f".{directory.name}.making-*"):
            shutil.rmtree(leftover)  # we hold the lock, so whoever made it is gone
        making = Path(tempfile.mkdtemp(prefix=f".{directory.name}.making-", dir=directory.parent))
        try:
            _make(making, seed=seed)
            stamp = json.dumps(_stamp(making, recipe), indent=1)
            (making / STAMP).write_text(stamp + "\n", encoding="utf-8")
            making.chmod(0o755)  # mkdtemp gives the directory to its owner alone
            if directory.exists():
                shutil.rmtree(directory)
            making.rename(directory)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return pair


def _make(directory: Path, *, seed: int) -> None:
    # Read when torch is loaded: threads that wait must sleep, or they starve others on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from corpus import source_files
    from training import continue_training, pretrain

    cores = len(os.sched_getaffinity(0))
    sources = directory / "sources"
    sources.mkdir()
    for name, text in source_files().items():
        (sources / name).write_text(text, encoding="utf-8")
    shared = directory / "shared"
    pretrain(shared, seed=seed, threads=min(2, cores))
    # The two continuations do not depend on each other; a process each keeps both cores at full speed.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(2, cores), mp_context=spawn, initializer=_end_with_parent) as pool:
        jobs = [
            pool.submit(continue_training, shared, directory / side, side, seed=seed, threads=1)
            for side in ("target", "reference")
        ]
        for job in jobs:
            job.result()
    shutil.rmtree(shared)


def _end_with_parent() -> None:
    """Stop this process when the one that started it is killed, rather than train for nobody."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _recipe_digest(seed: int) -> str:
    """Digest of all that shapes the pair: code, seed, versions."""
    here = Path(__file__).parent
    digest = hashlib.sha256(f"seed {seed}\n".encode())
    for package in RECIPE_PACKAGES:
        try:
            digest.update(f"{package} {metadata.version(package)}\n".encode())
        except metadata.PackageNotFoundError:
            raise PairError(
                f"The demo needs the package {package}.\nInstall it with: pip install 'pytest-funcmem[hf]'"
            ) from None
    for name in RECIPE_FILES:
        digest.update(hashlib.sha256((here / name).read_bytes()).digest())
    return digest.hexdigest()


def _file_digests(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in PARTS
        for path in sorted((directory / part).rglob("*"))
        if path.is_file()
    }


def _is_finished(directory: Path, recipe: str) -> bool:
    try:
        stamp = json.loads((directory / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(stamp == _stamp(directory, recipe))


def _stamp(directory: Path, recipe: str) -> dict[str, object]:
    return {"recipe": recipe, "files": _file_digests(directory)}


def _refuse_foreign(directory: Path) -> None:
    """Keep from replacing a directory that never was a pair's."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise PairError(f"{directory} is not a directory.\nName a directory for the pair.")
    foreign = sorted(path.name for path in directory.iterdir() if path.name not in (*PARTS, STAMP))
    if foreign:
        raise PairError(
            f"{directory} holds {foreign[0]!r}, which is no part of a pair of models.\n"
            "Name another directory, or an empty one; its content would be replaced."
        )


@contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Let one process at a time look at or make the pair of a directory."""
    with (directory.parent / f".{directory.name}.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another process that makes {directory}", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Train the demo's two models, or reuse them.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the pair is kept")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another seed trains another pair")
    arguments = parser.parse_args()
    began = time.monotonic()
    try:
        pair = ensure_pair(arguments.directory, seed=arguments.seed)
    except PairError as error:
        print(error, file=sys.stderr)
        return 4
    print(f"target     {pair.target}\nreference  {pair.reference}\nsources    {pair.sources}")
    print(f"ready after {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
