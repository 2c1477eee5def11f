"""Where audited functions come from: files, directories and data sets, filtered and in a fixed order.

This room reads text and hands it to the front ends of ``languages``. It never imports, compiles or runs
what it reads, obeys no configuration found in an audited tree, and knows nothing of models or of pytest.
"""

from __future__ import annotations

from pytest_funcmem.corpora.reading import Corpus, read_sources
from pytest_funcmem.corpora.sampling import sample

__all__ = ["Corpus", "read_sources", "sample"]
