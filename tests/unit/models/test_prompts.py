"""Where prompts begin and end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_funcmem.core.records import SourceFunction
from pytest_funcmem.models.prompts import FallbackCutter, TokenizerCutter
from pytest_funcmem.models.transformers_model import CheckpointTokenizer

from .conftest import train_tokenizer, wrap_tokenizer
