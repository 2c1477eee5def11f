package rt

import (
	"os"
	"reflect"
	"strings"
	"syscall"
)

// In a batch, one process runs several states, so that a search need not start a process for each.
var (
	batch     bool
	untouched []string                // the variables of the package as they were at the start
	streams   = map[string]*os.File{} // where standard output and error go meanwhile
)

// reset forgets the state before.
func reset(environment []string) {
	finishes, closures = 0, 0
	made, functions, asked, nesting, steps, previous = 0, 0, 0, 0, 0, 0
	clockNanos, randomState = 0, 0
	calls, before, globalsNow, shown, around, laid, givenTexts = nil, nil, nil, nil, nil, nil, nil
	decided = nil
	results, arguments = nil, nil
	ordinals, channels = map[string]int{}, map[uintptr]string{}
	askedMadeUp, starting, finished = false, true, false
	hit, edges = [mostProbes]bool{}, [1 << edgeBits]uint32{}
	current = state{}
	os.Clearenv()
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		os.Setenv(name, value)
	}
}

// redirect sends standard output and error to new files beside the file of the states.
func redirect(beside string) {
	for number, name := range []string{"stdout", "stderr"} {
		if old := streams[name]; old != nil {
			old.Close()
		}
		file, err := os.OpenFile(beside+"."+name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			os.Exit(94)
		}
		streams[name] = file
		syscall.Dup3(int(file.Fd()), number+1, 0)
	}
}

// harmless are opaque values that either never change or hold nothing that a function could tell.
var harmless = []string{
	"sync.Mutex", "sync.RWMutex", "sync.Pool", "reflect.Value", "os.File", "http.Client", "template.Template",
	"context.backgroundCtx", "context.todoCtx", "strings.Replacer",
}

// touched tells whether a later state could see what this one did to the package.
func touched() bool {
	for i, global := range target.Globals {
		if global.Fill {
			continue
		}
		value := reflect.ValueOf(global.Pointer).Elem()
		if global.Vary {
			value = global.beginning // what it points to may have been changed
		}
		now := encode(value, false)
		if now != untouched[i] {
			return true
		}
		for _, kind := range harmless {
			now = strings.ReplaceAll(now, `["opaque","`+kind+`"]`, "")
		}
		if strings.Contains(now, `["opaque",`) || strings.Contains(now, `["cut",`) {
			return true // it may have changed inside
		}
	}
	return false
}
