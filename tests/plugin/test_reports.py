"""Reports as users ask for them: every format, masked or not, and pytest's own JUnit file."""

from __future__ import annotations

import base64
import copy
import gzip
import re
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from pytest_funcmem.core.registry import REGISTRY
from tests.conftest import ROOT, require

FORMATS = sorted(REGISTRY["reporter"].keys() - {"harness", "pairs"})  # code; refused under a mask
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
    place = scene.pytester.mkdir(name)
    reports = [f"--funcmem-report={form}:{place / f'report.{form}'}" for form in FORMATS]
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


def test_a_secret_reaches_no_masked_output_of_distributed_runs(scene) -> None:
    require(find_spec("xdist") is not None, "pytest-xdist")
    plant(scene)
    arguments, place = ask_for_all(scene, "masked")
    result = scene.run("--funcmem-mask", "-n", "2", *arguments)
    assert result.parseoutcomes()["failed"] == 2
    assert SECRET not in result.stdout.str() + result.stderr.str() + everything(place)
    assert "lines, masked)" in everything(place)


def test_junit_and_json_of_an_audit_hold_to_their_schemas(scene) -> None:
    require(find_spec("xmlschema") is not None and find_spec("jsonschema") is not None, "schema packages")
    import jsonschema
    import xmlschema

    from pytest_funcmem.reporting.json_report import report_schema

    path = scene.pytester.path / "junit.xml"
    result = scene.run(f"--junitxml={path}", "--funcmem-report=json:out.jsonl")
    assert result.ret == 1
    validator = jsonschema.Draft202012Validator(report_schema())
    lines = scene.report()
    assert len(lines) == 5
    for line in lines:
        assert [error.message for error in validator.iter_errors(line)] == []
    tree = ElementTree.parse(path)
    bare = copy.deepcopy(tree)
    # The schema is older than properties of test cases, which pytest writes and build servers read.
    for case in bare.iter("testcase"):
        for properties in case.findall("properties"):
            case.remove(properties)
    schema = xmlschema.XMLSchema(str(ROOT / "tests" / "schemas" / "junit-10.xsd"))
    schema.validate(bare.getroot())
    next(bare.iter("testcase")).attrib.pop("name")
    assert not schema.is_valid(bare.getroot())
    cases = {case.get("name"): case for case in tree.iter("testcase")}
    assert set(cases) == {"parcel_fee", "delay_class", "Depot.store"}
    fee = {item.get("name"): item.get("value") for item in cases["parcel_fee"].iter("property")}
    assert fee["funcmem_verdict"] == "functional"
    assert fee["funcmem_target_func"] == "1.0000"
    assert float(fee["funcmem_reference_func"]) < 0.8
    assert fee.keys() >= {"funcmem_sha256", "funcmem_target_text", "funcmem_harness_strength"}
    assert cases["parcel_fee"].find("failure") is not None
    assert cases["Depot.store"].find("failure") is None
