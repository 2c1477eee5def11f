package rt

import (
	"fmt"
	"reflect"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"
)

const (
	mostNodes    = 40_000
	mostClosures = 6
)

// An encoder writes the canonical JSON encoding of values.
type encoder struct {
	out     []byte
	nodes   int
	open    []unsafe.Pointer // pointers on the way to the present value
	kinds   []reflect.Type
	drained bool // whether channels may be read
}

func encode(v reflect.Value, dynamic bool) string {
	e := &encoder{}
	if !v.IsValid() {
		return "null"
	}
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	e.value(copied, dynamic)
	if e.nodes > mostNodes {
		return `["cut",` + quote(v.Type().String()) + `,` + strconv.Itoa(e.nodes) + `,"",""]`
	}
	return string(e.out)
}

func quote(text string) string {
	out := make([]byte, 0, len(text)+2)
	out = append(out, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < 32 || (r >= 127 && r < 0x10000):
			out = fmt.Appendf(out, "\\u%04x", r)
		case r >= 0x10000:
			r -= 0x10000
			out = fmt.Appendf(out, "\\u%04x\\u%04x", 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			out = append(out, byte(r))
		}
	}
	return string(append(out, '"'))
}

func (e *encoder) text(text string) {
	if utf8.ValidString(text) {
		e.out = append(e.out, quote(text)...)
	} else {
		e.out = fmt.Appendf(e.out, `["bytes",%s]`, quote(latin(text)))
	}
}

func latin(text string) string {
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

func (e *encoder) write(text string) { e.out = append(e.out, text...) }

func isPlain(kind reflect.Type) bool {
	switch kind.String() {
	case "string", "int", "bool", "float64":
		return true
	}
	return kind.Kind() == reflect.Struct
}

// value writes a value; where its type is not known from where it stands, its type too.
func (e *encoder) value(v reflect.Value, dynamic bool) {
	e.nodes++
	if e.nodes > mostNodes {
		e.write("null")
		return
	}
	if dynamic && v.IsValid() && v.Kind() != reflect.Interface && !isPlain(v.Type()) {
		e.write(`["object",` + quote(v.Type().String()) + `,[],`)
		e.value(v, false)
		e.write("]")
		return
	}
	if v.CanAddr() && !v.CanSet() {
		v = settable(v)
	}
	switch v.Kind() {
	case reflect.Bool:
		e.write(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.integer(v.Int() < 0, uint64(max(v.Int(), -v.Int())))
	case reflect.Uintptr:
		if n := v.Uint(); n>>32 != 0 && n>>48 == 0 {
			e.write(`["opaque","address"]`) // where the heap lies differs from run to run
		} else {
			e.integer(false, n)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.integer(false, v.Uint())
	case reflect.Float32, reflect.Float64:
		e.write(`["float",` + quote(number(v.Float(), v.Type().Bits())) + `]`)
	case reflect.Complex64, reflect.Complex128:
		c := v.Complex()
		e.write(`["complex",` + quote(number(real(c), 64)) + `,` + quote(number(imag(c), 64)) + `]`)
	case reflect.String:
		e.text(v.String())
	case reflect.Slice, reflect.Array:
		e.sequence(v)
	case reflect.Map:
		e.mapping(v)
	case reflect.Pointer:
		e.pointer(v)
	case reflect.Struct:
		e.structure(v)
	case reflect.Interface:
		if v.IsNil() {
			e.write("null")
			return
		}
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		e.value(inner, true)
	case reflect.Func:
		switch {
		case v.IsNil():
			e.write("null")
		case finishes == 1 && nesting == 0 && closures < mostClosures && isOfTheFunction(v):
			closures++
			e.write(encodeFunction(v))
		default:
			e.write(`["function",` + quote(v.Type().String()) + `]`)
		}
	case reflect.Chan:
		if v.IsNil() {
			e.write("null")
		} else {
			e.write(`["opaque",` + quote(fmt.Sprintf("%s of %d", v.Type(), v.Len())) + `]`)
		}
	case reflect.UnsafePointer:
		if v.IsNil() {
			e.write("null")
		} else {
			e.write(`["opaque",` + quote(v.Type().String()) + `]`)
		}
	default:
		e.write(`["opaque",` + quote(v.Type().String()) + `]`)
	}
}

// isOfTheFunction tells whether a function was made by the one that runs: what it does is part of the outcome.
func isOfTheFunction(v reflect.Value) bool {
	made := runtime.FuncForPC(v.Pointer())
	if made == nil {
		return false
	}
	file, _ := made.FileLine(made.Entry())
	return strings.HasPrefix(file[strings.LastIndexByte(file, '/')+1:], "function")
}

func (e *encoder) integer(negative bool, size uint64) {
	sign := ""
	if negative {
		sign = "-"
	}
	if size <= 1<<53 {
		e.write(sign + strconv.FormatUint(size, 10))
	} else {
		e.write(`["int","` + sign + strconv.FormatUint(size, 16) + `"]`)
	}
}

func number(x float64, bits int) string {
	switch text := strconv.FormatFloat(x, 'g', -1, bits); text {
	case "NaN":
		return "nan"
	case "+Inf":
		return "inf"
	case "-Inf":
		return "-inf"
	default:
		return text
	}
}

func (e *encoder) sequence(v reflect.Value) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		e.write("null")
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		text := make([]byte, v.Len())
		for i := range text {
			text[i] = byte(v.Index(i).Uint())
		}
		e.write(`["bytes",` + quote(latin(string(text))) + `]`)
		return
	}
	if v.Kind() == reflect.Slice && !e.enter(v.UnsafePointer(), v.Type()) {
		return
	}
	e.write(`["list",[`)
	for i := 0; i < v.Len() && e.nodes <= mostNodes; i++ {
		if i > 0 {
			e.write(",")
		}
		e.value(v.Index(i), false)
	}
	e.write("]]")
	if v.Kind() == reflect.Slice {
		e.leave()
	}
}

func (e *encoder) enter(pointer unsafe.Pointer, kind reflect.Type) bool {
	for i, known := range e.open {
		if known == pointer && e.kinds[i] == kind {
			e.write(`["cycle",` + strconv.Itoa(i) + `]`)
			return false
		}
	}
	if len(e.open) > 60 {
		e.write(`["opaque","deeper values"]`)
		return false
	}
	e.open, e.kinds = append(e.open, pointer), append(e.kinds, kind)
	return true
}

func (e *encoder) leave() {
	e.open, e.kinds = e.open[:len(e.open)-1], e.kinds[:len(e.kinds)-1]
}

func (e *encoder) mapping(v reflect.Value) {
	if v.IsNil() {
		e.write("null")
		return
	}
	if !e.enter(v.UnsafePointer(), v.Type()) {
		return
	}
	pairs := make([]string, 0, v.Len())
	entries := v.MapRange()
	for entries.Next() && e.nodes <= mostNodes {
		part := &encoder{nodes: e.nodes, open: e.open, kinds: e.kinds}
		for i, item := range []reflect.Value{entries.Key(), entries.Value()} {
			copied := reflect.New(item.Type()).Elem()
			copied.Set(item)
			if i == 1 {
				part.write(",")
			}
			part.value(copied, false)
		}
		e.nodes = part.nodes
		pairs = append(pairs, "["+string(part.out)+"]")
	}
	sort.Strings(pairs)
	e.write(`["dict",[` + strings.Join(pairs, ",") + "]]")
	e.leave()
}

func (e *encoder) pointer(v reflect.Value) {
	switch {
	case v.IsNil():
		e.write("null")
	case isOpaque(v.Type().Elem()):
		e.opaque(v.Elem())
	case e.enter(v.UnsafePointer(), v.Type()):
		e.value(v.Elem(), false)
		e.leave()
	}
}

// isOpaque tells of types of the standard library whose inside says nothing, or would never end.
func isOpaque(kind reflect.Type) bool {
	switch path := kind.PkgPath(); path {
	case "sync", "sync/atomic", "context", "reflect", "regexp", "os", "time", "net/http", "text/template",
		"html/template", "internal/reflectlite", "runtime", "crypto/tls", "math/rand", "math/rand/v2", "log",
		"math/big", "bufio", "strings", "bytes", "log/slog", "internal/abi":
		return path != "net/http" || (kind.Name() != "Header" && kind.Name() != "Cookie")
	default:
		return strings.HasPrefix(path, "compress/") || strings.HasPrefix(path, "crypto/") || strings.HasPrefix(path, "hash/")
	}
}

// saidBy gives the text of opaque values that have one and can be asked for it.
func saidBy(v reflect.Value) (string, bool) {
	switch v.Type().String() {
	case "strings.Builder", "bytes.Buffer", "regexp.Regexp", "time.Location", "big.Int", "big.Float", "big.Rat":
		if v.CanAddr() {
			if said, ok := v.Addr().Interface().(fmt.Stringer); ok {
				return said.String(), true
			}
		}
	}
	return "", false
}

func (e *encoder) opaque(v reflect.Value) {
	name := v.Type().String()
	text := func(said string) {
		e.write(`["value",` + quote(name) + `,` + quote(strings.ToValidUTF8(said, "?")) + `]`)
	}
	if said, ok := saidBy(v); ok {
		text(said)
		return
	}
	switch name {
	case "time.Time":
		if t, ok := v.Interface().(time.Time); ok {
			text(t.Format(time.RFC3339Nano) + " " + t.Location().String())
			return
		}
	case "time.Duration", "time.Month", "time.Weekday", "os.FileMode":
		e.integer(v.Int() < 0, uint64(max(v.Int(), -v.Int())))
		return
	case "reflect.rtype":
		if said, ok := v.Addr().Interface().(fmt.Stringer); ok && v.CanAddr() {
			e.write(`["type",` + quote(said.String()) + `]`)
			return
		}
	case "atomic.Int32", "atomic.Int64", "atomic.Uint32", "atomic.Uint64", "atomic.Bool":
		if last := v.Field(v.NumField() - 1); v.CanAddr() {
			e.value(last, false)
			return
		}
	case "sync.Mutex", "sync.RWMutex", "sync.Once":
		e.write(`["opaque",` + quote(name) + `]`)
		return
	}
	if said, ok := v.Interface().(error); ok {
		text(said.Error())
		return
	}
	e.write(`["opaque",` + quote(name) + `]`)
}

func (e *encoder) structure(v reflect.Value) {
	kind := v.Type()
	if isOpaque(kind) {
		if !v.CanAddr() {
			copied := reflect.New(kind).Elem()
			copied.Set(v)
			v = copied
		}
		e.opaque(v)
		return
	}
	e.write(`["object",` + quote(kind.String()) + `,[`)
	for i := 0; i < v.NumField(); i++ {
		if i > 0 {
			e.write(",")
		}
		e.write("[" + quote(kind.Field(i).Name) + ",")
		e.value(v.Field(i), false)
		e.write("]")
	}
	e.write("],null]")
}
