"""Images with further Debian packages in them: what functions and agents may find beside the language itself.

Packages are installed once, when the image is made; nothing can be installed where audited code runs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from pytest_funcmem.core.errors import UsageError
from pytest_funcmem.sandbox.images.build import Progress, build_from, present_image, recipe_context

__all__ = ["check_packages", "ensure_packages"]

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]{1,100}")

_RECIPE = """\
FROM {image}
RUN apt-get update \\
    && apt-get install -y --no-install-recommends {packages} \\
    && apt-get clean \\
    && rm -rf /var/lib/apt/lists/* \\
    && find / -xdev -type f -perm /6000 -exec chmod a-s {{}} +
# Another Python than Debian's finds what Debian's packages bring only where both are of one version.
RUN if [ "$(command -v python3)" != /usr/bin/python3 ] && [ -x /usr/bin/python3 ]; then \\
        own=$(python3 -c 'import sys; print(*sys.version_info[:2])'); \\
        if [ "$own" = "$(/usr/bin/python3 -c 'import sys; print(*sys.version_info[:2])')" ]; then \\
            echo /usr/lib/python3/dist-packages \\
                > "$(python3 -c 'import site; print(site.getsitepackages()[0])')/debian.pth"; \\
        fi; \\
    fi
"""


def check_packages(packages: Sequence[str], *, where: str) -> tuple[str, ...]:
    """The names in order, each once.

    Raises:
        UsageError: One is no name of a Debian package.
    """
    for name in packages:
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} is no name of a Debian package.",
                where=where,
                expected="small letters, digits, '+', '-' and '.', such as python3-requests",
                remedy="Give one name each time the option is given.",
            )
    return tuple(sorted(set(packages)))


def ensure_packages(
    client: Any, image: str, language: str, packages: Sequence[str], progress: Progress
) -> str:
    """Find the image that has these packages beside what another one has, or make it.

    Args:
        client: A ``docker.DockerClient``.
        image: Id of the other image.
        language: Whose image it is.
        packages: Names, checked.
        progress: Told what is being done.

    Returns:
        The image's id.

    Raises:
        SandboxUnavailableError: They cannot be installed.
    """
    recipe = _RECIPE.format(image=image, packages=" ".join(packages))
    tag = f"funcmem/{language}-with:{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    present = present_image(client, tag)
    if present is not None:
        return present
    progress(f"installing {', '.join(packages)} into the image for {language}")
    return build_from(client, recipe_context(recipe), tag, progress)
