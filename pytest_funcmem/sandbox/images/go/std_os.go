package os

import (
	"errors"
	"internal/funcmem"
)

// madeUpHostname gives a name where the world outside is made up.
func madeUpHostname() (name string, err error, ok bool) {
	if funcmem.Outside == nil {
		return "", nil, false
	}
	answers := funcmem.Outside("os.Hostname")
	switch answers.Below(6) {
	case 5:
		return "", NewSyscallError("gethostname", errors.New("made-up failure")), true
	case 0, 1:
		return "host", nil, true
	case 2, 3:
		return "host.example.com", nil, true
	default:
		return answers.Text(), nil, true
	}
}

// randomBits are those of names of temporary files.
func randomBits() uint64 {
	if funcmem.Random != nil {
		return funcmem.Random()
	}
	return runtime_rand()
}
