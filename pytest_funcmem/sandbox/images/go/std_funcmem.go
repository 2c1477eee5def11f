// Package funcmem holds what stands in for clock, random numbers, exits, and the world outside of the program.
package funcmem

import "unsafe"

// Clock gives seconds since 1970 and nanoseconds.
var Clock func() (sec int64, nsec int32)

// Sleep is told of the nanoseconds that the program wanted to sleep.
var Sleep func(ns int64)

// Random gives random bits.
var Random func() uint64

// Exit is told of an exit before it happens.
var Exit func(code int)

// Outside is asked for what the world outside of the program answers: other machines, other programs.
var Outside func(name string, asked ...string) Answers

// Fails says how an operation on a file fails that would have worked: 0 where it does not.
var Fails func(operation, name string) int

// Lay may lay a file, or a folder, that the program wants to look at and that is not there.
var Lay func(name string, folder bool)

// Environment gives a variable that is not set, where the program asks for it by a name that it puts together.
var Environment func(name string) (string, bool)

// Answers are what the world outside says, bit by bit.
type Answers interface {
	// Below gives a number among n.
	Below(n int) int
	// Number gives one that the program mentions and that lies in a range; where it mentions none, the least.
	Number(least, most int) int
	// Text gives a text.
	Text() string
}

// Receive gives what comes out of a channel of some type of elements that nobody will ever send to: a pointer to
// the element, or nil where the channel counts as closed.
var Receive func(kind unsafe.Pointer) unsafe.Pointer

// Send is told of what goes into a channel that nobody will ever receive from: the type, and a pointer to a copy.
var Send func(kind, element unsafe.Pointer)

// Select says which of the channels is the one that somebody outside serves, where nobody inside ever will.
var Select func(channels int) int
