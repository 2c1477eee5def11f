"""A base image out of the host's own Debian packages, for machines that reach no image registry.

The files of a few packages and of all that they depend on are packed with a matching package database, so
that ``apt`` works in the image. Only files that belong to packages are taken: nothing of users, no keys.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HostPackage", "closure", "closure_digest", "installed_packages", "write_base"]

BASE_PACKAGES = (
    "apt",
    "base-files",
    "base-passwd",
    "bash",
    "ca-certificates",
    "coreutils",
    "dash",
    "debian-archive-keyring",
    "debianutils",
    "diffutils",
    "dpkg",
    "findutils",
    "gpgv",
    "grep",
    "gzip",
    "hostname",
    "init-system-helpers",
    "libc-bin",
    "login",
    "mawk",
    "ncurses-base",
    "ncurses-bin",
    "passwd",
    "perl-base",
    "python3",
    "sed",
    "sysvinit-utils",
    "tar",
    "tzdata",
    "util-linux",
)
"""What a minimal Debian has, and python3. Packages that the host lacks are left out."""

_DPKG = Path("/var/lib/dpkg")
_LEFT_OUT = re.compile(r"/usr/share/(doc|man|locale|info|lintian|bug)/")
_EMPTY_DIRECTORIES = (
    "dev",
    "etc/apt/apt.conf.d",
    "etc/apt/preferences.d",
    "home",
    "mnt",
    "opt",
    "proc",
    "root",
    "run/lock",
    "srv",
    "sys",
    "var/cache/apt/archives/partial",
    "var/lib/apt/lists/partial",
    "var/lib/dpkg/info",
    "var/lib/dpkg/updates",
    "var/log/apt",
)
_GENERATED = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nadm:x:4:\ntty:x:5:\nshadow:x:42:\nstaff:x:50:\nutmp:x:43:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPackage:
    """One installed package.

    Attributes:
        stanza: Its paragraph in the package database.
        needs: For each dependency, the names that would meet it.
        provides: Virtual names that it stands for.
    """

    name: str
    version: str
    architecture: str
    stanza: str
    needs: tuple[tuple[str, ...], ...]
    provides: tuple[str, ...]


def installed_packages(status: str) -> dict[str, HostPackage]:
    """Read the installed packages out of the text of a dpkg status file."""
    packages = {}
    for stanza in status.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        if fields.get("Status") != "install ok installed":
            continue
        needs = [
            tuple(_bare_name(choice) for choice in clause.split("|"))
            for field in ("Pre-Depends", "Depends")
            for clause in fields.get(field, "").split(",")
            if clause.strip()
        ]
        name = fields["Package"]
        packages[name] = HostPackage(
            name=name,
            version=fields["Version"],
            architecture=fields["Architecture"],
            stanza=stanza.strip("\n"),
            needs=tuple(needs),
            provides=tuple(
                _bare_name(part) for part in fields.get("Provides", "").split(",") if part.strip()
            ),
        )
    return packages


def _bare_name(clause: str) -> str:
    return re.split(r"[\s(:\[]", clause.strip(), maxsplit=1)[0]


def closure(packages: Mapping[str, HostPackage], wanted: Iterable[str]) -> tuple[HostPackage, ...]:
    """The wanted packages and all that they depend on, as far as installed, by name."""
    providers: dict[str, str] = {}
    for name in sorted(packages):
        for virtual in packages[name].provides:
            providers.setdefault(virtual, name)
    found: dict[str, HostPackage] = {}
    pending = list(wanted)
    while pending:
        asked = pending.pop()
        name = asked if asked in packages else providers.get(asked, "")
        if name not in packages or name in found:
            continue
        found[name] = packages[name]
        pending += [
            next((one for one in choices if one in packages or one in providers), choices[0])
            for choices in packages[name].needs
        ]
    return tuple(found[name] for name in sorted(found))


def closure_digest(packages: Iterable[HostPackage]) -> str:
    """Short digest of names, versions and architectures."""
    text = "".join(f"{package.name}={package.version}:{package.architecture}\n" for package in packages)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_base(packages: tuple[HostPackage, ...], target: Path) -> None:
    """Write the root file system of a base image as a tar file.

    Args:
        packages: What it holds; a closure.
        target: The tar file.
    """
    with tarfile.open(target, "w") as archive:
        seen: set[str] = set()
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if Path("/", name).is_symlink():
                _add_path(archive, f"/{name}", seen)
        for path in _EMPTY_DIRECTORIES:
            _add_empty_directory(archive, path, seen)
        for path in ("tmp", "var/tmp"):
            _add_empty_directory(archive, path, seen, mode=0o1777)
        for path, text in _GENERATED.items():
            _add_text(archive, path, text, seen)
        for package in packages:
            for path in _package_paths(package):
                _add_path(archive, path, seen)
        for path in ("/etc/ld.so.cache", "/etc/debian_version", "/etc/ssl/certs/ca-certificates.crt"):
            _add_path(archive, path, seen)
        for link in sorted(Path("/etc/alternatives").glob("*")):
            _add_path(archive, str(link), seen)
        _add_text(archive, "etc/apt/sources.list", _package_sources(), seen)
        _add_text(archive, "var/lib/dpkg/status", "\n\n".join(p.stanza for p in packages) + "\n\n", seen)


def _package_paths(package: HostPackage) -> Iterator[str]:
    for stem in (package.name, f"{package.name}:{package.architecture}"):
        listing = _DPKG / "info" / f"{stem}.list"
        if listing.exists():
            break
    else:
        return
    for line in listing.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        if line != "/." and not _LEFT_OUT.match(line):
            yield line
            if line.endswith(".py"):
                # Compiled beside it by the package's scripts: without it every start of Python compiles.
                path = Path(line)
                yield from sorted(map(str, path.parent.glob(f"__pycache__/{path.stem}.cpython-*.pyc")))
    for extra in sorted((_DPKG / "info").glob(f"{stem}.*")):
        yield str(extra)


def _add_path(archive: tarfile.TarFile, path: str, seen: set[str]) -> None:
    source = Path(path)
    source = source.parent.resolve() / source.name  # /lib/x is /usr/lib/x where the two are merged
    name = str(source).lstrip("/")
    if name in seen or not (source.is_symlink() or source.exists()):
        return
    if source.parent != Path("/"):
        _add_path(archive, str(source.parent), seen)
    if name in seen:
        return
    seen.add(name)
    archive.add(source, arcname=name, recursive=False, filter=_as_root)


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if member.ischr() or member.isblk() or member.isfifo():
        return None
    member.uname = member.gname = ""
    return member


def _add_empty_directory(archive: tarfile.TarFile, path: str, seen: set[str], *, mode: int = 0o755) -> None:
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        name = "/".join(parts[:depth])
        if name in seen:
            continue
        seen.add(name)
        member = tarfile.TarInfo(name)
        member.type = tarfile.DIRTYPE
        member.mode = mode if depth == len(parts) else 0o755
        archive.addfile(member)


def _add_text(archive: tarfile.TarFile, path: str, text: str, seen: set[str]) -> None:
    _add_empty_directory(archive, path.rpartition("/")[0], seen)
    seen.add(path)
    data = text.encode("utf-8", "surrogateescape")
    member = tarfile.TarInfo(path)
    member.size = len(data)
    member.mode = 0o644
    archive.addfile(member, io.BytesIO(data))


def _package_sources() -> str:
    """The host's package sources in one-line form, without any that hold credentials."""
    lines = []
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", text):
                fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
                if fields.get("Types", "").split()[:1] == ["deb"] and fields.get("Enabled", "yes") != "no":
                    signed = fields.get("Signed-By", "")
                    option = f"[signed-by={signed}] " if signed.startswith("/usr/share/keyrings/") else ""
                    lines += [
                        f"deb {option}{uri} {suite} {fields.get('Components', '')}"
                        for uri in fields.get("URIs", "").split()
                        for suite in fields.get("Suites", "").split()
                    ]
        elif path.suffix == ".list":
            lines += [line.strip() for line in text.splitlines() if line.startswith("deb ")]
    return "".join(f"{line}\n" for line in lines if not re.search(r"://[^/\s]*@", line))
