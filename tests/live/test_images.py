"""Images built on a real engine, and code of every language compiled and run in them, hostile code too."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_funcmem import cli
from pytest_funcmem.core.protocols import Limits
from pytest_funcmem.sandbox.toolchains.compile_run import PROGRAMS, CompileRun, compile_and_run
from pytest_funcmem.sandbox.toolchains.recipes import recipe_for

pytestmark = pytest.mark.docker

SLOW = ("rust", "go")
INPUTS = b"".join(b"%d\n" % n for n in range(1, 11))
OUTPUTS = b"0\n1\n7\n2\n5\n8\n16\n3\n19\n6\n"

HONEST: dict[str, tuple[str, str]] = {
    "c": (
        "main.c",
        "#include <stdio.h>\n"
        "static int f(long n) { int k = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; k++; }"
        " return k; }\n"
        'int main(void) { long n; while (scanf("%ld", &n) == 1) printf("%d\\n", f(n)); return 0; }\n',
    ),
    "java": (
        "Main.java",
        "import java.util.*;\n"
        "public class Main {\n"
        "  static int f(long n) { int k = 0; while (n != 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; k++; }"
        " return k; }\n"
        "  public static void main(String[] a) { Scanner in = new Scanner(System.in);\n"
        "    while (in.hasNextLong()) System.out.println(f(in.nextLong())); }\n"
        "}\n",
    ),
    "rust": (
        "main.rs",
        "use std::io::Read;\n"
        "fn f(mut n: u64) -> u32 { let mut k = 0; while n != 1 {"
        " n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 }; k += 1; } k }\n"
        "fn main() { let mut s = String::new(); std::io::stdin().read_to_string(&mut s).unwrap();\n"
        '  for w in s.split_whitespace() { println!("{}", f(w.parse().unwrap())); } }\n',
    ),
    "go": (
        "main.go",
        'package main\nimport "fmt"\n'
        "func f(n int) int { k := 0; for n != 1 { if n%2 == 0 { n /= 2 } else { n = 3*n + 1 }; k++ };"
        " return k }\n"
        "func main() { var n int; for { if _, err := fmt.Scan(&n); err != nil { return };"
        " fmt.Println(f(n)) } }\n",
    ),
}

BROKEN: dict[str, tuple[str, str, str]] = {
    "c": ("int main(void) { return nothing; }\n", "main.c:1:", "nothing"),
    "java": ("public class Main {\n  int f() { return nothing; }\n}\n", "Main.java:2:", "cannot find symbol"),
    "rust": ("fn main() {\n  nothing();\n}\n", "main.rs:2:", "nothing"),
    "go": ("package main\nfunc main() {\n  nothing()\n}\n", "main.go:3:", "nothing"),
}

TOOLS = {"c": ("gcc", "tcc"), "java": ("javac", "jdk"), "rust": ("rustc",), "go": ("go",)}


@dataclass
class Workshop:
    """An open sandbox on one language's image, and for Java also a warm compiler."""

    language: str
    client: Any
    image: str
    sandbox: Any
    javac: Any = None

    def run(self, source: str, *, limits: Limits | None = None) -> CompileRun:
        name, _text = HONEST[self.language]
        return compile_and_run(
            self.sandbox, self.language, {name: source.encode()}, INPUTS, limits=limits, javac=self.javac
        )

    def assert_next_is_honest(self) -> None:
        run = self.run(HONEST[self.language][1])
        assert run.compiled, run
        assert run.result is not None
        assert run.result.stdout == OUTPUTS
        assert run.seconds < 25


def require_engine() -> Any:
    docker_sandbox = pytest.importorskip("pytest_funcmem.sandbox.docker_sandbox")
    why_not = docker_sandbox.docker_answers()
    if why_not is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must have a Docker engine: {why_not}", pytrace=False)
        pytest.skip(f"no Docker engine: {why_not}")
    return docker_sandbox


def ways() -> list[Any]:
    """Each language, Java with a compiler that is started each time and with a warm one."""
    slow = [pytest.param(language, marks=pytest.mark.slow_images) for language in SLOW]
    return ["c", "java", "java-warm", *slow]


@pytest.fixture(scope="module", params=ways())
def workshop(request: pytest.FixtureRequest) -> Iterator[Workshop]:
    docker_sandbox = require_engine()
    from pytest_funcmem.sandbox.images.build import ensure_image
    from pytest_funcmem.sandbox.toolchains.warm_javac import WarmJavac

    language, _, way = request.param.partition("-")
    client = docker_sandbox.connect()
    try:
        image = ensure_image(client, language=language)
        with docker_sandbox.DockerSandbox(programs=PROGRAMS, workers=1, language=language) as sandbox:
            shop = Workshop(language=language, client=client, image=image, sandbox=sandbox)
            if way == "warm":
                with WarmJavac(client, image) as shop.javac:
                    yield shop
            else:
                yield shop
    finally:
        client.close()


def only(*languages: str) -> Any:
    """A test that is about these languages."""
    parameters = [
        pytest.param(language, marks=pytest.mark.slow_images) if language in SLOW else language
        for language in languages
    ]
    return pytest.mark.parametrize("workshop", parameters, indirect=True)


def hurried(workshop: Workshop) -> Limits:
    return replace(recipe_for(workshop.language).limits, wall_s=4.0)


# ------------------------------------------------------------------------------------------------ honest code


def test_honest_code_compiles_and_runs_on_ten_inputs(workshop: Workshop) -> None:
    run = workshop.run(HONEST[workshop.language][1])
    assert run.compiled, run
    assert run.first_message == ""
    assert run.result is not None
    assert (run.result.outcome, run.result.exit_code) == ("ended", 0)
    assert run.result.stdout == OUTPUTS
    assert run.result.stderr == b""
    assert run.compile_seconds is not None
    assert 0 < run.compile_seconds < run.seconds


def test_the_identity_names_image_and_toolchain(workshop: Workshop) -> None:
    about = workshop.sandbox.identity()
    assert about["image"] == workshop.image
    assert about["image"].startswith("sha256:")
    for tool in TOOLS[workshop.language]:
        assert any(character.isdigit() for character in about["toolchain"][tool])


def test_what_does_not_compile_gives_the_first_message_with_its_place(workshop: Workshop) -> None:
    source, place, complaint = BROKEN[workshop.language]
    run = workshop.run(source)
    assert not run.compiled
    assert place in run.first_message
    assert complaint in run.first_message
    workshop.assert_next_is_honest()


def test_what_a_program_does_is_told_apart_from_what_its_compiler_does(workshop: Workshop) -> None:
    endless = {
        "c": "int main(void) { volatile int x = 1; while (x); return 0; }",
        "java": "public class Main { public static void main(String[] a) { while (true); } }",
        "rust": "fn main() { loop {} }",
        "go": "package main\nfunc main() { for {} }",
    }
    # Processor time, of which a compiler takes as much on a busy machine as on an idle one.
    limits = replace(recipe_for(workshop.language).limits, wall_s=90.0, cpu_s=6.0)
    run = workshop.run(endless[workshop.language], limits=limits)
    assert run.compiled, run
    assert run.result is not None
    assert run.result.outcome == "timeout"
    workshop.assert_next_is_honest()


@only("c")
def test_a_program_starts_in_an_empty_directory_without_the_report(workshop: Workshop) -> None:
    run = workshop.run(
        "#include <dirent.h>\n#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { struct dirent *e; DIR *d = opendir("."); int n = 0, fd;\n'
        'while ((e = readdir(d))) n++; closedir(d); printf("%d entries", n);\n'
        'for (fd = 3; fd < 256; fd++) if (fcntl(fd, F_GETFD) != -1) printf(" open %d", fd); return 0; }\n'
    )
    assert run.result is not None
    assert run.result.stdout == b"2 entries"


def test_both_compilers_of_c_agree() -> None:
    docker_sandbox = require_engine()
    with docker_sandbox.DockerSandbox(programs=PROGRAMS, workers=1, language="c") as sandbox:
        name, text = HONEST["c"]
        for compiler in ("gcc", "tcc"):
            run = compile_and_run(sandbox, "c", {name: text.encode()}, INPUTS, compiler=compiler)
            assert run.result is not None
            assert run.result.stdout == OUTPUTS, compiler


def test_sources_include_each_other(workshop: Workshop) -> None:
    sources = {
        "c": (
            '#include <stdio.h>\n#include "x.h"\nint main(void) { puts(X); return 0; }\n',
            {"x.h": '#define X "in"'},
        ),
        "rust": ('mod x;\nfn main() { println!("{}", x::X); }\n', {"x.rs": 'pub const X: &str = "in";'}),
        "go": (
            "package main\nfunc main() { println2(X) }\n",
            {
                "x.go": 'package main\nimport "fmt"\nconst X = "in"\n'
                "func println2(s string) { fmt.Println(s) }\n"
            },
        ),
        "java": (
            "public class Main { public static void main(String[] a) { System.out.println(p.X.IN); } }",
            {"p/X.java": 'package p; public class X { public static final String IN = "in"; }'},
        ),
    }
    main, others = sources[workshop.language]
    files = {
        HONEST[workshop.language][0]: main.encode(),
        **{path: text.encode() for path, text in others.items()},
    }
    run = compile_and_run(workshop.sandbox, workshop.language, files, javac=workshop.javac)
    assert run.result is not None, run
    assert run.result.stdout == b"in\n", run


@only("rust")
def test_rust_has_the_common_crates(workshop: Workshop) -> None:
    run = workshop.run(
        "use md5::{Digest, Md5};\nuse serde::{Deserialize, Serialize};\n"
        "#[derive(Serialize, Deserialize)] struct P { x: u32 }\n"
        'fn main() { let r = regex::Regex::new(r"^a+$").unwrap();\n'
        '  println!("{} {} {}", hex::encode(Md5::digest(b"abc")), r.is_match("aa"),'
        " serde_json::to_string(&P { x: 7 }).unwrap()); let _: u8 = rand::random();\n"
        # Crates that cargo compiles more than once.
        "  let m: hashbrown::HashMap<u8, u8> = Default::default(); assert!(m.is_empty());\n"
        "  assert!(unsafe { libc::getpid() } > 0); }\n"
    )
    assert run.result is not None, run
    assert run.result.stdout == b'900150983cd24fb0d6963f7d28e17f72 true {"x":7}\n', run


# ----------------------------------------------------------------------------------------------- hostile code

SECRETS: dict[str, list[str]] = {
    "c": [
        '#include "/etc/shadow"\nint main(void) { return 0; }\n',
        '#include "/proc/1/environ"\nint main(void) { return 0; }\n',
        'asm(".section .rodata\\n.globl s\\ns: .incbin \\"/etc/shadow\\"\\n");\n'
        "int main(void) { return 0; }\n",
    ],
    "java": [
        "import java.nio.file.*;\npublic class Main { static String s() { try {"
        ' return Files.readString(Path.of("/etc/shadow")); } catch (Exception e) { return "kept out"; } }\n'
        "public static void main(String[] a) { System.out.println(s()); } }\n",
    ],
    "rust": [
        'const S: &str = include_str!("/etc/shadow");\nfn main() { println!("{}", S); }\n',
        'include!("/etc/shadow");\nfn main() {}\n',
        '#[path = "/etc/shadow"] mod s;\nfn main() {}\n',
    ],
    "go": [
        'package main\nimport _ "embed"\n//go:embed /etc/shadow\nvar s string\nfunc main() { print(s) }\n',
        'package main\n// #include "/etc/shadow"\nimport "C"\nfunc main() {}\n',
    ],
}

BOMBS: dict[str, dict[str, str]] = {
    "c": {
        "endless include": '#include "/dev/zero"\nint main(void) { return 0; }\n',
        "includes itself": "#include __FILE__\n#include __FILE__\nint main(void) { return 0; }\n",
        "macros": "#define A(x) x x x x x x x x x x\n"
        "#define B(x) A(A(A(A(x))))\n#define C(x) B(B(B(x)))\nint a[] = { C(1,) };\n"
        "int main(void) { return 0; }\n",
        "huge object": "int a[1u << 28] = { 1 };\nint main(void) { return 0; }\n",
        "deep nesting": f"int main(void) {{ return {'(' * 200_000}1{')' * 200_000}; }}\n",
    },
    "java": {
        "deep nesting": "public class Main { int f = " + "(" * 50_000 + "1" + ")" * 50_000 + "; }\n",
        "inference": "import java.util.function.*;\npublic class Main { static <A, B> Function<A, B> g("
        "Function<A, B> x, Function<A, B> y) { return x; }\n Object f() { return "
        + "g(a -> " * 12
        + "null"
        + ", b -> b)" * 12
        + "; } }\n",
        "long constants": "public class Main {\n"
        + 'static final String S0 = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";\n'
        + "".join(f"static final String S{n + 1} = S{n} + S{n};\n" for n in range(30))
        + "}\n",
    },
    "rust": {
        "endless include": 'const S: &[u8] = include_bytes!("/dev/zero");\nfn main() {}\n',
        "endless constant": "const X: u64 = { let mut i = 0u64; while i < u64::MAX { i += 1; } i };\n"
        '#[allow(long_running_const_eval)] fn main() { println!("{}", X); }\n',
        "macros": "macro_rules! b { ($($t:tt)*) => { b!($($t)* $($t)*) }; }\nfn main() { b!(1); }\n",
        "types": "fn f<T>(n: u32, t: T) { if n > 0 { f(n - 1, (t, 0)); } }\nfn main() { f(10, ()); }\n",
    },
    "go": {
        "huge constant": "package main\nconst X = 1 << (1 << 40)\nfunc main() { println(X) }\n",
        "huge object": "package main\nvar a = [1 << 30]int{1<<30 - 1: 1}\nfunc main() { println(len(a)) }\n",
        "long constants": "package main\n"
        + 'const S0 = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"\n'
        + "".join(f"const S{n + 1} = S{n} + S{n}\n" for n in range(40))
        + "func main() { println(len(S40)) }\n",
    },
}


def test_no_file_of_the_machine_comes_back(workshop: Workshop) -> None:
    for source in SECRETS[workshop.language]:
        run = workshop.run(source)
        texts = [run.first_message]
        if run.result is not None:
            texts += [
                run.result.stdout.decode("utf-8", "replace"),
                run.result.stderr.decode("utf-8", "replace"),
            ]
            texts += [record.decode("utf-8", "replace") for record in run.result.records]
        assert not any("root:" in text or "PATH=" in text for text in texts), source
        assert workshop.language == "java" or not run.compiled, source
    workshop.assert_next_is_honest()


def test_bombs_for_the_compiler_are_contained(workshop: Workshop) -> None:
    for name, source in BOMBS[workshop.language].items():
        start = time.monotonic()
        run = workshop.run(source, limits=hurried(workshop))
        assert time.monotonic() - start < 40, name
        assert not run.compiled or (run.result is not None and run.result.exit_code != 0), (name, run)
        assert run.compiled or run.first_message, name
        workshop.assert_next_is_honest()


def test_nothing_of_the_sources_runs_while_they_are_compiled(workshop: Workshop) -> None:
    marks = {
        "java": "import javax.annotation.processing.*;\n"
        '@SupportedAnnotationTypes("*") public class Main extends AbstractProcessor {\n'
        '  static { System.err.println("RAN"); }\n'
        "  public boolean process(java.util.Set<? extends javax.lang.model.element.TypeElement> s,"
        " RoundEnvironment r) { return false; }\n}\n",
        "rust": "fn main() { nothing() }\n",
        "go": "package main\n//go:generate touch /tmp/ran\nfunc main() { nothing() }\n",
        "c": '__attribute__((constructor)) void f(void) { __builtin_printf("RAN"); }\nint x = nothing;\n',
    }
    extras = {
        "java": {"META-INF/services/javax.annotation.processing.Processor": b"Main\n"},
        "rust": {
            "build.rs": b'fn main() { println!("RAN"); panic!("RAN"); }\n',
            "Cargo.toml": b"[package]\n",
        },
        "go": {},
        "c": {"Makefile": b"all:\n\techo RAN\n"},
    }
    name = HONEST[workshop.language][0]
    files = {name: marks[workshop.language].encode(), **extras[workshop.language]}
    run = compile_and_run(workshop.sandbox, workshop.language, files, INPUTS, javac=workshop.javac)
    assert "RAN" not in run.first_message
    said = b"" if run.result is None else run.result.stdout + b"".join(run.result.records)
    assert b"RAN" not in said
    if workshop.language != "java":
        assert not run.compiled
    workshop.assert_next_is_honest()


# ------------------------------------------------------------------------------------------ the warm compiler


@pytest.fixture(scope="module")
def javac() -> Iterator[Any]:
    docker_sandbox = require_engine()
    from pytest_funcmem.sandbox.images.build import ensure_image
    from pytest_funcmem.sandbox.toolchains.warm_javac import WarmJavac

    client = docker_sandbox.connect()
    try:
        with WarmJavac(client, ensure_image(client, language="java")) as compiler:
            yield compiler
    finally:
        client.close()


def test_one_compilation_leaves_nothing_to_the_next(javac: Any) -> None:
    first = javac.compile({"p/Helper.java": "package p; public class Helper {}"}, timeout_s=20)
    assert first.compiled, first
    assert list(first.classes) == ["p/Helper.class"]
    second = javac.compile({"Main.java": "class Main { p.Helper h; }"}, timeout_s=20)
    assert not second.compiled
    assert "package p does not exist" in second.message
    again = javac.compile({"p/Helper.java": "package p; public class Helper {}"}, timeout_s=20)
    assert again.classes == first.classes


def test_sources_cannot_replace_what_the_platform_or_the_service_has(javac: Any) -> None:
    shadow = javac.compile({"String.java": "package java.lang; public class String {}"}, timeout_s=20)
    assert not shadow.compiled
    own = "package funcmem; public class CompilerService { static int x = 1; }"
    assert javac.compile({"CompilerService.java": own}, timeout_s=20).compiled
    uses = "class Main { Object f() { return new funcmem.CompilerService(); } }"
    assert not javac.compile({"Main.java": uses}, timeout_s=20).compiled


def test_a_class_that_no_file_can_be_named_after_does_not_count_as_compiled(javac: Any) -> None:
    docker_sandbox = require_engine()
    long = "x" * 300
    source = f"public class Main {{ public static void main(String[] a) {{ }} }} class {long} {{ }}"
    with docker_sandbox.DockerSandbox(programs=PROGRAMS, workers=1, language="java") as sandbox:
        run = compile_and_run(sandbox, "java", {"Main.java": source.encode()}, javac=javac)
        assert not run.compiled
        assert "File name too long" in run.first_message
        many = "public class Main { } " + " ".join(f"class C{n} {{ }}" for n in range(5000))
        run = compile_and_run(sandbox, "java", {"Main.java": many.encode()}, javac=javac)
        assert not run.compiled
        name, text = HONEST["java"]
        run = compile_and_run(sandbox, "java", {name: text.encode()}, INPUTS, javac=javac)
        assert run.result is not None
        assert run.result.stdout == OUTPUTS


def test_a_killed_compiler_is_started_again(javac: Any) -> None:
    assert javac.compile({"A.java": "class A {}"}, timeout_s=20).compiled
    service = javac._service
    service._container.kill()
    assert javac.compile({"A.java": "class A {}"}, timeout_s=20).compiled
    assert javac._service is not service


def test_a_closed_compiler_says_so() -> None:
    require_engine()
    from pytest_funcmem.core.errors import SandboxError
    from pytest_funcmem.sandbox.toolchains.warm_javac import WarmJavac

    compiler = WarmJavac(None, "none")
    compiler.close()
    compiler.close()
    with pytest.raises(SandboxError, match="closed"):
        compiler.compile({"A.java": "class A {}"}, timeout_s=1)


# ---------------------------------------------------------------------------------------------- the commands


def test_the_command_builds_the_image_of_one_language(capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    assert cli.main(["images", "build", "--language", "c"]) == 0
    language, image = capsys.readouterr().out.split()
    assert language == "c"
    assert image.startswith("sha256:")


def test_the_command_refuses_a_language_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    assert cli.main(["images", "build", "--language", "cobol"]) == 4
    assert "'cobol'" in capsys.readouterr().err


def test_the_doctor_removes_what_a_killed_run_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docker_sandbox = require_engine()
    from pytest_funcmem.sandbox.images.build import ensure_image
    from pytest_funcmem.sandbox.ownership import OWNER_LABEL, owner_labels

    client = docker_sandbox.connect()
    try:
        image = ensure_image(client)
        # Process numbers end far below this one: its owner is certainly dead.
        dead = {**owner_labels(), OWNER_LABEL: "99999999"}
        left = client.containers.create(image, command=["sleep", "60"], labels=dead, network_mode="none")
        alive = client.containers.create(
            image, command=["sleep", "60"], labels=owner_labels(), network_mode="none"
        )
        try:
            assert cli.main(["doctor", "--store", str(tmp_path)]) == 0
            present = {container.id for container in client.containers.list(all=True)}
            assert left.id not in present
            assert alive.id in present
        finally:
            alive.remove(force=True)
    finally:
        client.close()
    out = capsys.readouterr().out
    assert "ok    containers" in out
    assert "that a killed run had left" in out
    assert "ok    docker" in out
    assert image[:19] in out
