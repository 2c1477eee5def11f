"""A real model builds a harness: run with ``-m live`` and FUNCMEM_LIVE_MODEL, for money."""

from __future__ import annotations

import os

import pytest
from played_agents import PYTHON

from pytest_funcmem.core.options import Settings
from pytest_funcmem.core.protocols import Sandbox
from pytest_funcmem.core.records import AgentUse, Harness
from pytest_funcmem.harness.agent.builder import AgentBuilder

SPEC = os.environ.get("FUNCMEM_LIVE_MODEL", "")


@pytest.mark.live
@pytest.mark.skipif(not SPEC, reason="FUNCMEM_LIVE_MODEL names no model; it would cost money")
def test_a_real_model_builds_a_harness(sandbox: Sandbox) -> None:
    agents = AgentBuilder(Settings(builder="agent", agent=SPEC))
    used: list[AgentUse] = []
    try:
        harness = agents.build(PYTHON.function, sandbox, seed=0, used=used.append)
    finally:
        agents.close()
    assert isinstance(harness, Harness), (harness, used)
    assert harness.evidence.coverage >= 0.8
    assert used[0].turns > 0
