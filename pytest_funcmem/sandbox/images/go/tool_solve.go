package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"sort"
	"strings"
)

const (
	mostRounds = 60
	mostGutted = 60
)

// solver finds declarations for what a slice lacks, from how it is used.
type solver struct {
	*guesses
	source  *source
	library *library
	pieces  []*piece

	files   *token.FileSet
	syntax  []*ast.File
	info    *types.Info
	pkg     *types.Package
	errors  []types.Error
	parents map[ast.Node]ast.Node
	spans   []span // where each piece stands in the assembled text
	round   int
	shape   *types.Signature // of the function that the present node stands in
}

type span struct {
	piece      *piece
	start, end int
	function   bool
}

// assemble writes the two files of the slice: the function's own, and the rest.
func (s *solver) assemble() (function, rest string) {
	s.spans = nil
	var body strings.Builder
	body.WriteString("package main\n" + s.source.imports() + "import funcmem__rt \"funcmem/rt\"\nvar _ = funcmem__rt.Call\n")
	for _, p := range s.pieces {
		text := s.source.written(p)
		if p == s.source.target {
			function = "package main\n" + s.source.imports() + text + "\n"
			s.spans = append(s.spans, span{p, 0, len(function), true})
			continue
		}
		from := body.Len()
		body.WriteString(text + "\n")
		s.spans = append(s.spans, span{p, from, body.Len(), false})
	}
	return function, body.String()
}

func (s *source) imports() string {
	text := ""
	for _, name := range sortedKeys(s.standard) {
		text += "import " + name + " " + quoteGo(s.standard[name]) + "\n"
	}
	return text
}

func (s *solver) check() bool {
	s.round++
	function, rest := s.assemble()
	s.files = token.NewFileSet()
	s.syntax = nil
	s.parents = map[ast.Node]ast.Node{}
	for _, file := range []struct{ name, text string }{{"function.go", function}, {"file.go", rest}, {"stubs.go", s.stubs()}} {
		parsed, err := parser.ParseFile(s.files, file.name, file.text, parser.SkipObjectResolution)
		if err != nil || parsed == nil {
			s.errors = []types.Error{{Fset: s.files, Msg: file.name + ": " + err.Error()}}
			return false
		}
		s.syntax = append(s.syntax, parsed)
		var stack []ast.Node
		ast.Inspect(parsed, func(node ast.Node) bool {
			if node == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if len(stack) > 0 {
				s.parents[node] = stack[len(stack)-1]
			}
			stack = append(stack, node)
			return true
		})
	}
	s.errors = nil
	s.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Scopes: map[ast.Node]*types.Scope{},
	}
	config := types.Config{
		Importer: s.library.importer,
		Error: func(err error) {
			if found, ok := err.(types.Error); ok && !(strings.Contains(found.Msg, " imported ") && strings.HasSuffix(found.Msg, " and not used")) {
				s.errors = append(s.errors, found)
			}
		},
	}
	s.pkg, _ = config.Check("main", s.files, s.syntax, s.info)
	return true
}

// solve makes the slice compile; gives the first complaint that remains, and whether it is about the function.
func (s *solver) solve() (complaint string, ok bool) {
	gutted := 0
	for s.round < mostRounds {
		if !s.check() {
			return s.errors[0].Msg, false
		}
		s.changed = false
		s.namesLacking()
		if !s.changed {
			s.constrain()
		}
		if s.changed || s.settle() || s.enumerations() || s.finish() {
			continue
		}
		if s.constants() {
			continue
		}
		if len(s.errors) == 0 {
			return "", true
		}
		if s.mend() {
			continue
		}
		if gutted < mostGutted && s.gut() {
			gutted++
			continue
		}
		break
	}
	if len(s.errors) == 0 {
		return "", true
	}
	first := s.errors[0]
	for _, err := range s.errors {
		if s.files.Position(err.Pos).Filename == "function.go" {
			first = err
			break
		}
	}
	return s.files.Position(first.Pos).String() + ": " + first.Msg, false
}

func (s *solver) nodeAt(pos token.Pos) ast.Node {
	for _, file := range s.syntax {
		if file.FileStart <= pos && pos <= file.FileEnd {
			var found ast.Node
			ast.Inspect(file, func(node ast.Node) bool {
				if node == nil || pos < node.Pos() || pos >= node.End() {
					return false
				}
				// A function's type begins at its keyword, and so overlaps its receiver and name.
				if found == nil || node.End()-node.Pos() <= found.End()-found.Pos() {
					found = node
				}
				return true
			})
			return found
		}
	}
	return nil
}

// namesLacking makes a hole for every name that nothing declares.
func (s *solver) namesLacking() {
	seen := map[string][]*ast.Ident{}
	for _, err := range s.errors {
		if strings.HasPrefix(err.Msg, "undefined array length ") {
			if ident, ok := s.nodeAt(err.Pos).(*ast.Ident); ok && s.values[ident.Name] == nil {
				s.values[ident.Name] = &valueHole{name: ident.Name, constant: "16"}
				s.changed = true
			}
		}
		if !strings.HasPrefix(err.Msg, "undefined: ") {
			continue
		}
		ident, ok := s.nodeAt(err.Pos).(*ast.Ident)
		if !ok {
			continue
		}
		if selector, ok := s.parents[ident].(*ast.SelectorExpr); ok && selector.Sel == ident {
			continue // the standard library lacks it
		}
		seen[ident.Name] = append(seen[ident.Name], ident)
	}
	for _, name := range sortedKeys(seen) {
		if s.types[name] != nil || s.functions[name] != nil || s.values[name] != nil {
			continue
		}
		isType, isCall, isLiteral := false, false, false
		for _, ident := range append(s.usesOf(name), seen[name]...) {
			parent := s.parents[ident]
			switch {
			case s.standsForType(ident):
				isType = true
				if literal, ok := parent.(*ast.CompositeLit); ok && literal.Type == ident {
					isLiteral = true
				}
			default:
				if call, ok := parent.(*ast.CallExpr); ok && call.Fun == ident {
					isCall = true
				}
			}
		}
		switch {
		case isType:
			declared := s.declare(name)
			declared.literal = isLiteral
			for _, ident := range append(s.usesOf(name), seen[name]...) {
				if star, ok := s.parents[ident].(*ast.StarExpr); ok && s.standsForType(star) {
					declared.pointed = true
				}
			}
		case isCall:
			s.functions[name] = &signature{name: name}
		default:
			s.values[name] = &valueHole{name: name, term: s.fresh()}
		}
		s.changed = true
	}
}

func (s *solver) usesOf(name string) []*ast.Ident {
	var found []*ast.Ident
	for _, file := range s.syntax {
		ast.Inspect(file, func(node ast.Node) bool {
			if ident, ok := node.(*ast.Ident); ok && ident.Name == name {
				if selector, ok := s.parents[ident].(*ast.SelectorExpr); !ok || selector.X == ident {
					// An embedded type's name defines a field too.
					object := s.info.ObjectOf(ident)
					if field, ok := object.(*types.Var); object == nil || ok && field.IsField() && s.standsForType(ident) {
						found = append(found, ident)
					}
				}
			}
			return true
		})
	}
	return found
}

// standsForType tells whether an expression stands where only a type can.
func (s *solver) standsForType(expr ast.Expr) bool {
	switch parent := s.parents[expr].(type) {
	case *ast.Field:
		return parent.Type == expr
	case *ast.ValueSpec:
		return parent.Type == expr
	case *ast.TypeSpec:
		return parent.Type == expr
	case *ast.CompositeLit:
		return parent.Type == expr
	case *ast.ArrayType:
		return parent.Elt == expr
	case *ast.MapType, *ast.ChanType, *ast.Ellipsis:
		return true
	case *ast.TypeAssertExpr:
		return parent.Type == expr
	case *ast.StarExpr:
		if s.standsForType(parent) {
			return true
		}
		if paren, ok := s.parents[parent].(*ast.ParenExpr); ok {
			call, ok := s.parents[paren].(*ast.CallExpr)
			return ok && call.Fun == paren
		}
		return false
	case *ast.ParenExpr:
		return s.standsForType(parent)
	case *ast.CallExpr:
		if fun, ok := parent.Fun.(*ast.Ident); ok && len(parent.Args) > 0 && parent.Args[0] == expr {
			return fun.Name == "make" || fun.Name == "new"
		}
	case *ast.CaseClause:
		if body, ok := s.parents[parent].(*ast.BlockStmt); ok {
			_, typed := s.parents[body].(*ast.TypeSwitchStmt)
			return typed
		}
	case *ast.IndexExpr:
		return parent.Index == expr && s.standsForType(parent)
	}
	return false
}

func (s *solver) typeOf(expr ast.Expr) types.Type {
	if expr == nil {
		return nil
	}
	kind := s.info.TypeOf(expr)
	if kind == nil {
		if ident, ok := expr.(*ast.Ident); ok {
			if object := s.info.ObjectOf(ident); object != nil {
				kind = object.Type()
			}
		}
	}
	if kind == nil || kind == types.Typ[types.Invalid] {
		return nil
	}
	if v, ok := s.info.Types[expr]; ok && (v.IsVoid() || v.IsBuiltin()) {
		return nil
	}
	return kind
}

// constants gives distinct values to what is guessed to be a constant.
func (s *solver) constants() bool {
	changed, n := false, 0
	for _, name := range sortedKeys(s.values) {
		v := s.values[name]
		n++
		if v.constant != "" || v.assigned || s.pkg == nil {
			continue
		}
		object := s.pkg.Scope().Lookup(name)
		if object == nil {
			continue
		}
		basic, ok := object.Type().Underlying().(*types.Basic)
		if !ok || s.isSet(name) {
			v.assigned = true
			continue
		}
		switch info := basic.Info(); {
		case info&types.IsString != 0:
			v.constant = quoteGo(name[strings.LastIndex(name, "_")+1:])
		case info&types.IsInteger != 0:
			value := n
			if v.flag {
				value = 1 << (n % 7)
			}
			v.constant = itoa(value)
		case info&types.IsFloat != 0:
			v.constant = itoa(n) + ".5"
		default:
			v.assigned = true
			continue
		}
		changed = true
	}
	return changed
}

// enumerations takes named types of which nothing but what seem to be their constants is known for numbers.
func (s *solver) enumerations() bool {
	settled := false
	for _, name := range sortedKeys(s.values) {
		object := s.pkg.Scope().Lookup(name)
		if object == nil || s.values[name].assigned || s.isSet(name) {
			continue
		}
		found := s.open(object.Type())
		if found != nil && found.declared && !found.dynamic && !found.nilable && !found.literal && len(found.fields) == 0 {
			before := found.bound
			s.bind(found, "int")
			settled = settled || found.bound != before
		}
	}
	return settled
}

// isSet tells whether a name is assigned to, or its address taken.
func (s *solver) isSet(name string) bool {
	found := false
	for ident, object := range s.info.Uses {
		if ident.Name != name || object.Parent() != s.pkg.Scope() {
			continue
		}
		switch parent := s.parents[ident].(type) {
		case *ast.AssignStmt:
			for _, left := range parent.Lhs {
				found = found || left == ident
			}
		case *ast.UnaryExpr:
			found = found || parent.Op == token.AND
		case *ast.IncDecStmt, *ast.SelectorExpr:
			found = true
		}
	}
	return found
}

// gut replaces a helper that does not compile, or an initial value.
func (s *solver) gut() bool {
	for _, err := range s.errors {
		position := s.files.Position(err.Pos)
		if position.Filename != "file.go" {
			continue
		}
		for _, span := range s.spans {
			if span.function || position.Offset < span.start || position.Offset >= span.end {
				continue
			}
			p := span.piece
			if p.function != nil && !p.gutted {
				p.gutted = true
				return true
			}
			if spec, ok := p.node.(*ast.ValueSpec); ok && !p.bare {
				p.bare = true
				if spec.Type == nil {
					s.drop(p)
				}
				return true
			}
			if p.function != nil || !s.named(p) {
				s.drop(p)
				return true
			}
		}
	}
	return false
}

func (s *solver) named(p *piece) bool { return p.keyword == "type " }

// drop leaves a piece out, so that its names are made up.
func (s *solver) drop(p *piece) {
	for i, known := range s.pieces {
		if known == p {
			s.pieces = append(s.pieces[:i:i], s.pieces[i+1:]...)
			return
		}
	}
}

func sortedErrors(errors []types.Error) []types.Error {
	sort.SliceStable(errors, func(i, j int) bool { return errors[i].Pos < errors[j].Pos })
	return errors
}
