package os

import (
	"errors"
	"internal/funcmem"
	"syscall"
)

var madeUpFailures = []error{syscall.EACCES, syscall.ENOENT, syscall.EEXIST, syscall.EIO}

// madeUpFailure is why an operation on a file does not work, where the world outside is made up; nil where it may.
func madeUpFailure(operation, name string) error {
	if funcmem.Fails != nil {
		if n := funcmem.Fails(operation, name); n > 0 {
			return &PathError{Op: operation, Path: name, Err: madeUpFailures[(n-1)%len(madeUpFailures)]}
		}
		if funcmem.Lay != nil && (operation == "open" || operation == "stat" || operation == "readdir") {
			funcmem.Lay(name, operation == "readdir")
		}
	}
	return nil
}

// nameOf gives the name of a file, and none for what is no file.
func nameOf(f *File) string {
	if f == nil || f.file == nil {
		return ""
	}
	return f.name
}

// madeUpVariable gives a variable of the environment where it is not set and the world outside is made up.
func madeUpVariable(name string) (string, bool) {
	if funcmem.Environment == nil {
		return "", false
	}
	return funcmem.Environment(name)
}

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
