package rt

import (
	"internal/funcmem"
	"reflect"
	"strconv"
	"strings"
	"unsafe"
)

// outsider is what the world outside of the program answers to one question; all that it says is logged.
type outsider struct {
	maker *Maker
	asked string
	given []string
	place int // of the entry in the log; -1 where there is none
}

// outside answers for other machines and other programs, as something made up does.
func outside(name string, asked ...string) funcmem.Answers {
	world.Lock()
	defer world.Unlock()
	parts := make([]string, len(asked))
	for i, text := range asked {
		parts[i] = quote(strings.ToValidUTF8(text, "?"))
	}
	key := name + "(" + strings.Join(parts, ",") + ")"
	nth := ordinals[key]
	ordinals[key]++
	askedMadeUp = askedMadeUp || !starting
	t := &outsider{maker: &Maker{place: hashText(key + "#" + strconv.Itoa(nth)), answer: true}, place: -1}
	t.asked = `{"path":` + quote(name) + `,"arguments":[` + strings.Join(parts, ",") + `],"keywords":{},"answer":["list",[`
	if !starting && !finished && len(calls) < mostCalls {
		t.place = len(calls)
		calls = append(calls, t.asked+"]]}")
	}
	return t
}

func (t *outsider) give(encoded string) {
	t.given = append(t.given, encoded)
	if t.place >= 0 && t.place < len(calls) {
		calls[t.place] = t.asked + strings.Join(t.given, ",") + "]]}"
	}
}

func (t *outsider) Below(n int) int {
	world.Lock()
	defer world.Unlock()
	found := t.maker.Below(n)
	t.give(strconv.Itoa(found))
	return found
}

func (t *outsider) Number(least, most int) int {
	world.Lock()
	defer world.Unlock()
	var known []int
	for _, n := range target.Ints {
		if n >= int64(least) && n <= int64(most) {
			known = append(known, int(n))
		}
	}
	found := least
	if len(known) > 0 {
		found = known[t.maker.Below(len(known))]
	}
	t.give(strconv.Itoa(found))
	return found
}

func (t *outsider) Text() string {
	world.Lock()
	defer world.Unlock()
	found := t.maker.Text()
	t.give(quote(strings.ToValidUTF8(found, "?")))
	return found
}

// typeAt gives the type that the runtime of Go means by a pointer.
func typeAt(pointer unsafe.Pointer) reflect.Type {
	words := [2]unsafe.Pointer{pointer, pointer}
	return reflect.TypeOf(*(*any)(unsafe.Pointer(&words)))
}

// received is what somebody outside sends to a channel; nil where they close it.
func received(kind unsafe.Pointer) unsafe.Pointer {
	element := typeAt(kind)
	name := "<-chan " + typeName(element)
	nth := ordinals["channel "+name]
	ordinals["channel "+name]++
	if nth > 200 {
		endless()
	}
	value := reflect.New(element)
	open := false
	if outside(name).Below(4) != 3 && nth%8 != 7 {
		open = true
	}
	answer(name, nil, []reflect.Value{value.Elem()})
	if !open {
		return nil
	}
	return value.UnsafePointer()
}

// sent is what somebody outside takes from a channel.
func sent(kind, element unsafe.Pointer) {
	value := reflect.NewAt(typeAt(kind), element).Elem()
	answer("chan<- "+typeName(value.Type()), []reflect.Value{value}, nil)
}

func selected(channels int) int { return outside("select").Below(channels) }
