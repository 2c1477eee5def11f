"""The system-call profile of containers: what must not be in it, and what the worker relies on."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from pytest_funcmem.sandbox.worker import syscalls

PROFILE = json.loads(
    resources.files("pytest_funcmem.sandbox").joinpath("seccomp.json").read_text(encoding="utf-8")
)
ALLOWED = {name for rule in PROFILE["syscalls"] if "ALLOW" in rule["action"] for name in rule["names"]}
ALLOWED_AS_A_WHOLE = {
    name
    for rule in PROFILE["syscalls"]
    if "ALLOW" in rule["action"] and not rule.get("args")
    for name in rule["names"]
}


def test_what_is_not_named_fails() -> None:
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {rule["action"] for rule in PROFILE["syscalls"]} == {"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"}


def test_no_second_architecture_gets_past_it() -> None:
    assert {one["architecture"] for one in PROFILE["archMap"]} == {"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"}
    assert all(one["subArchitectures"] == [] for one in PROFILE["archMap"])


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_nothing_is_allowed_that_the_worker_refuses_its_candidates(machine: str) -> None:
    refused = {
        *syscalls._FATAL[machine],
        *syscalls._FORBIDDEN[machine],
        *syscalls._FORBIDDEN_EVERYWHERE,
    }
    assert not ALLOWED & refused
    # These depend on their arguments in both.
    assert not ALLOWED_AS_A_WHOLE & {"clone", "clone3", "socket", "personality"}


def test_namespaces_cannot_be_made_by_clone() -> None:
    rule = next(rule for rule in PROFILE["syscalls"] if rule["names"] == ["clone"])
    (condition,) = rule["args"]
    assert condition["op"] == "SCMP_CMP_MASKED_EQ"
    assert condition["valueTwo"] == 0
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert condition["value"] & flag, hex(flag)


def test_sockets_are_of_the_families_that_the_worker_allows() -> None:
    families = [rule["args"][0]["value"] for rule in PROFILE["syscalls"] if rule["names"] == ["socket"]]
    assert sorted(families) == sorted(syscalls._SOCKET_FAMILIES)


def test_worker_gets_what_it_needs() -> None:
    needed = {
        "setresuid",
        "setresgid",
        "setgroups",
        "chown",
        "prctl",
        "capset",
        "kill",
        "prlimit64",
        "recvmsg",
    }
    assert needed <= ALLOWED_AS_A_WHOLE


def test_names_are_sorted_and_given_once() -> None:
    for rule in PROFILE["syscalls"]:
        assert rule["names"] == sorted(set(rule["names"]))
        assert rule["comment"].endswith(".")
