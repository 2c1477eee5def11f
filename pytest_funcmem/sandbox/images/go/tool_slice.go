package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"sort"
	"strings"
)

// piece is a top-level declaration, or one specification of a group.
type piece struct {
	names    []string
	receiver string // of a method
	node     ast.Node
	start    int // offsets into the file's text
	end      int
	keyword  string // what the text of a specification needs before it
	function *ast.FuncDecl
	gutted   bool // whether its body is replaced by a stand-in's
	bare     bool // whether its initial value is left out
}

// source is the audited file, as far as it parses.
type source struct {
	text      string
	files     *token.FileSet
	pieces    []*piece
	byName    map[string]*piece
	methods   map[string][]*piece
	standard  map[string]string // local name -> path, of imports that are there
	missing   map[string]string // local name -> path, of imports that are not
	dotted    bool              // whether a missing package is imported with a dot
	target    *piece
	resolved  map[*ast.Ident]bool // identifiers that stand for something local
	packages  map[*ast.SelectorExpr]string
	instances map[ast.Node]string // of what is missing and generic, with the plain names that they get
	embedded  map[string]bool
	selectors map[string]bool
}

var (
	startOfDecl = regexp.MustCompile(`(?m)^(func|type|var|const|import)\b`)
	guessedName = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// readSource parses a file; where it does not parse as a whole, its declarations one by one.
func readSource(text string, start, end int, l *library) *source {
	s := &source{
		text: text, files: token.NewFileSet(), byName: map[string]*piece{}, methods: map[string][]*piece{},
		standard: map[string]string{}, missing: map[string]string{}, resolved: map[*ast.Ident]bool{},
		packages: map[*ast.SelectorExpr]string{}, embedded: map[string]bool{}, selectors: map[string]bool{},
		instances: map[ast.Node]string{},
	}
	file, err := parser.ParseFile(s.files, "file.go", text, parser.ParseComments)
	if err == nil && file != nil {
		s.take(file, 0, l)
	} else {
		s.takeChunks(start, end, l)
	}
	for _, p := range s.pieces {
		if p.function != nil && p.start <= start && start < p.end && (s.target == nil || p.start > s.target.start) {
			s.target = p
		}
	}
	for _, p := range s.pieces {
		if p.receiver != "" {
			s.methods[p.receiver] = append(s.methods[p.receiver], p)
			continue
		}
		for _, name := range p.names {
			if _, known := s.byName[name]; !known && name != "_" && name != "init" {
				s.byName[name] = p
			}
		}
	}
	for _, p := range s.pieces {
		s.findPackages(p, l)
	}
	return s
}

func (s *source) takeChunks(start, end int, l *library) {
	var cuts []int
	for _, found := range startOfDecl.FindAllStringIndex(s.text, -1) {
		if found[0] <= start || found[0] >= end {
			cuts = append(cuts, found[0])
		}
	}
	cuts = append(cuts, start, end, len(s.text))
	sort.Ints(cuts)
	for i := 0; i+1 < len(cuts); i++ {
		from, to := cuts[i], cuts[i+1]
		if from == to {
			continue
		}
		const head = "package main\n"
		file, err := parser.ParseFile(s.files, "chunk.go", head+s.text[from:to], parser.ParseComments)
		if err == nil && file != nil {
			s.take(file, from-len(head), l)
		}
	}
}

func (s *source) take(file *ast.File, shift int, l *library) {
	offset := func(pos token.Pos) int { return s.files.Position(pos).Offset + shift }
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			p := &piece{names: []string{decl.Name.Name}, node: decl, function: decl, start: offset(decl.Pos()), end: offset(decl.End())}
			if decl.Recv != nil && len(decl.Recv.List) > 0 {
				p.receiver = typeWord(decl.Recv.List[0].Type)
				if p.receiver == "" {
					continue
				}
			}
			if decl.Body != nil {
				s.pieces = append(s.pieces, p)
			}
		case *ast.GenDecl:
			if decl.Tok == token.IMPORT {
				for _, spec := range decl.Specs {
					s.takeImport(spec.(*ast.ImportSpec), l)
				}
				continue
			}
			if decl.Tok == token.CONST {
				p := &piece{node: decl, start: offset(decl.Pos()), end: offset(decl.End())}
				for _, spec := range decl.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						p.names = append(p.names, name.Name)
					}
				}
				s.pieces = append(s.pieces, p)
				continue
			}
			for _, spec := range decl.Specs {
				p := &piece{node: spec, start: offset(spec.Pos()), end: offset(spec.End()), keyword: decl.Tok.String() + " "}
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					p.names = []string{spec.Name.Name}
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						p.names = append(p.names, name.Name)
					}
				}
				s.pieces = append(s.pieces, p)
			}
		}
	}
}

func typeWord(expr ast.Expr) string {
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func (s *source) takeImport(spec *ast.ImportSpec, l *library) {
	path := strings.Trim(spec.Path.Value, "\"`")
	name := ""
	if spec.Name != nil {
		name = spec.Name.Name
	}
	if name == "_" {
		return
	}
	if l.has(path) {
		if name == "." {
			return // rare; what it brings is taken for missing
		}
		if name == "" {
			name = packageName(path)
		}
		s.standard[name] = path
		return
	}
	if name == "." {
		s.dotted = true
		return
	}
	if name != "" {
		s.missing[name] = path
		return
	}
	// Nobody here can read the package's own name: any word of the path may be it.
	parts := strings.Split(path, "/")
	for _, part := range parts[max(0, len(parts)-3):] {
		for _, word := range guessedName.FindAllString(strings.ReplaceAll(part, "-", " "), -1) {
			if _, known := s.missing[word]; !known {
				s.missing[word] = path
			}
		}
		if word := strings.NewReplacer("-", "", ".", "").Replace(part); token.IsIdentifier(word) {
			s.missing[word] = path
		}
		if word := strings.ReplaceAll(part, "-", "_"); token.IsIdentifier(word) {
			s.missing[word] = path
		}
	}
}

// findPackages notes which selectors of a piece select from a missing package.
func (s *source) findPackages(p *piece, l *library) {
	locals := localNames(p.node)
	s.findInstances(p, locals)
	ast.Inspect(p.node, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			if base, ok := node.X.(*ast.Ident); ok && !locals[base] {
				if s.isMissing(base.Name) || s.isElsewhere(base.Name, node.Sel.Name, l) {
					s.packages[node] = base.Name
				}
			}
		case *ast.Field:
			if len(node.Names) == 0 {
				kind := node.Type
				if star, ok := kind.(*ast.StarExpr); ok {
					kind = star.X
				}
				if selector, ok := kind.(*ast.SelectorExpr); ok {
					if base, ok := selector.X.(*ast.Ident); ok && s.isMissing(base.Name) {
						s.embedded[base.Name+"."+selector.Sel.Name] = true
					}
				}
			}
		}
		return true
	})
}

// isElsewhere tells whether a package of the standard library has a name on other systems only.
func (s *source) isElsewhere(pkg, name string, l *library) bool {
	path, standard := s.standard[pkg]
	return standard && s.byName[pkg] == nil && token.IsExported(name) && !l.declares(path, name)
}

func (s *source) isMissing(name string) bool {
	_, missing := s.missing[name]
	_, standard := s.standard[name]
	_, own := s.byName[name]
	return missing && !standard && !own
}

// localNames finds the identifiers of a declaration that stand for something declared inside it.
func localNames(node ast.Node) map[*ast.Ident]bool {
	found := map[*ast.Ident]bool{}
	ast.Inspect(node, func(inner ast.Node) bool {
		if ident, ok := inner.(*ast.Ident); ok && ident.Obj != nil && ident.Obj.Kind != ast.Pkg {
			if position := ident.Obj.Pos(); position > node.Pos() && position < node.End() {
				found[ident] = true
			}
		}
		return true
	})
	return found
}

// newName is what a name of a missing package becomes.
func (s *source) newName(pkg, name string) string {
	if s.embedded[pkg+"."+name] && s.byName[name] == nil && types0(name) {
		return name
	}
	return pkg + "__" + name
}

// types0 tells whether a name is not one of the language's own.
func types0(name string) bool { return !universe[name] }

// reach finds the pieces that the target needs.
func (s *source) reach() []*piece {
	wanted := map[*piece]bool{s.target: true}
	work := []*piece{s.target}
	add := func(p *piece) {
		if p != nil && !wanted[p] {
			wanted[p] = true
			work = append(work, p)
		}
	}
	kinds := map[string]bool{}
	for len(work) > 0 {
		for len(work) > 0 {
			p := work[len(work)-1]
			work = work[:len(work)-1]
			locals := localNames(p.node)
			if p.receiver != "" {
				add(s.byName[p.receiver])
			}
			for _, name := range p.names {
				kinds[name] = true
			}
			ast.Inspect(p.node, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.SelectorExpr:
					s.selectors[node.Sel.Name] = true
				case *ast.KeyValueExpr:
					if key, ok := node.Key.(*ast.Ident); ok {
						s.selectors[key.Name] = true
					}
				case *ast.InterfaceType:
					for _, method := range node.Methods.List {
						for _, name := range method.Names {
							s.selectors[name.Name] = true
						}
					}
				case *ast.Ident:
					if !locals[node] {
						add(s.byName[node.Name])
					}
				}
				return true
			})
		}
		for kind := range kinds {
			for _, method := range s.methods[kind] {
				if s.selectors[method.names[0]] || wellKnown[method.names[0]] {
					add(method)
				}
			}
		}
	}
	var found []*piece
	for _, p := range s.pieces {
		if wanted[p] {
			found = append(found, p)
		}
	}
	return found
}

var wellKnown = wordSet("Len Less Swap Push Pop Error String Unwrap Is As Read Write Close")

var universe = wordSet("any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex copy delete imag len make max min new panic print println real recover")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}

// edit replaces a stretch of text.
type edit struct {
	start, end int
	text       string
}

func apply(text string, edits []edit) string {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].start < edits[j].start })
	var out strings.Builder
	at := 0
	for _, e := range edits {
		if e.start < at {
			continue
		}
		out.WriteString(text[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.WriteString(text[at:])
	return out.String()
}

// written is a piece's text with the names of missing packages made into names of the package.
func (s *source) written(p *piece) string {
	base := s.files.Position(p.node.Pos()).Offset
	relative := func(pos token.Pos) int { return s.files.Position(pos).Offset - base }
	text := s.text[p.start:p.end]
	var edits []edit
	ast.Inspect(p.node, func(node ast.Node) bool {
		if shape, ok := node.(*ast.StructType); ok {
			for _, field := range shape.Fields.List {
				if name, ok := s.embeddedUnder(field); ok {
					edits = append(edits, edit{relative(field.Type.Pos()), relative(field.Type.Pos()), name + " "})
				}
			}
		}
		if name, ok := s.instances[node]; ok {
			edits = append(edits, edit{relative(node.Pos()), relative(node.End()), name})
		}
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if pkg, ok := s.packages[selector]; ok {
				edits = append(edits, edit{relative(selector.Pos()), relative(selector.End()), s.newName(pkg, selector.Sel.Name)})
			}
		}
		return true
	})
	if spec, ok := p.node.(*ast.ValueSpec); ok && p.bare && len(spec.Values) > 0 && spec.Type != nil {
		from := relative(spec.Type.End())
		edits = append(edits, edit{from, len(text), ""})
		kept := edits[:0]
		for _, e := range edits {
			if e.start <= from {
				kept = append(kept, e)
			}
		}
		edits = kept
	}
	if p.gutted && p.function != nil {
		from := relative(p.function.Body.Pos())
		kept := edits[:0]
		for _, e := range edits {
			if e.end <= from {
				kept = append(kept, e)
			}
		}
		return apply(text[:from], kept) + s.hollow(p)
	}
	return p.keyword + apply(text, edits)
}

// embeddedUnder gives the name of an embedded field whose type cannot go by it.
func (s *source) embeddedUnder(field *ast.Field) (string, bool) {
	kind := field.Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	selector, ok := kind.(*ast.SelectorExpr)
	if !ok || len(field.Names) > 0 {
		return "", false
	}
	pkg, ok := s.packages[selector]
	return selector.Sel.Name, ok && s.newName(pkg, selector.Sel.Name) != selector.Sel.Name
}

// hollow is the body of a helper that cannot be compiled: it logs the call and answers.
func (s *source) hollow(p *piece) string {
	var in, out []string
	body := "{ "
	name := p.names[0]
	if p.receiver != "" {
		name = p.receiver + "." + name
	}
	for _, field := range p.function.Type.Params.List {
		for _, parameter := range field.Names {
			if parameter.Name != "_" {
				in = append(in, "&"+parameter.Name)
			}
		}
	}
	if results := p.function.Type.Results; results != nil {
		n := 0
		for _, field := range results.List {
			for range max(1, len(field.Names)) {
				text := s.typeText(field.Type)
				body += "var funcmem__r" + itoa(n) + " " + text + "; "
				out = append(out, "funcmem__r"+itoa(n))
				n++
			}
		}
	}
	body += "funcmem__rt.Call(" + quoteGo(name) + ", []any{" + strings.Join(in, ", ") + "}"
	for _, result := range out {
		body += ", &" + result
	}
	return body + "); return " + strings.Join(out, ", ") + " }"
}

func (s *source) typeText(expr ast.Expr) string {
	position := s.files.Position(expr.Pos())
	// Chunks have their own offsets; the piece's text is found by its own position.
	for _, p := range s.pieces {
		if p.node.Pos() <= expr.Pos() && expr.End() <= p.node.End() {
			base := s.files.Position(p.node.Pos()).Offset
			var edits []edit
			from := p.start + position.Offset - base
			text := s.text[from : from+int(expr.End()-expr.Pos())]
			ast.Inspect(expr, func(node ast.Node) bool {
				if name, ok := s.instances[node]; ok {
					edits = append(edits, edit{int(node.Pos() - expr.Pos()), int(node.End() - expr.Pos()), name})
				}
				if selector, ok := node.(*ast.SelectorExpr); ok {
					if pkg, ok := s.packages[selector]; ok {
						edits = append(edits, edit{int(selector.Pos() - expr.Pos()), int(selector.End() - expr.Pos()), s.newName(pkg, selector.Sel.Name)})
					}
				}
				return true
			})
			return apply(text, edits)
		}
	}
	return "any"
}
