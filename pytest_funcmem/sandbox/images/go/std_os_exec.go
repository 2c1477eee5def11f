package exec

import (
	"internal/funcmem"
	"path/filepath"
	"strconv"
	"strings"
)

// madeUpPath says where a program lies, where the world outside is made up.
func madeUpPath(file string) (path string, err error, ok bool) {
	if funcmem.Outside == nil || strings.Contains(file, "/") {
		return "", nil, false
	}
	if file == "" || funcmem.Outside("exec.LookPath", file).Below(6) == 5 {
		return "", &Error{file, ErrNotFound}, true
	}
	return filepath.Join("/usr/bin", file), nil, true
}

// madeUp is the command that runs in place of one where the world outside is made up: it says what that says.
func (c *Cmd) madeUp() []string {
	if funcmem.Outside == nil || c.Err != nil {
		return nil
	}
	answers := funcmem.Outside("exec.Cmd", append([]string{c.Dir}, c.Args...)...)
	out, said, status := "", "", 0
	switch answers.Below(4) {
	case 0:
		out = answers.Text() + "\n"
	case 1:
		out = answers.Text()
	case 2:
		out = answers.Text() + "\n" + answers.Text() + "\n"
	default:
		said, status = answers.Text()+"\n", answers.Number(1, 255)
	}
	plain := func(text string) string { return strings.ReplaceAll(text, "\x00", "") }
	script := `printf %s "$1"; printf %s "$2" >&2; exit "$3"`
	return []string{"/bin/sh", "-c", script, "sh", plain(out), plain(said), strconv.Itoa(status)}
}
