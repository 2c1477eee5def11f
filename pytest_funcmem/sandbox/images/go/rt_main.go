// Package rt runs a function on an input state that it makes from choices, and tells what came of it.
//
// It is compiled once, in the image. It knows nothing of the audited file but what Target says.
package rt

import (
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// Target is the function to run, and what is worth trying on it.
type Target struct {
	Function        any    // with the receiver, where there is one, as its first parameter
	Receiver        bool   // whether there is one
	Nilable         []bool // which parameters, the receiver among them, the function compares with nil
	Mentioned       []string
	Ints            []int64
	Floats          []float64
	Texts           []string
	Joints          []string // what texts are joined with
	Runes           []rune
	Sizes           []int // how long texts and lists are worth being
	Pools           map[reflect.Type][]any
	Factories       map[reflect.Type]func(*Maker) any
	Implementations map[reflect.Type][]func(*Maker) any
	Errors          []func(*Maker) error
	Dynamic         []reflect.Type // what an empty interface may hold
	Globals         []Global
	Keys            []string // that maps are asked for
	Extreme         bool     // whether floats at the ends of their range matter
	Environment     []string
	Flags           []string // that the program can be given
	Arguments       bool     // whether the program's arguments matter
	Input           bool     // whether standard input matters
	Files           bool     // whether files matter

	mentioned map[string]bool
}

// Global is a variable of the package.
type Global struct {
	Name    string
	Pointer any
	Fill    bool // whether its value is made up
	Vary    bool // whether it may be other than it begins

	beginning reflect.Value // a copy
}

var target Target

// Variant says which of several functions runs.
var Variant int

func (t *Target) mentions(name string) bool { return t.mentioned[name] }

type exception struct {
	kind, message, origin string
	own, authored         bool
}

var (
	records    = os.NewFile(3, "records")
	finished   bool
	receiver   reflect.Value
	arguments  []reflect.Value
	before     []string
	globalsNow []string
	shown      []string
	results    []reflect.Value
	around     []string // what surrounds the call, for people
	laid       []string // names of the files that were there before
	finishes   int      // 1 while a run is wrapped up; more where that ended the program
	closures   int      // functions that were called to see what they do
)

// Main runs the function on one state or, one after the other, on several, and ends the program.
//
// The program's argument is "variant directory seed choices", or "batch variant directory file": a file with a
// seed and choices a line. Records go to descriptor 3, a line each. A batch ends early where what a state left
// behind could be seen by the next; who wants the others begins anew.
func Main(t Target) {
	target = t
	target.mentioned = map[string]bool{}
	for _, name := range t.Mentioned {
		target.mentioned[name] = true
	}
	request := strings.Split(os.Args[1], " ")
	debug.SetMaxStack(16 << 20)
	if request[0] != "batch" {
		Variant = number10(request[0])
		runState(request[1], request[2], request[3])
		os.Exit(0)
	}
	batch = true
	Variant = number10(request[1])
	content, err := os.ReadFile(request[3])
	if err != nil {
		os.Exit(98)
	}
	environment := os.Environ()
	for i, global := range target.Globals {
		target.Globals[i].beginning = reflect.New(reflect.TypeOf(global.Pointer).Elem()).Elem()
		target.Globals[i].beginning.Set(reflect.ValueOf(global.Pointer).Elem())
		untouched = append(untouched, encode(reflect.ValueOf(global.Pointer).Elem(), false))
	}
	goroutines := runtime.NumGoroutine()
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		seed, choices, _ := strings.Cut(line, " ")
		reset(environment)
		redirect(request[3])
		runState(request[2], seed, choices)
		if target.Files || len(laid) > 0 || runtime.NumGoroutine() > goroutines || touched() {
			break
		}
	}
	os.Exit(0)
}

// runState makes one state, runs the function on it, and reports.
func runState(place, seed, choices string) {
	current.seed = uint64(number10(seed))
	for _, choice := range strings.Split(choices, ",") {
		if choice != "" {
			current.choices = append(current.choices, uint32(number10(choice)))
		}
	}
	os.Args = []string{"program"}
	tame()
	if err := os.Chdir(place); err != nil {
		os.Stderr.WriteString("no working directory\n")
		os.Exit(97)
	}
	directory, _ = os.Getwd()
	surroundings()
	m := &Maker{}
	for i := range target.Globals {
		if global := &target.Globals[i]; global.Fill {
			filler := &Maker{place: hashText("global " + global.Name), answer: true, global: true}
			value := reflect.ValueOf(global.Pointer).Elem()
			value.SetZero()
			filler.Fill(value)
			around = append(around, global.Name+" = "+show(value))
		} else if global.Vary {
			global.vary()
		}
	}
	function := reflect.ValueOf(target.Function)
	kind := function.Type()
	arguments = make([]reflect.Value, kind.NumIn())
	for i := range arguments {
		m.depth = 0
		if !target.Receiver || i > 0 {
			m.depth = 1
		}
		arguments[i] = reflect.New(kind.In(i)).Elem()
		if i >= len(target.Nilable) || !target.Nilable[i] || m.Below(8) != 7 {
			m.Fill(arguments[i])
		}
		shown = append(shown, show(arguments[i]))
		before = append(before, encode(arguments[i], kind.In(i).Kind() == reflect.Interface))
	}
	for _, global := range target.Globals {
		globalsNow = append(globalsNow, encode(reflect.ValueOf(global.Pointer).Elem(), false))
	}
	starting = false
	functions = 0
	outcome, failure := invoke(function, kind.IsVariadic())
	for range 60 {
		runtime.Gosched()
	}
	finish(outcome, results, failure)
}

func number10(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		os.Exit(96)
	}
	return n
}

func invoke(function reflect.Value, variadic bool) (outcome string, failure exception) {
	outcome = "raised"
	ended := false
	defer func() {
		if value := recover(); value != nil {
			failure = describe(value)
		} else if !ended {
			// The goroutine is ending, and nothing behind this would run.
			finish(outcome, nil, exception{kind: "runtime.Goexit", origin: "function", own: true, authored: true})
			syscall.Exit(0)
		}
	}()
	if variadic {
		results = function.CallSlice(arguments)
	} else {
		results = function.Call(arguments)
	}
	ended = true
	return "returned", exception{}
}

// describe tells of a panic where it came from and who wrote its message.
func describe(value any) exception {
	found := exception{kind: reflect.TypeOf(value).String(), origin: "library"}
	_, byRuntime := value.(runtime.Error)
	func() {
		defer func() {
			if recover() != nil {
				found.message = "(its message panics)"
			}
		}()
		switch value := value.(type) {
		case error:
			found.message = value.Error()
		case string:
			found.message = value
		default:
			found.message = encode(reflect.ValueOf(value), false)
		}
	}()
	found.message = strings.ToValidUTF8(found.message, "?")
	counters := make([]uintptr, 64)
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters)])
	panicked := false
	for {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") && frame.File != "<autogenerated>" {
			switch file := frame.File[strings.LastIndexByte(frame.File, '/')+1:]; {
			case strings.HasPrefix(frame.Function, "funcmem/rt."):
				found.origin = "scaffold"
			case !strings.HasPrefix(frame.Function, "main."):
			case strings.HasPrefix(file, "function"):
				found.origin = "function"
			case file == "file.go":
				found.origin = "file"
			default:
				found.origin = "scaffold"
			}
			break
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			break
		}
	}
	found.own = found.origin == "function" || found.origin == "file"
	found.authored = found.own && !byRuntime
	return found
}

// endless ends a run that asks or steps without end.
func endless() {
	report(`{"outcome":"endless"}`)
	os.Exit(95)
}

func report(text string) {
	finished = true
	records.WriteString(text + "\n")
}

func finish(outcome string, results []reflect.Value, failure exception) {
	if finished {
		return
	}
	finishes++
	var out strings.Builder
	field := func(name, value string) { out.WriteString(`,"` + name + `":` + value) }
	out.WriteString(`{"outcome":` + quote(outcome))
	value, raised := "null", "null"
	if outcome == "returned" {
		value = encodeResults(results)
	} else {
		raised = `{"type":` + quote(failure.kind) + `,"message":` + quote(failure.message) + `,"own":` +
			strconv.FormatBool(failure.own) + `,"authored":` + strconv.FormatBool(failure.authored) +
			`,"origin":` + quote(failure.origin) + `}`
	}
	field("value", value)
	field("exception", raised)
	after := make([]string, len(arguments))
	for i, argument := range arguments {
		after[i] = `["unchanged"]`
		if i >= len(before) {
			continue
		}
		if now := encode(argument, argument.Kind() == reflect.Interface); now != before[i] {
			after[i] = now
		}
	}
	first := 0
	if target.Receiver && len(after) > 0 {
		field("receiver", after[0])
		first = 1
	} else {
		field("receiver", "null")
	}
	var parts []string
	for i := first; i < len(after); i++ {
		parts = append(parts, quote(strconv.Itoa(i-first))+":"+after[i])
	}
	field("arguments", "{"+strings.Join(parts, ",")+"}")
	parts = nil
	for i, global := range target.Globals {
		if i >= len(globalsNow) {
			break
		}
		if now := encode(reflect.ValueOf(global.Pointer).Elem(), false); now != globalsNow[i] {
			parts = append(parts, quote(global.Name)+":"+now)
		}
	}
	field("module_globals", "{"+strings.Join(parts, ",")+"}")
	field("calls", "["+strings.Join(calls, ",")+"]")
	field("lines", numbers(probesRun()))
	field("features", numbers(features()))
	field("choices_used", strconv.Itoa(current.asked))
	field("laid", "["+strings.Join(laid, ",")+"]")
	field("made_up", strconv.FormatBool(askedMadeUp))
	parts = nil
	for _, text := range append(shown, around...) {
		parts = append(parts, quote(strings.ToValidUTF8(text, "?")))
	}
	field("shown", "["+strings.Join(parts, ",")+"]")
	if batch {
		for name, file := range streams {
			content, _ := os.ReadFile(file.Name())
			field(name, quote(latin(string(content))))
		}
	}
	out.WriteString("}")
	report(out.String())
}

func numbers(values []int) string {
	parts := make([]string, len(values))
	for i, value := range values {
		parts[i] = strconv.Itoa(value)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// encodeResults also calls the functions among the results, for what they do is what was returned.
func encodeResults(results []reflect.Value) string {
	parts := make([]string, len(results))
	for i, result := range results {
		inner := result
		if inner.Kind() == reflect.Interface {
			inner = inner.Elem()
		}
		if inner.IsValid() && inner.Kind() == reflect.Func && !inner.IsNil() {
			parts[i] = encodeFunction(inner)
			continue
		}
		if inner.IsValid() && inner.Kind() == reflect.Chan && !inner.IsNil() && inner.Type().ChanDir() != reflect.SendDir {
			parts[i] = encodeChannel(inner)
			continue
		}
		parts[i] = encode(result, result.Kind() == reflect.Interface)
	}
	switch len(parts) {
	case 0:
		return "null"
	case 1:
		return parts[0]
	}
	return `["tuple",[` + strings.Join(parts, ",") + "]]"
}

func encodeFunction(function reflect.Value) (text string) {
	m := &Maker{place: hashText("returned function"), answer: true}
	var parts []string
	for range 3 {
		parts = append(parts, func() (text string) {
			defer func() {
				if value := recover(); value != nil {
					failure := describe(value)
					text = `["object","panic",[["type",` + quote(failure.kind) + `],["message",`
					if failure.authored {
						text += quote(failure.message) + `]],null]`
					} else {
						text += `null]],null]`
					}
				}
			}()
			nesting++
			in := m.argumentsFor(function.Type())
			before := make([]string, len(in))
			for i, value := range in {
				before[i] = encode(value, value.Kind() == reflect.Interface)
			}
			out := call(function, in)
			nesting--
			encoded := make([]string, len(out))
			for i, value := range out {
				encoded[i] = encode(value, value.Kind() == reflect.Interface)
			}
			for i, value := range in {
				// What it did to what it was given.
				if now := encode(value, value.Kind() == reflect.Interface); now != before[i] {
					encoded = append(encoded, `["object","argument",[["place",`+strconv.Itoa(i)+`],["now",`+now+`]],null]`)
				}
			}
			return `["list",[` + strings.Join(encoded, ",") + "]]"
		}())
	}
	return `["object",` + quote(function.Type().String()) + `,[],["list",[` + strings.Join(parts, ",") + "]]]"
}

func encodeChannel(channel reflect.Value) string {
	var parts []string
	ended := "open"
	for idle := 0; idle < 200 && len(parts) < 100; {
		value, ok := channel.TryRecv()
		if ok {
			parts = append(parts, encode(value, value.Kind() == reflect.Interface))
			idle = 0
			continue
		}
		if value.IsValid() {
			ended = "closed"
			break
		}
		idle++
		runtime.Gosched()
	}
	return `["object",` + quote(channel.Type().String()) + `,[["end","` + ended + `"]],["list",[` + strings.Join(parts, ",") + "]]]"
}
