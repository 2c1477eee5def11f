package rt

import (
	"errors"
	"reflect"
	"time"
	"unsafe"
)

const (
	deepest    = 5 // where a type may hold itself
	bottom     = 10
	mostValues = 4000
)

var made int // values made in this state, so that wide types end

var (
	errorType    = reflect.TypeFor[error]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	locationType = reflect.TypeFor[*time.Location]()
	byteType     = reflect.TypeFor[byte]()
)

var lengths = []int{1, 2, 3, 0, 5, 4, 1, 2}

// Value makes a value of a type.
func Value[T any](m *Maker) T {
	var value T
	m.Fill(reflect.ValueOf(&value).Elem())
	return value
}

// tooDeep tells whether to leave out what a pointer, a list or a map holds.
func (m *Maker) tooDeep(kind reflect.Type) bool {
	return m.depth > bottom || m.depth > deepest && m.within(kind) > 1
}

// within counts the structs of a type inside which something is made.
func (m *Maker) within(kind reflect.Type) int {
	count := 0
	for _, open := range m.path {
		if open == kind {
			count++
		}
	}
	return count
}

// Fill makes a value in place. What cannot be made stays as it is.
func (m *Maker) Fill(v reflect.Value) {
	made++
	if made > mostValues {
		return
	}
	kind := v.Type()
	if factory, ok := target.Factories[kind]; ok {
		if nilable := kind.Kind() == reflect.Interface || kind.Kind() == reflect.Pointer; nilable && m.depth > 1 && m.Below(8) == 7 {
			return
		}
		if value := reflect.ValueOf(factory(m)); value.IsValid() && value.Type().AssignableTo(kind) {
			v.Set(value)
		}
		return
	}
	if pool := target.Pools[kind]; len(pool) > 0 {
		if n := m.Below(len(pool) + 1 + len(pool)/4); n < len(pool) {
			v.Set(reflect.ValueOf(pool[n]).Convert(kind))
			return
		}
	}
	switch kind {
	case timeType:
		v.Set(reflect.ValueOf(m.time()))
		return
	case durationType:
		v.SetInt(int64(m.duration()))
		return
	case locationType:
		v.Set(reflect.ValueOf(time.UTC))
		return
	}
	m.depth++
	defer func() { m.depth-- }()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(m.Below(2) == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.Kind() == reflect.Int32 && len(target.Runes) > 0 && m.Below(4) != 3 {
			v.SetInt(int64(m.rune()))
			return
		}
		v.SetInt(m.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if v.Kind() == reflect.Uint8 && len(target.Runes) > 0 && m.Below(2) == 1 {
			v.SetUint(uint64(m.rune()) & 0xff)
			return
		}
		n := m.Int()
		if n < 0 {
			n = -n
		}
		v.SetUint(uint64(n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(m.Float())
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(m.Float(), m.Float()))
	case reflect.String:
		v.SetString(m.Text())
	case reflect.Slice:
		m.slice(v)
	case reflect.Array:
		for i := 0; i < v.Len(); i++ {
			m.Fill(v.Index(i))
		}
	case reflect.Map:
		m.mapping(v)
	case reflect.Pointer:
		m.pointer(v)
	case reflect.Struct:
		m.structure(v)
	case reflect.Interface:
		m.dynamic(v)
	case reflect.Func:
		if m.depth > 2 && m.Below(8) == 7 {
			return // a field that nobody set
		}
		v.Set(m.function(kind, ""))
	case reflect.Chan:
		m.channel(v)
	case reflect.UnsafePointer:
		if m.Below(4) != 3 {
			v.SetPointer(unsafe.Pointer(new([16]int64)))
		}
	}
}

func (m *Maker) rune() rune {
	choice := m.Choice()
	if choice < plainChoices {
		return target.Runes[int(choice)%len(target.Runes)]
	}
	if choice%4 < 3 {
		return target.Runes[int(choice/4)%len(target.Runes)]
	}
	return rune(32 + choice/4%95)
}

var durations = []time.Duration{
	time.Second, 0, time.Minute, time.Hour, time.Millisecond, 24 * time.Hour, -time.Second, 10 * time.Second, 1,
}

func (m *Maker) duration() time.Duration {
	choice := int(m.Choice())
	if choice < plainChoices || choice%4 == 0 {
		return durations[choice%len(durations)]
	}
	return durations[choice/4%len(durations)] * time.Duration(m.Int())
}

func (m *Maker) time() time.Time {
	choice := m.Choice()
	now := time.Unix(startSecond(), 0).UTC()
	switch choice % 12 {
	case 0:
		return now
	case 1:
		return time.Time{}
	case 2:
		return now.Add(-time.Hour)
	case 3:
		return now.Add(time.Hour)
	case 4:
		return now.Add(-time.Second)
	case 5:
		return now.Add(-100 * time.Millisecond)
	case 6:
		return now.AddDate(0, 0, -1)
	case 7:
		return now.AddDate(0, 1, 3)
	case 8:
		return time.Date(2001, 2, 3, 4, 5, 6, 700_000_000, time.UTC)
	case 9:
		return now.Add(-10 * time.Second)
	case 10:
		return now.Add(-time.Minute)
	default:
		return now.Add(time.Duration(choice/12%100_000-50_000) * time.Minute)
	}
}

func (m *Maker) slice(v reflect.Value) {
	kind := v.Type()
	if kind.Elem() == byteType || kind.Elem().Kind() == reflect.Uint8 {
		text := m.bytes()
		v.Set(reflect.ValueOf(text).Convert(reflect.SliceOf(byteType)).Convert(kind))
		return
	}
	choice := int(m.Choice())
	if m.tooDeep(kind.Elem()) {
		return
	}
	if choice%32 == 31 {
		return // nil
	}
	n := lengths[choice%len(lengths)]
	if sizes := target.Sizes; len(sizes) > 0 && choice%4 == 2 && choice >= 2*len(lengths) {
		n = min(sizes[choice/4%len(sizes)], 70)
	}
	if m.depth > deepest {
		n = min(n, 1)
	} else if m.depth > 2 {
		n = min(n, 2)
	}
	made := reflect.MakeSlice(kind, n, n)
	for i := 0; i < n; i++ {
		m.Fill(made.Index(i))
	}
	v.Set(made)
}

// bytes makes a text, or numbers that are none.
func (m *Maker) bytes() []byte {
	choice := int(m.Choice())
	if choice%4 != 3 {
		return []byte(m.Text())
	}
	n := lengths[choice/4%len(lengths)] * (1 + choice/32%4)
	if sizes := target.Sizes; len(sizes) > 0 && choice/4%2 == 1 {
		n = sizes[choice/8%len(sizes)]
	}
	found := make([]byte, n)
	for i := range found {
		hash := mix(uint64(choice)<<16 + uint64(i))
		found[i] = byte(hash >> 8)
		switch hash % 4 {
		case 0, 1:
			found[i] %= 8
		case 2:
			if len(target.Ints) > 0 {
				found[i] = byte(target.Ints[(hash>>8)%uint64(len(target.Ints))])
			}
		}
	}
	return found
}

func (m *Maker) mapping(v reflect.Value) {
	kind := v.Type()
	n := []int{1, 2, 0, 3}[m.Below(4)]
	if m.tooDeep(kind.Elem()) {
		n = 0
	} else if m.depth > deepest {
		n = min(n, 1)
	}
	made := reflect.MakeMap(kind)
	for i := 0; i < n; i++ {
		key, value := reflect.New(kind.Key()).Elem(), reflect.New(kind.Elem()).Elem()
		if known := target.Keys; len(known) > 0 && key.Kind() == reflect.String && m.Below(4) != 3 {
			text := known[m.Below(len(known))]
			if kind.String() == "http.Header" || kind.String() == "textproto.MIMEHeader" {
				text = canonical(text)
			}
			key.SetString(text)
		} else {
			m.Fill(key)
		}
		m.Fill(value)
		if hashable(key) {
			made.SetMapIndex(key, value)
		}
	}
	v.Set(made)
}

// canonical spells the name of a header as headers have it.
func canonical(name string) string {
	out := []byte(name)
	for i, b := range out {
		if first := i == 0 || out[i-1] == '-'; first && b >= 'a' && b <= 'z' {
			out[i] = b - 'a' + 'A'
		} else if !first && b >= 'A' && b <= 'Z' {
			out[i] = b - 'A' + 'a'
		}
	}
	return string(out)
}

func hashable(v reflect.Value) bool {
	return v.Comparable()
}

func (m *Maker) pointer(v reflect.Value) {
	kind := v.Type()
	choice := m.Choice() % 16
	if m.tooDeep(kind.Elem()) || (choice == 15 && m.depth > 1) {
		return
	}
	if known := m.aliases[kind.String()]; choice == 14 && len(known) > 0 {
		v.Set(known[m.Below(len(known))].(reflect.Value))
		return
	}
	pointer := reflect.New(kind.Elem())
	m.Fill(pointer.Elem())
	v.Set(pointer.Convert(kind))
	if m.aliases == nil {
		m.aliases = map[string][]any{}
	}
	m.aliases[kind.String()] = append(m.aliases[kind.String()], v)
}

func (m *Maker) structure(v reflect.Value) {
	kind := v.Type()
	own := isOwn(kind)
	m.path = append(m.path, kind)
	defer func() { m.path = m.path[:len(m.path)-1] }()
	sole, bare := m.sole(kind, own)
	for i := 0; i < v.NumField(); i++ {
		field := kind.Field(i)
		if sole >= 0 && i != sole && (bare || isNilable(field.Type)) {
			continue
		}
		switch {
		case own && field.Name == "Made" && field.Type.Kind() == reflect.Int:
			// Which of a few it is: with more of them, states would differ in nothing else.
			v.Field(i).SetInt(int64(m.Below(12)))
		case own && (field.Anonymous || target.mentions(field.Name)):
			m.Fill(settable(v.Field(i)))
		case !own && field.IsExported() && field.Type == errorType:
			m.failure(v.Field(i), 0) // their texts want it
		case !own && field.IsExported() && target.mentions(field.Name):
			m.Fill(v.Field(i))
		}
	}
}

// sole picks, now and then, a field of a struct with several that may be nil, for all others of those to be nil:
// many a struct stands for one of several things. It also tells whether the rest stays zero as well.
func (m *Maker) sole(kind reflect.Type, own bool) (field int, bare bool) {
	var nilable []int
	for i := 0; i < kind.NumField() && own; i++ {
		if isNilable(kind.Field(i).Type) && target.mentions(kind.Field(i).Name) {
			nilable = append(nilable, i)
		}
	}
	if len(nilable) < 3 {
		return -1, false
	}
	choice := int(m.Choice())
	if choice%3 != 2 {
		return -1, false
	}
	return nilable[choice/3%len(nilable)], choice/3/len(nilable)%2 == 1
}

func isNilable(kind reflect.Type) bool {
	return kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Interface || kind.Kind() == reflect.Slice ||
		kind.Kind() == reflect.Map
}

func isOwn(kind reflect.Type) bool {
	return kind.PkgPath() == "main" || kind.PkgPath() == ""
}

// settable lifts the ban on unexported fields.
func settable(v reflect.Value) reflect.Value {
	if v.CanSet() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

func (m *Maker) dynamic(v reflect.Value) {
	kind := v.Type()
	if kind == errorType {
		choice := m.Choice()
		if choice%4 != 3 && m.depth > 1 {
			return // nil
		}
		m.failure(v, int(choice/4))
		return
	}
	makers := target.Implementations[kind]
	if kind.NumMethod() == 0 {
		m.anything(v)
		return
	}
	if len(makers) == 0 || m.depth > bottom {
		return
	}
	choice := m.Choice()
	if choice%16 == 15 && m.depth > 1 {
		return
	}
	place := int(choice)
	if choice >= plainChoices {
		place = int(choice / 16)
	}
	if m.depth > deepest+1 {
		place = len(makers) - 1 // what is made up holds nothing
	}
	value := makers[place%len(makers)](m)
	if made := reflect.ValueOf(value); made.IsValid() && made.Type().AssignableTo(kind) {
		v.Set(made)
	}
}

// failure makes an error: one that the function tells from others, or any.
func (m *Maker) failure(v reflect.Value, choice int) {
	if n := len(target.Errors); n > 0 && choice%2 == 1 && m.depth <= deepest && !m.global {
		if found := target.Errors[choice/2%n](m); found != nil {
			v.Set(reflect.ValueOf(found))
			return
		}
	}
	v.Set(reflect.ValueOf(errors.New("made-up error " + string(rune('a'+m.Below(3))))))
}

var plainTypes = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[bool](), reflect.TypeFor[float64](),
	reflect.TypeFor[[]any](), reflect.TypeFor[map[string]any](), reflect.TypeFor[[]string](), reflect.TypeFor[int64](),
}

func (m *Maker) anything(v reflect.Value) {
	choice := int(m.Choice())
	kinds := target.Dynamic
	var kind reflect.Type
	switch {
	case len(kinds) > 0 && choice%8 < 6:
		kind = kinds[choice/8%len(kinds)]
	case m.depth > 3:
		kind = plainTypes[choice/8%4]
	default:
		n := choice / 8 % (len(plainTypes) + 1)
		if n == len(plainTypes) {
			return // nil
		}
		kind = plainTypes[n]
	}
	value := reflect.New(kind).Elem()
	if kind == errorType {
		m.failure(value, choice/8)
	} else {
		m.Fill(value)
	}
	v.Set(value)
}

var channels = map[uintptr]string{} // what channels hold at the start

func (m *Maker) channel(v reflect.Value) {
	kind := v.Type()
	n := []int{1, 2, 0, 3}[m.Below(4)]
	open := reflect.ChanOf(reflect.BothDir, kind.Elem())
	channel := reflect.MakeChan(open, 16)
	said := typeName(kind) + "{"
	for i := 0; i < n; i++ {
		value := reflect.New(kind.Elem()).Elem()
		m.Fill(value)
		channel.Send(value)
		said += show(value) + ", "
	}
	if kind.ChanDir() == reflect.RecvDir || m.Below(2) == 1 {
		channel.Close()
		said += "closed"
	}
	if starting {
		channels[channel.Pointer()] = said + "}"
	}
	v.Set(channel.Convert(kind))
}

// function makes a function that logs its calls and answers as something made up does.
func (m *Maker) function(kind reflect.Type, name string) reflect.Value {
	if name == "" {
		functions++
		name = "func#" + string(rune('0'+functions%10))
	}
	return reflect.MakeFunc(kind, func(in []reflect.Value) []reflect.Value {
		out := make([]reflect.Value, kind.NumOut())
		for i := range out {
			out[i] = reflect.New(kind.Out(i)).Elem()
		}
		answer(name, in, out)
		return out
	})
}

var functions int
