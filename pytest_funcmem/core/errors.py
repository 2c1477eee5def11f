"""The errors that this package raises, as one small tree.

::

    FuncmemError
    ├── UsageError            what the user gave cannot be used; exit code 4
    │   ├── SourceError       a source file, directory or data set
    │   ├── ReplayError       a replay file
    │   ├── ModelSpecError    a model that is named wrongly, missing, or not a causal language model
    │   ├── MissingExtraError an optional dependency that is not installed
    │   └── SandboxUnavailableError  no way to isolate code on this machine
    └── AuditError            the audit itself broke: verdict ``error``, never ``clean``
        ├── EngineError       a model engine failed while it was working
        ├── SandboxError      the sandbox was lost while it was working
        └── StoreError        a result could not be written or read back

An infrastructure failure is never a verdict. A timeout or a crash *inside the code under test* is data,
and no error of this tree.
"""

from __future__ import annotations

__all__ = [
    "AuditError",
    "EngineError",
    "FuncmemError",
    "MissingExtraError",
    "ModelSpecError",
    "ReplayError",
    "SandboxError",
    "SandboxUnavailableError",
    "SourceError",
    "StoreError",
    "UsageError",
]


class FuncmemError(Exception):
    """Base of all errors of this package.

    Args:
        what: One sentence that says what went wrong.
        where: The place, as ``file:line``, an option, or an address.
        expected: What would have been accepted.
        remedy: One thing that the user can do about it.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.remedy = remedy

    def __str__(self) -> str:
        lines = [self.what]
        if self.where is not None:
            lines.append(f"  where:    {self.where}")
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.remedy is not None:
            lines.append(f"  remedy:   {self.remedy}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling of exceptions (xdist, process pools).
        return (_rebuild, (type(self), self.what, self.where, self.expected, self.remedy))


def _rebuild(
    cls: type[FuncmemError], what: str, where: str | None, expected: str | None, remedy: str | None
) -> FuncmemError:
    return cls(what, where=where, expected=expected, remedy=remedy)


class UsageError(FuncmemError):
    """What the user gave cannot be used."""


class SourceError(UsageError):
    """A source file, directory or data set cannot be audited."""


class ReplayError(UsageError):
    """A replay file is broken, ambiguous, or names none of the functions."""


class ModelSpecError(UsageError):
    """A model is named wrongly, missing, or not a causal language model."""


class MissingExtraError(UsageError):
    """An optional dependency is not installed."""

    @classmethod
    def for_package(cls, package: str, *, extra: str, purpose: str) -> MissingExtraError:
        """Build the error that says what to install.

        Args:
            package: Import name of what is missing.
            extra: The extra of this distribution that brings it.
            purpose: What it is needed for, to end the sentence "… is needed …".
        """
        return cls(
            f"The package '{package}' is needed {purpose}, and it is not installed.",
            remedy=f"pip install 'pytest-funcmem[{extra}]'",
        )


class SandboxUnavailableError(UsageError):
    """No sandbox can be opened on this machine; nothing is ever run without one."""


class AuditError(FuncmemError):
    """The audit itself broke."""


class EngineError(AuditError):
    """A model engine failed while it was working."""


class SandboxError(AuditError):
    """The sandbox was lost while it was working."""


class StoreError(AuditError):
    """A result could not be written to the store or read back from it."""
