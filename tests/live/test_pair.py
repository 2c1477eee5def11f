"""The trained pair, audited for real: each group of functions falls where its exposure puts it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.pair

