"""Draw functions from Debian packages that nobody has looked at, as a data set to measure builders on.

    python benchmarks/debian_functions.py OUT.jsonl --language L [--seed N] [--functions N]

Packages come in an order drawn by the seed, and each gives at most ``--from-each`` functions, drawn likewise,
with bodies of 10 to 50 lines and outside tests, examples and main, until there are enough. Go and Rust come
out of the packages that hold a library's sources, C and Java out of source packages (``dpkg-dev`` is needed).
Packages whose main licence is not a permissive one are left out, and so are those of the data sets given with
``--without``. The rows name package and version; the same archive and seed give the same rows.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_funcmem.core.errors import SourceError
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.corpora import read_sources, sample
from pytest_funcmem.corpora.datasets import read_rows

SUFFIX = {"c": ".c", "go": ".go", "java": ".java", "rust": ".rs"}
BINARY_PACKAGES = {"go": r"^golang-.*-dev$", "rust": r"^librust-[^+]*-dev$"}
C_SECTIONS = (
    "admin devel editors games graphics hamradio libs mail math misc net science shells sound text utils"
)
NOT_ITS_OWN = re.compile(
    r"(^|/)(debian|\.pc|tests?|testing|testdata|t|examples?|samples?|demos?|bench(es|marks?)?|vendor|third_party"
    r"|build\.rs|package-info\.java)(/|$)|_test\.(go|c|rs)$|Tests?\.java$|(^|/)(test|tests)[_-][^/]*$"
)
OF_OTHER_LANGUAGES = re.compile(r"^(rust|golang|haskell|ocaml|node|ruby|python|php|r|lib.*-perl)-|-perl$")
PERMISSIVE = re.compile(r"apache|bsd|expat|mit\b|isc\b|zlib|public.domain|unlicense|cc0|boost", re.IGNORECASE)
TEST_ATTRIBUTE = re.compile(r"#\[(\w+::)?(test|bench)\b")
TEST_MODULE = re.compile(r"#\[cfg\([^\]]*\btest\b[^\]]*\)\]\s*(pub )?mod \w+ \{")
LARGEST_SOURCE_BYTES = 3_000_000


class Archive:
    """The archive that this machine's apt knows; sources get lists of their own."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._options: list[str] = []

    def names(self, language: str) -> list[str]:
        """Packages of a language, sorted."""
        if language in BINARY_PACKAGES:
            found = self._run("apt-cache", "search", "--names-only", BINARY_PACKAGES[language])
            return sorted(line.split(" ")[0] for line in found.splitlines())
        self._open_sources()
        return sorted(name for name, about in self._sources() if _is_of(language, name, about))

    def unpack(self, language: str, name: str) -> tuple[str, Path]:
        """A package and its version, with the folder of its files.

        Raises:
            LookupError: There is none, or none under a permissive licence.
        """
        folder = self._place / name
        folder.mkdir()
        if language in BINARY_PACKAGES:
            self._run("apt-get", "download", name, cwd=folder)
            (package,) = folder.glob("*.deb")
            version = self._run("dpkg-deb", "--field", str(package), "Version").strip()
            self._run("dpkg-deb", "--extract", str(package), str(folder / "files"))
            licence = folder / "files" / "usr/share/doc" / name / "copyright"
        else:
            self._run("apt-get", *self._options, "source", "--download-only", name, cwd=folder)
            (description,) = folder.glob("*.dsc")
            (version,) = re.findall(
                r"^Version: (\S+)", description.read_text("utf-8", "replace"), re.MULTILINE
            )
            self._run("dpkg-source", "--no-check", "-x", description.name, "files", cwd=folder)
            licence = folder / "files" / "debian" / "copyright"
        named = re.search(r"^License: *(.+)", licence.read_text("utf-8", "replace"), re.MULTILINE)
        if named is None or not PERMISSIVE.search(named[1]):
            raise LookupError(f"licence {named[1] if named else 'not named'}")
        return f"{name}-{version}", folder / "files"

    def _open_sources(self) -> None:
        lists = self._place / "apt"
        (lists / "lists" / "partial").mkdir(parents=True)
        known = Path("/etc/apt/sources.list.d/debian.sources").read_text("utf-8")
        first = known.split("\n\n")[0].replace("Types: deb\n", "Types: deb-src\n")
        (lists / "only.sources").write_text(first + "\n", "utf-8")
        self._options = [
            f"--option=Dir::State::lists={lists / 'lists'}",
            "--option=Dir::Etc::sourcelist=/dev/null",
            f"--option=Dir::Etc::sourceparts={lists}",
            f"--option=Dir::Cache::srcpkgcache={lists / 'srcpkgcache.bin'}",
            f"--option=Dir::Cache::pkgcache={lists / 'pkgcache.bin'}",
        ]
        self._run("apt-get", *self._options, "update", "--quiet")

    def _sources(self) -> Iterator[tuple[str, str]]:
        for index in sorted((self._place / "apt" / "lists").glob("*_Sources*")):
            text = self._run("/usr/lib/apt/apt-helper", "cat-file", str(index))
            for paragraph in text.split("\n\n"):
                name = re.search(r"^Package: (\S+)", paragraph, re.MULTILINE)
                if name:
                    yield name[1], paragraph

    @staticmethod
    def _run(*command: str, cwd: Path | None = None) -> str:
        done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
        if done.returncode != 0:
            raise LookupError(f"{' '.join(command[-2:])} ended with status {done.returncode}")
        return done.stdout.decode("utf-8", "replace")


def _is_of(language: str, name: str, about: str) -> bool:
    section = re.search(r"^Section: (\S+)", about, re.MULTILINE)
    sizes = [int(size) for size in re.findall(r"^ [0-9a-f]{32} (\d+) \S+$", about, re.MULTILINE)]
    if section is None or not sizes or sum(sizes) > LARGEST_SOURCE_BYTES:
        return False
    if language == "java":
        return section[1] == "java" and "jdk" in about
    return not OF_OTHER_LANGUAGES.search(name) and section[1] in C_SECTIONS and "Architecture: any" in about


def functions_of(folder: Path, language: str) -> tuple[SourceFunction, ...]:
    """A package's own functions of a language."""
    files = [
        path
        for path in sorted(folder.rglob(f"*{SUFFIX[language]}"))
        if path.is_file()
        and not path.is_symlink()
        and not NOT_ITS_OWN.search(str(path.relative_to(folder).as_posix()))
    ]
    found: list[SourceFunction] = []
    for path in files:
        try:
            functions = read_sources([path], min_lines=10, max_lines=50).functions
        except SourceError:  # not UTF-8, too large
            continue
        found += [
            replace(function, path=path.relative_to(folder).as_posix())
            for function in functions
            if function.language == language and not _is_test_or_program(function)
        ]
    return tuple(found)


def _is_test_or_program(function: SourceFunction) -> bool:
    """Whether it is a test beside the code, or a whole program: neither takes arguments."""
    before = function.text[: function.signature_start]
    attributes = re.split(r"[};]", before)[-1]
    return (
        function.qualname == "main"
        or TEST_ATTRIBUTE.search(attributes) is not None
        or TEST_MODULE.search(before) is not None
    )


def draw(
    archive: Archive, language: str, *, seed: int, wanted: int, from_each: int, without: set[str]
) -> Iterator[tuple[str, Path, tuple[SourceFunction, ...]]]:
    """Packages with the functions that were drawn from them, until there are enough."""
    names = archive.names(language)
    random.Random(f"{language}:{seed}").shuffle(names)
    for name in names:
        if wanted <= 0:
            return
        if name in without:
            continue
        try:
            package, folder = archive.unpack(language, name)
        except (LookupError, ValueError, OSError) as failure:
            print(f"{name}: left out: {failure}", file=sys.stderr)
            continue
        functions = functions_of(folder, language)
        if functions:
            drawn = sample(functions, min(from_each, wanted, len(functions)), seed=seed)
            wanted -= len(drawn)
            print(f"{package}: {len(drawn)} of {len(functions)}", file=sys.stderr)
            yield package, folder, tuple(drawn)


def rows(
    package: str, folder: Path, language: str, functions: Sequence[SourceFunction]
) -> Iterator[dict[str, object]]:
    """The rows of a data set for one package, one a file."""
    by_file = defaultdict(list)
    for function in functions:
        by_file[function.path].append({"qualname": function.qualname, "line": function.line})
    for path, listed in sorted(by_file.items()):
        yield {
            "id": f"{package}/{path}",
            "path": f"{package}/{path}",
            "language": language,
            "content": (folder / path).read_bytes().decode("utf-8"),
            "functions": listed,
        }


def main() -> None:
    """Write the data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--language", required=True, choices=sorted(SUFFIX))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--functions", type=int, default=60)
    parser.add_argument("--from-each", type=int, default=3, help="most functions of one package")
    parser.add_argument(
        "--without", type=Path, action="append", default=[], help="a data set whose packages are left out"
    )
    arguments = parser.parse_args()
    seen = {
        row.path.split("/")[0] for data_set in arguments.without for row in read_rows(data_set) if row.path
    }
    with tempfile.TemporaryDirectory(prefix="funcmem-debian-") as place, arguments.out.open("w") as out:
        Path(place).chmod(0o755)  # apt downloads as a user of its own
        archive = Archive(Path(place))
        for package, folder, functions in draw(
            archive,
            arguments.language,
            seed=arguments.seed,
            wanted=arguments.functions,
            from_each=arguments.from_each,
            without={name.rsplit("-", 1)[0] for name in seen} | {re.sub(r"-\d.*", "", name) for name in seen},
        ):
            for row in rows(package, folder, arguments.language, functions):
                out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
