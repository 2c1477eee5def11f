"""What a gate costs when everything is known already: 5,000 replayed functions with stored harness results.

    python benchmarks/gate.py [--functions N] [--browser PATH]

Each audit is a pytest process of its own, on two cores, that writes the JSON and the HTML report. Beside the
wall clock stands the processor time of the process and its children, which a busy machine changes less. Where
Chromium is found (or named), first paint and a search are measured in it (``pip install playwright``); these
figures are printed and not asserted anywhere. The table is for people; the last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from gate_corpus import Made, make

CORES = 2
SMALL = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One audit: how long, how much, and how large its report is."""

    functions: int
    seconds: float
    cpu_seconds: float
    peak_mb: float
    html: Path

    @property
    def html_mb(self) -> float:
        """Size of the HTML report, in megabytes."""
        return self.html.stat().st_size / 1e6


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--functions", type=int, default=5000)
    parser.add_argument("--browser", default=shutil.which("chromium"), help="path of Chromium")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    print(f"{'functions':>9} {'seconds':>8} {'cpu s':>7} {'ms each':>8} {'peak MB':>8} {'HTML MB':>8}")
    with tempfile.TemporaryDirectory() as place:
        found = {}
        for number in sorted({min(SMALL, options.functions), options.functions}):
            audit = _audit(make(Path(place) / str(number), number), number)
            found[number] = audit
            print(
                f"{number:>9} {audit.seconds:>8.1f} {audit.cpu_seconds:>7.1f} "
                f"{1000 * audit.cpu_seconds / number:>8.2f} {audit.peak_mb:>8.0f} {audit.html_mb:>8.2f}",
                flush=True,
            )
        last = found[options.functions]
        if options.browser:
            _browse(options.browser, last.html)
        result = {
            "n": last.functions,
            "seconds": round(last.seconds, 2),
            "peak_mb": round(last.peak_mb, 1),
            "html_mb": round(last.html_mb, 3),
            "seconds_at": {str(number): round(audit.seconds, 2) for number, audit in found.items()},
        }
    print(json.dumps(result))
    return 0


def _audit(made: Made, number: int) -> Audit:
    place = made.source.parent
    html = place / "audit.html"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--no-header",
        "-p",
        "no:randomly",
        "-c",
        os.devnull,
        f"--rootdir={place}",
        f"--funcmem-source={made.source}",
        f"--funcmem-model=replay:{made.target}",
        f"--funcmem-reference=replay:{made.reference}",
        f"--funcmem-store={made.store}",
        "--funcmem-sandbox=namespace",
        f"--funcmem-report=html:{html}",
        f"--funcmem-report=json:{place / 'audit.jsonl'}",
    ]
    # Modules are compiled once, as pip leaves them, whatever this shell says of bytecode.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with (place / "output.txt").open("w", encoding="utf-8") as output:
        code = subprocess.call(command, stdout=output, stderr=subprocess.STDOUT, cwd=place, env=environment)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = (place / "output.txt").read_text(encoding="utf-8")
    if code != 1 or "built 0 harnesses" not in text or "made 0 runs" not in text:
        sys.exit(f"The audit of {number} functions exited with {code}:\n{text[-4000:]}")
    return Audit(
        functions=number,
        seconds=seconds,
        cpu_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        peak_mb=after.ru_maxrss / 1000,  # of the largest process so far; audits go from small to large
        html=html,
    )


def _browse(browser: str, html: Path) -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        print("first paint and search: not measured (pip install playwright)")
        return
    paints, searches = [], []
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for _ in range(5):
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(html.as_uri())
            page.wait_for_selector("html[data-ready]")
            paints.append(
                page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            )
            searches.append(page.evaluate(_SEARCH))
            page.close()
        chromium.close()
    for name, times in (("first paint", paints), ("search", searches)):
        median, most = statistics.median(times), max(times)
        print(f"{name:<12} {median:6.0f} ms, median of {len(times)} (at most {most:.0f})")


# From the input event until what it changed has been drawn.
_SEARCH = """() => new Promise((resolve) => {
  const search = document.getElementById("search");
  const began = performance.now();
  search.value = "rules_01 functional";
  search.dispatchEvent(new Event("input", { bubbles: true }));
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began), 0));
})"""


if __name__ == "__main__":
    sys.exit(main())
