package rt

import (
	"math"
	"reflect"
	"strconv"
)

// A state is a seed and a sequence of choices. Where the sequence is used up, a hash of the seed and of the
// place decides, so that a choice means the same in every run.
type state struct {
	seed    uint64
	choices []uint32
	asked   int
}

var current state

var givenTexts []string // in arguments, for answers to come back to

// Maker makes values from choices.
type Maker struct {
	place   uint64
	next    uint64
	answer  bool // whether it answers for something made up: then choices are read at the place's hash
	global  bool // whether it makes a variable of the package, which other errors must not be taken from
	depth   int
	path    []reflect.Type // structs that are being made
	aliases map[string][]any
	texts   []string
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

func hashText(text string) uint64 {
	hash := uint64(14695981039346656037)
	for i := 0; i < len(text); i++ {
		hash = (hash ^ uint64(text[i])) * 1099511628211
	}
	return mix(hash)
}

// Choice gives the next choice, in [0, 2**31).
func (m *Maker) Choice() uint32 {
	n := m.next
	m.next++
	if m.answer {
		if count := uint64(len(current.choices)); count > 0 && n < 64 {
			current.asked = max(current.asked, len(current.choices))
			return current.choices[(m.place+n)%count]
		}
	} else {
		current.asked = max(current.asked, int(n)+1)
		if n < uint64(len(current.choices)) {
			return current.choices[n]
		}
	}
	return uint32(mix(current.seed^mix(m.place^mix(n)))) & 0x7fffffff
}

// plainChoices is where choices end that pick from a pool directly.
const plainChoices = 64

// Below gives a choice among n; small choices come first.
func (m *Maker) Below(n int) int {
	return int(m.Choice() % uint32(n))
}

// Int makes an integer: from the literals of the function and their neighbours, small, or any.
func (m *Maker) Int() int64 {
	choice := m.Choice()
	pool := target.Ints
	kind, rest := choice%8, int64(choice/8)
	switch {
	case choice < plainChoices && len(pool) > 0:
		return pool[int(choice)%len(pool)]
	case kind < 5 && len(pool) > 0:
		return pool[int(rest)%len(pool)]
	case kind == 5 && len(pool) > 0:
		return m.combined(rest)
	case kind < 7:
		return rest % 12
	case rest%4 == 0:
		return magnitude(rest / 4)
	default:
		return rest%2000 - 200
	}
}

// combined makes an integer of two that are in the pool.
func (m *Maker) combined(rest int64) int64 {
	size := int64(len(target.Ints))
	a, b := target.Ints[rest/3%size], target.Ints[rest/3/size%size]
	switch rest % 3 {
	case 0:
		return a + b
	case 1:
		return a * b
	default:
		return a - b
	}
}

// magnitude makes an integer of any number of digits, or one at the end of a range.
func magnitude(rest int64) int64 {
	if n := rest % 9; n < 3 {
		return []int64{1<<31 - 1, 1<<63 - 1, -1 << 63}[n]
	}
	digits := int64(mix(uint64(rest)) >> 2)
	for n := rest / 9 % 16; n > 0; n-- {
		digits /= 10
	}
	if rest%2 == 0 {
		return digits
	}
	return -digits
}

var extremes = []float64{
	math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64,
	math.MaxFloat32, 1e-10, float64(math.Float32frombits(0x7fc00001)), float64(math.Float32frombits(0xffa12345)),
}

// Float makes a number.
func (m *Maker) Float() float64 {
	choice := m.Choice()
	pool := target.Floats
	kind, rest := choice%4, int64(choice/4)
	switch {
	case choice < plainChoices && len(pool) > 0:
		return pool[int(choice)%len(pool)]
	case kind < 2 && len(pool) > 0:
		return pool[int(rest)%len(pool)]
	case kind == 3 && rest%4 == 3 && target.Extreme:
		return extremes[rest/4%int64(len(extremes))]
	case kind < 3 && len(target.Ints) > 0:
		return float64(target.Ints[int(rest)%len(target.Ints)])
	default:
		return float64(rest%4000)/8 - 50
	}
}

var plainTexts = []string{
	"a", "", "abc", "hello world", "7", "A-b_c", "x,y;z", " pad ", "key=value", "/a/b.txt", "one\ntwo\n\nthree",
	"42", "true", "3.14", "é世", "a.b.c", "(x)", "\"quoted\"", "--flag", "0",
}

// Text makes a string: one of the function's literals, some of them joined, one changed, or a plain one.
func (m *Maker) Text() string {
	choice := m.Choice()
	text := m.text(choice)
	if len(m.texts) < 64 {
		m.texts = append(m.texts, text)
	}
	if starting && !m.answer && len(givenTexts) < 32 {
		givenTexts = append(givenTexts, text)
	}
	return text
}

func (m *Maker) text(choice uint32) string {
	kind, rest := choice%16, int(choice/16)
	pool := target.Texts
	if len(pool) == 0 {
		pool = plainTexts
	}
	pick := func() string {
		text := pool[rest%len(pool)]
		rest /= len(pool)
		return text
	}
	join := func() string {
		if len(target.Joints) == 0 {
			return ""
		}
		n := rest % (len(target.Joints) + 1)
		rest /= len(target.Joints) + 1
		if n == 0 {
			return ""
		}
		return target.Joints[n-1]
	}
	switch {
	case int(choice) < max(len(pool), 12):
		return pool[int(choice)%len(pool)]
	case kind < 4:
		return pick()
	case kind < 6:
		return pick() + join() + pick()
	case kind < 10:
		return m.spelled(rest)
	case kind < 12:
		return plainTexts[rest%len(plainTexts)]
	case kind == 12:
		text := pick()
		switch rest % 6 {
		case 0:
			return text + strconv.Itoa(rest/6%100)
		case 1:
			return plainTexts[rest/6%len(plainTexts)] + text
		case 2:
			return text + plainTexts[rest/6%len(plainTexts)]
		case 3:
			return text[:len(text)/2]
		case 4:
			return text[len(text)/2:]
		default:
			return text + text
		}
	case kind == 13 && len(m.texts) > 0 && (rest%2 == 0 || len(target.Sizes) == 0):
		return m.texts[rest/2%len(m.texts)]
	case (kind == 13 || kind == 15) && len(target.Sizes) > 0:
		if kind == 13 {
			rest /= 2
		}
		text := pick()
		return sized(rest, text)
	case kind == 14:
		return m.long(rest)
	default:
		return strconv.Itoa(rest % 1000)
	}
}

var pieces = []int{2, 3, 1, 4, 6, 9}

// spelled makes a text piece by piece, each of them by a choice of its own, so that a change of one changes little.
func (m *Maker) spelled(rest int) string {
	text, last := "", ""
	for range pieces[rest%len(pieces)] {
		choice := m.Choice()
		n := int(choice / 8)
		pick := func(pool []string) {
			if len(pool) > 0 {
				last = pool[n%len(pool)]
			}
		}
		switch kind := choice % 8; {
		case kind < 3 && len(target.Runes) > 0:
			last = string(target.Runes[n%len(target.Runes)])
		case kind < 5:
			pick(target.Texts)
		case kind == 5:
			pick(target.Joints)
		case kind == 6:
			last = string("ax7 Z_-.9/"[n%10])
		}
		text += last
	}
	return text
}

// sized makes a text as long as one that the function asks for.
func sized(rest int, text string) string {
	size := target.Sizes[rest%len(target.Sizes)]
	filler := "a0\x00\x01z"[rest/len(target.Sizes)%5:][:1]
	for len(text) < size {
		text += filler
	}
	return text[:size]
}

// long makes a longer text of literals and joints, whose parts a hash of the choice decides.
func (m *Maker) long(rest int) string {
	pool := target.Texts
	text := ""
	hash := mix(uint64(rest))
	for i := 3 + int(hash%6); i > 0; i-- {
		hash = mix(hash)
		switch n := int(hash >> 8 & 0xffff); hash % 4 {
		case 0:
			text += plainTexts[n%len(plainTexts)]
		case 1:
			if len(target.Joints) > 0 {
				text += target.Joints[n%len(target.Joints)]
			}
		default:
			if len(pool) > 0 {
				text += pool[n%len(pool)]
			}
		}
	}
	return text
}
