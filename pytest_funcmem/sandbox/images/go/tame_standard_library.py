"""Changes the standard library of the image, so that a program that asks for it runs the same every time.

Clock, sleep, random numbers, exits, and what asks other machines and programs, ask ``internal/funcmem``
first, which does nothing until a program sets its hooks. Channels ask it where all goroutines wait. The order
of maps and of ready ``select`` cases, and the seeds of hashes, are always fixed.
"""

from __future__ import annotations

import sys
from pathlib import Path

ADDED = {
    "std_funcmem.go": "internal/funcmem/funcmem.go",
    "std_os.go": "os/funcmem.go",
    "std_os_exec.go": "os/exec/funcmem.go",
    "std_os_user.go": "os/user/funcmem.go",
    "std_net.go": "net/funcmem.go",
    "std_net_http.go": "net/http/funcmem.go",
    "std_runtime.go": "runtime/funcmem.go",
}
"""Files beside this one that become files of the standard library."""

FALLIBLE = (
    (
        "file.go",
        "OpenFile(name string, flag int, perm FileMode) (*File, error)",
        '[]string{"open", "create"}[flag&O_CREATE/O_CREATE], name',
        "nil, err",
    ),
    ("file.go", "Mkdir(name string, perm FileMode) error", '"mkdir", name', "err"),
    ("file.go", "Chdir(dir string) error", '"chdir", dir', "err"),
    ("file.go", "Rename(oldpath, newpath string) error", '"rename", oldpath', "err"),
    ("file.go", "(f *File) Read(b []byte) (n int, err error)", '"read", nameOf(f)', "0, err"),
    ("file.go", "(f *File) Write(b []byte) (n int, err error)", '"write", nameOf(f)', "0, err"),
    ("file_posix.go", "(f *File) Close() error", '"close", nameOf(f)', "err"),
    ("file_posix.go", "(f *File) Sync() error", '"sync", nameOf(f)', "err"),
    (
        "file_posix.go",
        "Chtimes(name string, atime time.Time, mtime time.Time) error",
        '"chtimes", name',
        "err",
    ),
    ("file_unix.go", "Remove(name string) error", '"remove", name', "err"),
    ("path.go", "RemoveAll(path string) error", '"unlinkat", path', "err"),
    ("stat.go", "Stat(name string) (FileInfo, error)", '"stat", name', "nil, err"),
    ("stat.go", "Lstat(name string) (FileInfo, error)", '"stat", name', "nil, err"),
    ("stat_unix.go", "(f *File) Stat() (FileInfo, error)", '"stat", nameOf(f)', "nil, err"),
    ("dir.go", "ReadDir(name string) ([]DirEntry, error)", '"readdir", name', "nil, err"),
)
"""Operations on files that may fail: file, signature, what fails on what, and what is given back then."""

PEOPLE = (
    ("Current", "", "User", '"", ""'),
    ("Lookup", "username string", "User", 'username, ""'),
    ("LookupId", "uid string", "User", '"", uid'),
    ("LookupGroup", "name string", "Group", 'name, ""'),
    ("LookupGroupId", "gid string", "Group", '"", gid'),
)
"""Questions for users and groups: function, parameters, what is given back, and what is asked."""

CHANGES = (
    ("time/time.go", 'import (\n\t"errors"\n', 'import (\n\t"errors"\n\t"internal/funcmem"\n'),
    (
        "time/time.go",
        "\nfunc Now() Time {\n",
        "\nfunc Now() Time {\n\tif funcmem.Clock != nil {\n\t\tsec, nsec := funcmem.Clock()\n"
        "\t\treturn Time{uint64(nsec), sec + unixToInternal, Local}\n\t}\n",
    ),
    ("time/sleep.go", 'import (\n\t"unsafe"\n', 'import (\n\t"internal/funcmem"\n\t"unsafe"\n'),
    (
        "time/sleep.go",
        "\nfunc Sleep(d Duration)\n",
        "\nfunc Sleep(d Duration) {\n\tif funcmem.Sleep != nil {\n\t\tfuncmem.Sleep(int64(d))\n"
        "\t\treturn\n\t}\n"
        "\truntimeSleep(d)\n}\n\nfunc runtimeSleep(d Duration)\n",
    ),
    # Whoever waits for a timer waits a thousandth of the time.
    (
        "time/sleep.go",
        "\tt := runtimeNano() + int64(d)\n",
        "\tif funcmem.Clock != nil {\n\t\td /= 1000\n\t}\n\tt := runtimeNano() + int64(d)\n",
    ),
    (
        "runtime/time.go",
        "//go:linkname timeSleep time.Sleep\n",
        "//go:linkname timeSleep time.runtimeSleep\n",
    ),
    (
        "runtime/rand.go",
        "\tglobalRand.state.Init(*seed)\n",
        "\tclear(seed[:])\n\tglobalRand.state.Init(*seed)\n",
    ),
    (
        "runtime/rand.go",
        "func maps_rand() uint64 {\n\treturn rand()\n",
        "func maps_rand() uint64 {\n\treturn 0\n",
    ),
    ("runtime/select.go", "\t\tj := cheaprandn(uint32(norder + 1))\n", "\t\tj := uint32(norder)\n"),
    (
        "math/rand/rand.go",
        "//go:linkname runtime_rand runtime.rand\nfunc runtime_rand() uint64\n",
        "//go:linkname runtimeRandom runtime.rand\nfunc runtimeRandom() uint64\n\n"
        "func runtime_rand() uint64 {\n\tif funcmem.Random != nil {\n\t\treturn funcmem.Random()\n\t}\n"
        "\treturn runtimeRandom()\n}\n",
    ),
    (
        "math/rand/rand.go",
        'import (\n\t"internal/godebug"\n',
        'import (\n\t"internal/funcmem"\n\t"internal/godebug"\n',
    ),
    (
        "math/rand/v2/rand.go",
        "//go:linkname runtime_rand runtime.rand\nfunc runtime_rand() uint64\n",
        "//go:linkname runtimeRandom runtime.rand\nfunc runtimeRandom() uint64\n\n"
        "func runtime_rand() uint64 {\n\tif funcmem.Random != nil {\n\t\treturn funcmem.Random()\n\t}\n"
        "\treturn runtimeRandom()\n}\n",
    ),
    ("math/rand/v2/rand.go", 'import (\n\t"math/bits"\n', 'import (\n\t"internal/funcmem"\n\t"math/bits"\n'),
    (
        "os/proc.go",
        'import (\n\t"internal/testlog"\n',
        'import (\n\t"internal/funcmem"\n\t"internal/testlog"\n',
    ),
    (
        "os/proc.go",
        "\nfunc Exit(code int) {\n",
        "\nfunc Exit(code int) {\n\tif funcmem.Exit != nil {\n\t\tfuncmem.Exit(code)\n\t}\n",
    ),
    (
        "crypto/rand/rand.go",
        "\nfunc Read(b []byte) (n int, err error) {\n",
        "\nfunc Read(b []byte) (n int, err error) {\n"
        "\tif funcmem.Random != nil && rand.IsDefaultReader(Reader) {\n"
        "\t\tfor i := range b {\n\t\t\tb[i] = byte(funcmem.Random())\n\t\t}\n\t\treturn len(b), nil\n\t}\n",
    ),
    (
        "crypto/internal/rand/rand.go",
        "\nfunc (r reader) Read(b []byte) (n int, err error) {\n",
        "\nfunc (r reader) Read(b []byte) (n int, err error) {\n\tif funcmem.Random != nil {\n"
        "\t\tfor i := range b {\n\t\t\tb[i] = byte(funcmem.Random())\n\t\t}\n\t\treturn len(b), nil\n\t}\n",
    ),
    (
        "crypto/internal/rand/rand.go",
        'import (\n\t"crypto/internal/boring"\n',
        'import (\n\t"internal/funcmem"\n\t"crypto/internal/boring"\n',
    ),
    (
        "crypto/rand/rand.go",
        'import (\n\t"crypto/internal/boring"\n',
        'import (\n\t"internal/funcmem"\n\t"crypto/internal/boring"\n',
    ),
    (
        "runtime/chan.go",
        "\tchansend(c, elem, true, sys.GetCallerPC())\n",
        "\tpc := sys.GetCallerPC()\n\tif madeUpSend(c, elem, pc) {\n\t\treturn\n\t}\n"
        "\tchansend(c, elem, true, pc)\n",
    ),
    (
        "runtime/chan.go",
        "\nfunc chanrecv1(c *hchan, elem unsafe.Pointer) {\n",
        "\nfunc chanrecv1(c *hchan, elem unsafe.Pointer) {\n"
        "\tif served, _ := madeUpReceive(c, elem, sys.GetCallerPC()); served {\n\t\treturn\n\t}\n",
    ),
    (
        "runtime/chan.go",
        "\nfunc chanrecv2(c *hchan, elem unsafe.Pointer) (received bool) {\n",
        "\nfunc chanrecv2(c *hchan, elem unsafe.Pointer) (received bool) {\n"
        "\tif served, received := madeUpReceive(c, elem, sys.GetCallerPC()); served {\n"
        "\t\treturn received\n\t}\n",
    ),
    (
        "runtime/select.go",
        "\tscases := cas1[:ncases:ncases]\n",
        "\tscases := cas1[:ncases:ncases]\n\tif block {\n"
        "\t\tif chosen, received := madeUpSelect(scases, nsends, sys.GetCallerPC()); chosen >= 0 {\n"
        "\t\t\treturn chosen, received\n\t\t}\n\t}\n",
    ),
    ("os/tempfile.go", "uint64(uint32(runtime_rand()))", "uint64(uint32(randomBits()))"),
    (
        "os/sys.go",
        "func Hostname() (name string, err error) {\n",
        "func Hostname() (name string, err error) {\n\tif name, err, ok := madeUpHostname(); ok {\n"
        "\t\treturn name, err\n\t}\n",
    ),
    (
        "os/exec/lookpath.go",
        "func LookPath(file string) (string, error) {\n",
        "func LookPath(file string) (string, error) {\n\tif path, err, ok := madeUpPath(file); ok {\n"
        "\t\treturn path, err\n\t}\n",
    ),
    ("os/exec/exec.go", "\tstarted := false\n", "\tstarted, madeUp := false, c.madeUp()\n"),
    (
        "os/exec/exec.go",
        "\tc.Process, err = os.StartProcess(lp, c.argv(), &os.ProcAttr{\n\t\tDir:   c.Dir,\n",
        "\targv, dir, sys := c.argv(), c.Dir, c.SysProcAttr\n"
        '\tif madeUp != nil {\n\t\tlp, argv, dir, sys = madeUp[0], madeUp, "", nil\n\t}\n'
        "\tc.Process, err = os.StartProcess(lp, argv, &os.ProcAttr{\n\t\tDir:   dir,\n",
    ),
    ("os/exec/exec.go", "\t\tSys:   c.SysProcAttr,\n", "\t\tSys:   sys,\n"),
    (
        "net/dial.go",
        "(ctx context.Context, network, address string) (Conn, error) {\n\tctx, cancel := d.dialCtx(ctx)\n",
        "(ctx context.Context, network, address string) (Conn, error) {\n"
        "\tif conn, err, ok := madeUpDial(network, address); ok {\n\t\treturn conn, err\n\t}\n"
        "\tctx, cancel := d.dialCtx(ctx)\n",
    ),
    (
        "net/http/roundtrip.go",
        "\treturn t.roundTrip(req)\n",
        "\tif response, err, ok := madeUpResponse(req); ok {\n\t\treturn response, err\n\t}\n"
        "\treturn t.roundTrip(req)\n",
    ),
    *(
        (
            f"os/{file}",
            f"\nfunc {signature} {{\n",
            f"\nfunc {signature} {{\n"
            f"\tif err := madeUpFailure({asked}); err != nil {{\n\t\treturn {failed}\n\t}}\n",
        )
        for file, signature, asked, failed in FALLIBLE
    ),
    (
        "os/file.go",
        "func Chmod(name string, mode FileMode) error { return chmod(name, mode) }",
        "func Chmod(name string, mode FileMode) error {\n"
        '\tif err := madeUpFailure("chmod", name); err != nil {\n\t\treturn err\n\t}\n'
        "\treturn chmod(name, mode)\n}",
    ),
    ("os/env.go", "\tv, _ := syscall.Getenv(key)\n\treturn v\n", "\tv, _ := LookupEnv(key)\n\treturn v\n"),
    (
        "os/env.go",
        "\treturn syscall.Getenv(key)\n}\n\n// Setenv",
        "\tif value, ok := syscall.Getenv(key); ok {\n\t\treturn value, true\n\t}\n"
        "\treturn madeUpVariable(key)\n}\n\n// Setenv",
    ),
    *(
        (
            "os/user/lookup.go",
            f"\nfunc {question}({given}) (*{kind}, error) {{\n",
            f"\nfunc {question}({given}) (*{kind}, error) {{\n"
            f'\tif found, err, ok := madeUp{kind}("{question}", {asked}); ok {{\n'
            "\t\treturn found, err\n\t}\n",
        )
        for question, given, kind, asked in PEOPLE
    ),
)
"""File, text that stands in it exactly once, and what to put there."""


def main(sources: Path) -> None:
    """Change the sources of a Go distribution.

    Args:
        sources: Its directory ``src``.

    Raises:
        SystemExit: A text is not there: another version of Go, for which this list has to be looked through.
    """
    for name, place in ADDED.items():
        (sources / place).parent.mkdir(exist_ok=True)
        (sources / place).write_bytes((Path(__file__).parent / name).read_bytes())
    for name, old, new in CHANGES:
        path = sources / name
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{name} holds {old!r} {text.count(old)} times instead of once")
        path.write_text(text.replace(old, new), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
