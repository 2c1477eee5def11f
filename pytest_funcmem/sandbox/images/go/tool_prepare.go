package main

import (
	"encoding/json"
	"fmt"
	"go/types"
	"sort"
	"strings"
)

type prepareRequest struct {
	Text  string `json:"text"`
	Start int    `json:"start"` // where the function begins and ends, in bytes
	End   int    `json:"end"`
}

type prepareReply struct {
	OK      bool        `json:"ok"`
	Reason  string      `json:"reason"`
	Detail  string      `json:"detail"`
	Files   [][2]string `json:"files"`
	Mocks   []string    `json:"mocks"`
	Special []int       `json:"special"`
}

// outline is what has to be known of a scaffold to put code into it.
type outline struct {
	Name      string            `json:"name"`
	Renamed   map[string]string `json:"renamed"`   // "package.Name" -> name, where it is not package__Name
	Missing   []string          `json:"missing"`   // names of missing packages
	Standard  map[string]string `json:"standard"`  // local name -> import path
	Instances []string          `json:"instances"` // plain names of instances of what is missing and generic
}

func prepare(request prepareRequest, l *library) (reply prepareReply) {
	defer func() {
		if failure := recover(); failure != nil {
			reply = prepareReply{Reason: "load_failed", Detail: fmt.Sprintf("the file is too odd to read: %v", failure)}
		}
	}()
	src := readSource(request.Text, request.Start, request.End, l)
	if src.target == nil {
		return prepareReply{Reason: "load_failed", Detail: "the function does not parse"}
	}
	s := &solver{guesses: newGuesses(), source: src, library: l, pieces: src.reach()}
	if complaint, ok := s.solve(); !ok {
		reason := "load_failed"
		if strings.Contains(complaint, "undefined") {
			reason = "missing_dependency"
		}
		return prepareReply{Reason: reason, Detail: complaint}
	}
	// What is worth trying comes from what the function reaches, not from the rest of its file.
	driver, dispatcher, err := s.driver()
	if err != nil {
		return prepareReply{Reason: "unsupported_signature", Detail: err.Error()}
	}
	special := s.special()
	s.addRest()
	_, rest := s.assemble()
	o := outline{Name: src.target.names[0], Renamed: map[string]string{}, Missing: sortedKeys(src.missing), Standard: src.standard}
	for selector, pkg := range src.packages {
		if name := src.newName(pkg, selector.Sel.Name); name != pkg+"__"+selector.Sel.Name || src.standard[pkg] != "" {
			o.Renamed[pkg+"."+selector.Sel.Name] = name
		}
	}
	instances := map[string]bool{}
	for _, name := range src.instances {
		instances[name] = true
	}
	o.Instances = sortedKeys(instances)
	text, _ := json.Marshal(o)
	reply = prepareReply{
		OK: true, Special: special, Mocks: s.madeUpNames(),
		Files: [][2]string{{"file.go", s.trimImports(rest)}, {"stubs.go", s.stubs()}, {"driver.go", driver}, {"outline.json", string(text)}},
	}
	if dispatcher != "" {
		reply.Files = append(reply.Files, [2]string{"dispatch.go", dispatcher})
	}
	return reply
}

// trimImports leaves out the imports that the slice does not need.
func (s *solver) trimImports(text string) string {
	for name, path := range s.source.standard {
		used := false
		for ident, object := range s.info.Uses {
			if pkg, ok := object.(*types.PkgName); ok && pkg.Name() == name && s.files.Position(ident.Pos()).Filename == "file.go" {
				used = true
				break
			}
		}
		if !used {
			text = strings.Replace(text, "import "+name+" "+quoteGo(path)+"\n", "", 1)
		}
	}
	return text
}

// addRest adds those other declarations of the file that compile as things are, for a candidate may use them.
func (s *solver) addRest() {
	have := map[*piece]bool{}
	for _, p := range s.pieces {
		have[p] = true
	}
	known := s.pieces
	var rest []*piece
	for _, p := range s.source.pieces {
		if !have[p] && p.names[0] != "init" && p.names[0] != "_" && (p.names[0] != "main" || p.receiver != "") {
			rest = append(rest, p)
		}
	}
	for range 12 {
		s.pieces = append(append([]*piece{}, known...), rest...)
		sort.SliceStable(s.pieces, func(i, j int) bool { return s.pieces[i].start < s.pieces[j].start })
		if s.check() && len(s.errors) == 0 {
			return
		}
		bad := map[*piece]bool{}
		for _, err := range s.errors {
			position := s.files.Position(err.Pos)
			for _, span := range s.spans {
				if !span.function && position.Filename == "file.go" && position.Offset >= span.start && position.Offset < span.end {
					bad[span.piece] = true
				}
			}
		}
		kept := rest[:0:0]
		for _, p := range rest {
			if !bad[p] {
				kept = append(kept, p)
			}
		}
		if len(kept) == len(rest) {
			break
		}
		rest = kept
	}
	s.pieces = known
	s.check()
}

func (s *solver) madeUpNames() []string {
	var names []string
	for _, all := range [][]string{sortedKeys(s.types), sortedKeys(s.functions), sortedKeys(s.values)} {
		for _, name := range all {
			if !strings.HasPrefix(name, "funcmem__") {
				names = append(names, shownName(name))
			}
		}
	}
	for _, p := range s.pieces {
		if p.gutted {
			names = append(names, p.names[0])
		}
	}
	for _, kind := range sortedKeys(s.additions) {
		for _, name := range sortedKeys(s.additions[kind]) {
			names = append(names, kind+"."+name)
		}
	}
	sort.Strings(names)
	if len(names) > 200 {
		names = names[:200]
	}
	return names
}

// special are choices that pick the first entries of the pools, whatever kind of value is asked for.
func (s *solver) special() []int {
	p := s.pools()
	var found []int
	for i := range 8 {
		found = append(found, i)
	}
	for i := range min(len(p.ints), 16) {
		found = append(found, i*8)
	}
	for i := range min(len(p.sizes), 4) {
		for _, at := range p.prefixes {
			found = append(found, (i*len(p.texts)+at)*16+15)
		}
	}
	for i := range min(len(p.texts), 24) {
		found = append(found, i*16)
	}
	return found
}
