package main

import (
	"bufio"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
)

// library is the compiled standard library.
type library struct {
	archives map[string]string
	importer types.Importer
}

func openLibrary(importcfg string) *library {
	l := &library{archives: map[string]string{}}
	file, err := os.Open(importcfg)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		path, archive, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "packagefile "), "=")
		if ok {
			l.archives[path] = archive
		}
	}
	l.importer = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		archive, ok := l.archives[path]
		if !ok {
			return nil, os.ErrNotExist
		}
		return os.Open(archive)
	})
	return l
}

// has tells whether code under test may import a package.
func (l *library) has(path string) bool {
	if path == "unsafe" {
		return true
	}
	_, ok := l.archives[path]
	return ok && path != "funcmem/rt" && !strings.Contains("/"+path+"/", "/internal/") && !strings.HasPrefix(path, "vendor/")
}

// declares tells whether a package has a name; true where that cannot be told.
func (l *library) declares(path, name string) bool {
	if path == "unsafe" {
		return true
	}
	pkg, err := l.importer.Import(path)
	return err != nil || pkg.Scope().Lookup(name) != nil
}

// packageName is the name by which code knows a package of the standard library.
func packageName(path string) string {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if last == "v2" && len(parts) > 1 {
		return parts[len(parts)-2]
	}
	return last
}
