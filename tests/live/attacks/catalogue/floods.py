"""Attacks that try to drown the host in output and records."""

from __future__ import annotations

from attack_catalogue.record import LONG, QUICK, Attack

ATTACKS = (
    Attack(
        name="gigabyte-on-standard-output",
        code="""
            piece = b"x" * (1 << 20)
            for _ in range(1024):
                os.write(1, piece)
            answers.append("through")
        """,
        answers=("through",),
        limits=LONG,
    ),
    Attack(
        name="flood-on-standard-error",
        code="""
            piece = b"x" * (1 << 20)
            for _ in range(256):
                os.write(2, piece)
            answers.append("through")
        """,
        answers=("through",),
        limits=LONG,
    ),
    Attack(
        name="flood-of-a-command",
        way="command",
        code="yes | head -c 200000000; exit 3",
        exit_codes=(3,),
        answers=("y", "yes: .*"),
        limits=LONG,
    ),
    Attack(
        name="flood-of-records",
        code="""
            piece = b"x" * (1 << 20)
            while True:
                emit(piece)
        """,
        outcomes=("refused",),
        limits=LONG,
    ),
    Attack(
        name="flood-of-empty-records",
        code="""
            while True:
                os.write(3, bytes(1 << 20))
        """,
        outcomes=("refused",),
        limits=LONG,
    ),
    Attack(
        name="record-of-a-gigabyte",
        code="""
            import struct
            os.write(3, struct.pack(">I", 1 << 30))
            piece = b"x" * (1 << 20)
            for _ in range(1024):
                os.write(3, piece)
        """,
        outcomes=("refused",),
        limits=LONG,
    ),
    Attack(
        name="flood-by-a-child-that-stays",
        code="""
            if os.fork() == 0:
                while True:
                    os.write(1, b"x" * 65536)
            answers.append("left")
        """,
        answers=("left",),
        limits=QUICK,
    ),
)
