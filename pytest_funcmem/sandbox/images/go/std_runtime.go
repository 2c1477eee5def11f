package runtime

import (
	"internal/funcmem"
	"internal/stringslite"
	"unsafe"
)

// Where all goroutines of a program wait for one another, its channels are served from a world that is made up:
// what else would have run beside the function is not there.

const madeUpTurns = 5000

// isServed tells whether an operation of audited code on a channel is to be served from outside: it cannot go on
// by itself, and nobody else will ever let it.
func isServed(pc uintptr, ready func() bool) bool {
	if f := findfunc(pc); !f.valid() || !stringslite.HasPrefix(funcname(f), "main.") {
		return false
	}
	me := getg()
	for range madeUpTurns {
		if ready() {
			return false
		}
		goes, waits := false, false
		forEachG(func(gp *g) {
			if gp == me || isSystemGoroutine(gp, false) {
				return
			}
			switch status := readgstatus(gp) &^ _Gscan; status {
			case _Gidle, _Gdead:
			case _Gwaiting:
				switch reason := gp.waitreason; {
				case reason >= waitReasonSemacquire && reason <= waitReasonSyncWaitGroupWait && reason != waitReasonSleep:
				default:
					waits = true // for something that is no goroutine
				}
			default:
				goes = true
			}
		})
		if waits || me.m.p.ptr().timers.len.Load() > 0 {
			return false
		}
		if !goes {
			return true
		}
		Gosched()
	}
	return false
}

func canReceive(c *hchan) bool {
	return c.qcount > 0 || c.closed != 0 || c.sendq.first != nil || c.timer != nil
}

func canSend(c *hchan) bool {
	return c.qcount < c.dataqsiz || c.closed != 0 || c.recvq.first != nil
}

// madeUpReceive serves a receive from outside; gives whether it did, and whether there was an element.
func madeUpReceive(c *hchan, element unsafe.Pointer, pc uintptr) (served, received bool) {
	if funcmem.Receive == nil || c == nil || canReceive(c) || !isServed(pc, func() bool { return canReceive(c) }) {
		return false, false
	}
	return true, madeUpElement(c, element)
}

func madeUpElement(c *hchan, element unsafe.Pointer) bool {
	value := funcmem.Receive(unsafe.Pointer(c.elemtype))
	if element != nil {
		if value != nil {
			typedmemmove(c.elemtype, element, value)
		} else {
			typedmemclr(c.elemtype, element)
		}
	}
	return value != nil
}

// madeUpSend serves a send from outside.
func madeUpSend(c *hchan, element unsafe.Pointer, pc uintptr) bool {
	if funcmem.Send == nil || c == nil || canSend(c) || !isServed(pc, func() bool { return canSend(c) }) {
		return false
	}
	madeUpTaken(c, element)
	return true
}

func madeUpTaken(c *hchan, element unsafe.Pointer) {
	copied := newobject(c.elemtype)
	typedmemmove(c.elemtype, copied, element)
	funcmem.Send(unsafe.Pointer(c.elemtype), copied)
}

// madeUpSelect serves one case of a select from outside; gives which, and -1 where none.
func madeUpSelect(cases []scase, sends int, pc uintptr) (chosen int, received bool) {
	if funcmem.Select == nil {
		return -1, false
	}
	ready := func() bool {
		for i := range cases {
			if c := cases[i].c; c != nil && (i < sends && canSend(c) || i >= sends && canReceive(c)) {
				return true
			}
		}
		return false
	}
	count := 0
	for i := range cases {
		if cases[i].c != nil {
			count++
		}
	}
	if count == 0 || ready() || !isServed(pc, ready) {
		return -1, false
	}
	wanted := funcmem.Select(count)
	for i := range cases {
		if cases[i].c == nil {
			continue
		}
		if wanted == 0 {
			if i < sends {
				madeUpTaken(cases[i].c, cases[i].elem)
				return i, false
			}
			return i, madeUpElement(cases[i].c, cases[i].elem)
		}
		wanted--
	}
	return -1, false
}
