"""Finds the files of a checkpoint and says exactly which ones they are, before a weight is loaded.

Knows directories, GGUF files and the model hub's cache; knows nothing of tensors. Whatever is wrong with the
files is told here, in terms of the files.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_funcmem.core.digests import digest
from pytest_funcmem.core.errors import MissingExtraError, ModelSpecError
from pytest_funcmem.models.spec import ModelSpec

__all__ = ["Checkpoint", "find_checkpoint", "tokenizer_files_digest", "weight_files"]

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")
_HUB_TIMEOUT_S = 5.0
_HUB_FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The files of one model.

    Attributes:
        directory: Where they are.
        gguf: Name of the GGUF file that holds the weights, else None.
        tokenizer_in_gguf: Whether the tokenizer too comes out of that file.
        revision: ``sha256:…`` over the contents of configuration and weights, or ``commit:…`` of a hub id.
    """

    directory: Path
    gguf: str | None
    tokenizer_in_gguf: bool
    revision: str


def find_checkpoint(spec: ModelSpec, *, hashed: bool = True) -> Checkpoint:
    """Locate a checkpoint and check that its parts are there.

    Args:
        spec: A parsed ``hf:`` SPEC.
        hashed: Whether to read the weights to know the revision; without, it is "" for a checkpoint on disk.

    Raises:
        ModelSpecError: There is nothing there, or it is no checkpoint with weights and tokenizer.
        MissingExtraError: It is a GGUF file and the package that reads these is not installed.
    """
    path = Path(spec.location).expanduser()
    if path.exists():
        if spec.revision is not None:
            raise ModelSpecError(
                f"A checkpoint on disk has no revisions, so {spec.revision!r} cannot be chosen.",
                where=spec.text,
                remedy=f"Name the directory of the wanted checkpoint, and leave out '@{spec.revision}'.",
            )
        if path.is_file():
            return _gguf(spec, path.parent, path.name, hashed=hashed)
        return _directory(spec, path, hashed=hashed)
    if not spec.may_be_hub_id or spec.location.startswith((".", "/", "~")):
        raise _missing(spec, "there is no such file or directory")
    directory, commit = _hub_snapshot(spec)
    found = _directory(spec, directory, hashed=False)
    return Checkpoint(
        directory=found.directory,
        gguf=found.gguf,
        tokenizer_in_gguf=found.tokenizer_in_gguf,
        revision=f"commit:{commit}",
    )


def _missing(spec: ModelSpec, why: str) -> ModelSpecError:
    return ModelSpecError(
        f"The model {spec.location!r} was not found: {why}.",
        where=spec.text,
        expected="a directory with config.json, weights and tokenizer, a .gguf file, or a hub id",
        remedy="Check the path; relative paths start at the current directory.",
    )


def _directory(spec: ModelSpec, directory: Path, *, hashed: bool = True) -> Checkpoint:
    weights = _plain_weights(directory)
    ggufs = sorted(directory.glob("*.gguf"))
    if ggufs and not weights:
        if len(ggufs) > 1:
            raise ModelSpecError(
                f"The directory holds {len(ggufs)} GGUF files.",
                where=str(directory),
                expected="one, or a SPEC that names the file",
                remedy=f"Write hf:{ggufs[0]}, or name another of them.",
            )
        return _gguf(spec, directory, ggufs[0].name, hashed=hashed)
    config = directory / "config.json"
    if not config.is_file():
        if (directory / "adapter_config.json").is_file():
            raise ModelSpecError(
                "The directory holds an adapter (LoRA or like it), not a whole model.",
                where=str(directory),
                remedy="Merge the adapter into its base model and save that.",
            )
        raise ModelSpecError(
            "The directory is no checkpoint: it has no config.json.",
            where=str(directory),
            expected="what save_pretrained() writes: config.json, weights and tokenizer, or one .gguf file",
            remedy="Name the directory that holds them.",
        )
    try:
        kind: Any = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ModelSpecError(
            f"The model's config.json cannot be read: {exc}.",
            where=str(config),
            remedy="Copy the checkpoint again.",
        ) from exc
    if not isinstance(kind, dict) or "model_type" not in kind:
        raise ModelSpecError(
            "The model's config.json does not say its model_type.",
            where=str(config),
            expected='a JSON object with "model_type", such as "llama"',
            remedy="Name the directory of a transformers checkpoint.",
        )
    if not weights:
        raise ModelSpecError(
            "The directory has a config.json but no weights.",
            where=str(directory),
            expected="*.safetensors, pytorch_model*.bin or one .gguf file",
            remedy="Copy the checkpoint again, large files included.",
        )
    if not any((directory / name).is_file() for name in (*_TOKENIZER_FILES, "tokenizer_config.json")):
        raise ModelSpecError(
            "The directory has a model but no tokenizer.",
            where=str(directory),
            expected="one of " + ", ".join(_TOKENIZER_FILES),
            remedy=f"Save the model's tokenizer there: tokenizer.save_pretrained({str(directory)!r}).",
        )
    for weight in weights:
        _refuse_pointer(weight)
    parts = [*weights, config, directory / "generation_config.json"]
    return Checkpoint(
        directory=directory,
        gguf=None,
        tokenizer_in_gguf=False,
        revision=_contents(parts) if hashed else "",
    )


def _gguf(spec: ModelSpec, directory: Path, name: str, *, hashed: bool = True) -> Checkpoint:
    path = directory / name
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic != b"GGUF":
        raise ModelSpecError(
            "The file is no GGUF file.",
            where=str(path),
            expected="a checkpoint directory, or a file that begins with 'GGUF'",
            remedy="Name the directory that holds config.json and the weights.",
        )
    for package in ("gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError.for_package(package, extra="gguf", purpose=f"to read {path}")
    own = any((directory / file).is_file() for file in _TOKENIZER_FILES)
    return Checkpoint(
        directory=directory,
        gguf=name,
        tokenizer_in_gguf=not own,
        revision=_contents([path]) if hashed else "",
    )


def _refuse_pointer(path: Path) -> None:
    with path.open("rb") as stream:
        head = stream.read(64)
    if head.startswith(b"version https://git-lfs"):
        raise ModelSpecError(
            "The weights are a Git LFS pointer, not the weights themselves.",
            where=str(path),
            remedy="Fetch them with 'git lfs pull'.",
        )


def weight_files(checkpoint: Checkpoint) -> list[Path]:
    """The files that hold the weights."""
    if checkpoint.gguf is not None:
        return [checkpoint.directory / checkpoint.gguf]
    return _plain_weights(checkpoint.directory)


def _plain_weights(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.safetensors")) or sorted(directory.glob("pytorch_model*.bin"))


def tokenizer_files_digest(checkpoint: Checkpoint) -> str:
    """Digest over the small files beside the weights, among them all that a tokenizer is made of."""
    small = [
        path
        for path in checkpoint.directory.iterdir()
        if path.suffix in (".json", ".txt", ".model", ".jinja") and path.is_file()
    ]
    return _contents(small)


def _contents(parts: list[Path]) -> str:
    """Digest over the names and contents of files; the place of the checkpoint does not enter it."""
    sums = []
    for part in parts:
        if not part.is_file():
            continue
        about = part.stat()
        sums.append([part.name, _file_digest(part.resolve(), about.st_size, about.st_mtime_ns, about.st_ino)])
    return f"sha256:{digest(sorted(sums))}"


@lru_cache(maxsize=1024)
def _file_digest(path: Path, size: int, changed_ns: int, inode: int) -> str:
    """Digest of a file, read once in a process while it stays the same file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _hub_snapshot(spec: ModelSpec) -> tuple[Path, str]:
    """Directory and commit of a hub id: the hub's answer where it can be reached, else what is cached."""
    try:
        import huggingface_hub as hub
        from huggingface_hub import constants, errors
    except ModuleNotFoundError as exc:
        raise MissingExtraError.for_package(
            "huggingface_hub", extra="hf", purpose=f"to find the model {spec.location}"
        ) from exc
    revision, why = spec.revision, "the model hub is switched off by HF_HUB_OFFLINE"
    if not constants.HF_HUB_OFFLINE:
        try:
            commit = hub.HfApi().model_info(spec.location, revision=revision, timeout=_HUB_TIMEOUT_S).sha
        except errors.RevisionNotFoundError as exc:
            raise ModelSpecError(
                f"The model {spec.location!r} has no revision {revision!r}.",
                where=spec.text,
                expected="a branch, tag or commit of its repository on the model hub",
                remedy="Check the text after '@'.",
            ) from exc
        except errors.GatedRepoError as exc:
            raise ModelSpecError(
                f"The model {spec.location!r} is gated on the model hub.",
                where=spec.text,
                remedy="Accept its terms there and log in with 'hf auth login'.",
            ) from exc
        except errors.RepositoryNotFoundError as exc:
            raise _missing(spec, "neither a path, nor an id that the model hub knows") from exc
        except Exception as exc:  # the hub's HTTP library, and so its errors, differ between versions
            why = f"the model hub cannot be reached ({type(exc).__name__})"
        else:
            if commit is None:
                raise _missing(spec, "the model hub names no commit for it")
            return _download(spec, commit)
    try:
        place = Path(hub.snapshot_download(spec.location, revision=revision, local_files_only=True))
    except (OSError, ValueError) as exc:
        what = spec.location if revision is None else f"{spec.location}@{revision}"
        raise ModelSpecError(
            f"The model {what!r} is neither a path nor in the local cache, and {why}.",
            where=spec.text,
            expected="a checkpoint on disk, or a hub id with the hub in reach",
            remedy="Check the path, or download the model first on a machine with access: hf download "
            + spec.location,
        ) from exc
    return place, place.name


def _download(spec: ModelSpec, commit: str) -> tuple[Path, str]:
    import huggingface_hub as hub

    try:
        files = hub.HfApi().list_repo_files(spec.location, revision=commit)
        wanted = list(_HUB_FILES)
        if not any(file.endswith(".safetensors") for file in files):
            wanted += ["pytorch_model*.bin", "*.gguf"]
        place = hub.snapshot_download(spec.location, revision=commit, allow_patterns=wanted)
    except Exception as exc:  # as above
        raise ModelSpecError(
            f"The model {spec.location!r} could not be downloaded: {type(exc).__name__}: {exc}",
            where=spec.text,
            remedy=f"Try again, or download it first: hf download {spec.location} --revision {commit}",
        ) from exc
    return Path(os.fspath(place)), commit
