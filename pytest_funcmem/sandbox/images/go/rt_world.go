package rt

import (
	"internal/funcmem"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const (
	epochSecond = 1_709_294_400 // 2024-03-01 12:00:00 UTC
	stepNanos   = 1_000         // by which the clock advances from one look to the next
	mostCalls   = 2_000
)

var (
	world       sync.Mutex
	clockNanos  int64
	randomState uint64
	calls       []string
	ordinals    = map[string]int{}
	askedMadeUp bool
	asked       int
	nesting     int
	starting    = true // while inputs are made, nothing is logged
)

func startSecond() int64 {
	return epochSecond + int64(current.seed%97)*3607
}

// tame sets the hooks of the standard library.
func tame() {
	randomState = mix(current.seed ^ 0x5eed)
	funcmem.Random = func() uint64 {
		randomState += 0x9e3779b97f4a7c15
		return mix(randomState)
	}
	funcmem.Clock = func() (int64, int32) {
		clockNanos += stepNanos
		return startSecond() + clockNanos/1_000_000_000, int32(clockNanos % 1_000_000_000)
	}
	funcmem.Sleep = func(ns int64) {
		if ns > 0 {
			clockNanos += ns
		}
		for range 10 {
			runtime.Gosched()
		}
	}
	funcmem.Outside, funcmem.Environment = outside, environment
	funcmem.Fails, funcmem.Lay = fails, lay
	funcmem.Receive, funcmem.Send, funcmem.Select = received, sent, selected
	funcmem.Exit = func(code int) {
		if !finished {
			finish("raised", nil, exception{kind: "os.Exit", message: strconv.Itoa(code), own: true, authored: true, origin: "function"})
		}
		if batch {
			syscall.Exit(0)
		}
	}
}

// Call is what a made-up function does: it logs the call and makes its results.
func Call(name string, in []any, out ...any) {
	arguments := make([]reflect.Value, len(in))
	for i, value := range in {
		arguments[i] = reflect.ValueOf(value).Elem()
	}
	results := make([]reflect.Value, len(out))
	for i, pointer := range out {
		results[i] = reflect.ValueOf(pointer).Elem()
	}
	answer(name, arguments, results)
}

func answer(name string, in, out []reflect.Value) {
	world.Lock()
	asked++
	if asked > mostCalls {
		world.Unlock()
		endless()
	}
	encoded := make([]string, len(in))
	for i, value := range in {
		encoded[i] = encode(value, value.Kind() == reflect.Interface)
	}
	key := name + "(" + strings.Join(encoded, ",") + ")"
	nth := ordinals[key]
	ordinals[key]++
	askedMadeUp = askedMadeUp || !starting
	m := &Maker{place: hashText(key + "#" + strconv.Itoa(nth)), answer: true}
	m.texts = append(m.texts, givenTexts...)
	failed := false
	for i := len(out) - 1; i >= 0; i-- { // the error comes last, and decides about the others
		m.depth = 1
		if failed && out[i].Type() != errorType {
			continue
		}
		m.Fill(out[i])
		if out[i].Type() == errorType && !out[i].IsNil() {
			failed = true
		}
	}
	if !failed {
		m.fillArguments(name, in, out)
	}
	answers := make([]string, len(out))
	for i, value := range out {
		answers[i] = encode(value, value.Kind() == reflect.Interface)
	}
	if !starting && len(calls) < mostCalls {
		calls = append(calls, `{"path":`+quote(strings.ToValidUTF8(name, "?"))+`,"arguments":[`+strings.Join(encoded, ",")+
			`],"keywords":{},"answer":["list",[`+strings.Join(answers, ",")+`]]}`)
	}
	world.Unlock()
	m.callBack(in)
}

var filling = []string{
	"unmarshal", "decode", "scan", "parse", "load", "read", "bind", "get", "var", "fill", "find", "first", "query",
}

// fillArguments puts something into what a function takes to write into.
func (m *Maker) fillArguments(name string, in, out []reflect.Value) {
	last := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	wanted := false
	for _, word := range filling {
		wanted = wanted || strings.Contains(last, word)
	}
	if !wanted {
		return
	}
	for _, value := range in {
		if value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		switch {
		case value.Kind() == reflect.Pointer && !value.IsNil() && value.Elem().CanSet() && value.Elem().IsZero() && !isOpaque(value.Type().Elem()):
			m.Fill(value.Elem())
		case value.Kind() == reflect.Slice && value.Type().Elem() == byteType && strings.HasPrefix(last, "read"):
			n := reflect.Copy(value, reflect.ValueOf([]byte(m.Text())))
			if len(out) > 0 && out[0].CanInt() {
				out[0].SetInt(int64(n))
			}
		}
	}
}

// callBack calls the functions that a made-up function was given.
func (m *Maker) callBack(in []reflect.Value) {
	if nesting > 3 {
		return
	}
	nesting++
	defer func() { nesting-- }()
	for _, value := range in {
		if value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		if value.Kind() != reflect.Func || value.IsNil() {
			continue
		}
		for range []int{1, 2, 0, 1}[m.Below(4)] {
			m.callOnce(value)
		}
	}
}

func (m *Maker) callOnce(function reflect.Value) []reflect.Value {
	return call(function, m.argumentsFor(function.Type()))
}

func (m *Maker) argumentsFor(kind reflect.Type) []reflect.Value {
	arguments := make([]reflect.Value, kind.NumIn())
	for i := range arguments {
		arguments[i] = reflect.New(kind.In(i)).Elem()
		m.depth = 1
		m.Fill(arguments[i])
	}
	return arguments
}

func call(function reflect.Value, arguments []reflect.Value) []reflect.Value {
	if function.Type().IsVariadic() {
		return function.CallSlice(arguments)
	}
	return function.Call(arguments)
}
