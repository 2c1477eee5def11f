package rt

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// What the system says beside what it does: files that cannot be had, variables of the environment that are set.

var (
	directory string // in which the function runs
	denied    map[string]int
)

var own = []string{"/dev/", "/proc/", "/sys/", "/etc/", "/usr/", "|"} // what the library itself needs

var rarely = map[string]bool{"read": true, "write": true, "close": true, "sync": true}

// fails decides about an operation on a file: the same on the same file always ends alike, and is no call that is
// logged, since whoever does with one operation what others do with two does the same.
func fails(operation, name string) int {
	if starting || finished || name == "" || slices.ContainsFunc(own, func(start string) bool { return strings.HasPrefix(name, start) }) {
		return 0
	}
	world.Lock()
	defer world.Unlock()
	name = strings.TrimPrefix(strings.TrimPrefix(name, directory), "/")
	question := operation + " " + name
	if found, ok := denied[question]; ok {
		return found
	}
	m := &Maker{place: hashText("fails " + question), answer: true}
	found, most := 0, 8
	if rarely[operation] {
		most = 16
	}
	if m.Below(most) == most-1 {
		found = 1 + m.Below(4)
		askedMadeUp = true
		around = append(around, question+": "+[]string{"permission denied", "does not exist", "exists", "I/O error"}[found-1])
	}
	if denied == nil {
		denied = map[string]int{}
	}
	denied[question] = found
	return found
}

// environment sets variables that the audited code asks for by names that it puts together.
func environment(name string) (string, bool) {
	if starting || finished || slices.Contains(target.Environment, name) || !isAskedByFunction() {
		return "", false
	}
	world.Lock()
	defer world.Unlock()
	m := &Maker{place: hashText("environment " + name), answer: true}
	if m.Below(3) == 0 {
		return "", false
	}
	value := strings.ReplaceAll(m.Text(), "\x00", "")
	if entry := name + "=" + strconv.Quote(value); !slices.Contains(around, entry) {
		around = append(around, entry)
	}
	askedMadeUp = true
	return value, true
}

// isAskedByFunction tells whether a question to the library comes from audited code, not from the library itself.
func isAskedByFunction() bool {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		switch {
		case strings.HasPrefix(frame.Function, "main."):
			return true
		case !strings.HasPrefix(frame.Function, "os.") && !strings.HasPrefix(frame.Function, "funcmem/rt.") || !more:
			return false
		}
	}
}
