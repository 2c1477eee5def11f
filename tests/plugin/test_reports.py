"""Reports as users ask for them: every format, masked or not, and pytest's own JUnit file."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path

SECRET = "AKIA-not-for-reports"


def plant(scene) -> None:
    """Put a secret into the source and into both models' completions."""
    source = scene.source / "tariffs.py"
    source.write_text(source.read_text().replace('"island"', f'"{SECRET}"').replace('"lost"', f'"{SECRET}"'))
    for path in (scene.target, scene.reference):
        path.write_text(path.read_text().replace('\\"island\\"', f'\\"{SECRET}\\"').replace("lost", SECRET))


def everything(directory: Path) -> str:
    """All text of the reports in a directory, packed parts of the HTML report unpacked."""
    texts = []
    for path in sorted(directory.iterdir()):
        text = path.read_text(encoding="utf-8")
        texts.append(text)
        packed = re.findall(r'<script type="application/octet-stream"[^>]*>([^<]+)</script>', text)
        texts += [gzip.decompress(base64.b64decode(part)).decode() for part in packed]
    return "\n".join(texts)


def ask_for_all(scene, name: str) -> tuple[list[str], Path]:
    from pytest_funcmem.core.registry import REGISTRY

    place = scene.pytester.mkdir(name)
    reports = [f"--funcmem-report={form}:{place / f'report.{form}'}" for form in REGISTRY["reporter"]]
    return [*reports, f"--junitxml={place / 'junit.xml'}", "-o", "junit_logging=all", "-rA"], place


def test_a_secret_reaches_no_masked_output(scene) -> None:
    plant(scene)
    arguments, place = ask_for_all(scene, "open")
    result = scene.run(*arguments)
    assert result.ret == 1
    assert SECRET in result.stdout.str()
    assert SECRET in everything(place)
    arguments, place = ask_for_all(scene, "masked")
    result = scene.run("--funcmem-mask", *arguments)
    assert result.ret == 1
    assert result.parseoutcomes()["failed"] == 2
    assert SECRET not in result.stdout.str() + result.stderr.str()
    assert SECRET not in everything(place)
    assert "FUNCTIONAL LEAK" in result.stdout.str()
    rerun = result.stdout.str().partition("run this item again")[2]
    assert re.search(r"--funcmem-mask\s", rerun)  # the command that is shown masks as well
