package rt

import (
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// What the system says beside what it does: files that cannot be had, variables of the environment that are set.

var (
	directory string // in which the function runs
	decided   map[string]int // by question: how an operation fails, or what was laid
)

var own = []string{"/dev/", "/proc/", "/sys/", "/etc/", "/usr/", "|"} // what the library itself needs

var rarely = map[string]bool{"read": true, "write": true, "close": true, "sync": true}

// isForeign tells whether a file is none of the function's business, or whether it is not the function that asks.
func isForeign(name string) bool {
	starts := func(start string) bool { return strings.HasPrefix(name, start) }
	return starting || finished || name == "" || slices.ContainsFunc(own, starts)
}

// inside gives the name of a file as the function's directory has it.
func inside(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, directory), "/")
}

// fails decides about an operation on a file: the same on the same file always ends alike, and is no call that is
// logged, since whoever does with one operation what others do with two does the same.
func fails(operation, name string) int {
	if isForeign(name) {
		return 0
	}
	world.Lock()
	defer world.Unlock()
	question := operation + " " + inside(name)
	if found, ok := decided[question]; ok {
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
	decide(question, found)
	return found
}

func decide(question string, answer int) {
	if decided == nil {
		decided = map[string]int{}
	}
	decided[question] = answer
}

// lay makes a file or a folder that the function looks at and that is not there, or leaves it missing. It asks the
// system itself, as its questions are not the function's.
func lay(name string, folder bool) {
	if isForeign(name) || strings.HasPrefix(name, "/") && !strings.HasPrefix(name, directory+"/") || strings.Contains(name, "..") {
		return
	}
	world.Lock()
	defer world.Unlock()
	name = inside(name)
	path := filepath.Join(directory, name)
	if _, ok := decided["lay "+name]; ok || path == directory || syscall.Lstat(path, new(syscall.Stat_t)) != syscall.ENOENT {
		return
	}
	m := &Maker{place: hashText("lay " + name), answer: true}
	decide("lay "+name, 0)
	if m.Below(2) == 0 {
		return
	}
	made := []string{path}
	if folder {
		made = append(made, filepath.Join(path, "a.txt"), filepath.Join(path, "b.json"))
	}
	for parent := filepath.Dir(path); parent != directory; parent = filepath.Dir(parent) {
		made = append([]string{parent}, made...)
	}
	for _, item := range made {
		if item == path && !folder || len(item) > len(path) {
			text := ""
			for range m.Below(6) {
				text += m.Text() + "\n"
			}
			file, err := syscall.Open(item, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL, 0o644)
			if err != nil {
				continue
			}
			syscall.Write(file, []byte(text))
			syscall.Close(file)
			around = append(around, inside(item)+": "+strconv.Quote(text))
		} else if syscall.Mkdir(item, 0o755) != nil {
			continue
		}
		laid = append(laid, quote(strings.ToValidUTF8(inside(item), "?")))
	}
	old := syscall.NsecToTimespec((startSecond() - 7200) * 1_000_000_000)
	for place := len(made) - 1; place >= 0; place-- {
		syscall.UtimesNano(made[place], []syscall.Timespec{old, old})
	}
	askedMadeUp = true
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
