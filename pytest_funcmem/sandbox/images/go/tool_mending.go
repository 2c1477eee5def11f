package main

import (
	"go/ast"
	"go/types"
	"strings"
)

// mend changes what was made up where the compiler complains of it.
func (s *solver) mend() bool {
	for _, err := range sortedErrors(s.errors) {
		node := s.nodeAt(err.Pos)
		for inner, depth := node, 0; inner != nil && depth < 12; inner, depth = s.parents[inner], depth+1 {
			if call, ok := inner.(*ast.CallExpr); ok {
				if f := s.madeUp(call); f != nil && f.exact == "" {
					for i, argument := range call.Args {
						if argument.Pos() <= err.Pos && err.Pos < argument.End() || err.Pos == call.Pos() {
							at := min(i, len(f.params)-1)
							if at >= 0 && f.params[at] != "any" && strings.Contains(err.Msg, "cannot use") {
								f.params[at] = "any"
								return true
							}
						}
					}
				}
			}
		}
		if s.mendMethods(err) || s.mendElement(err, node) {
			return true
		}
	}
	return false
}

// mendElement lets a made-up field or element hold anything, where what is put into it differs.
func (s *solver) mendElement(err types.Error, node ast.Node) bool {
	if !strings.Contains(err.Msg, "cannot use") {
		return false
	}
	for inner, depth := node, 0; inner != nil && depth < 6; inner, depth = s.parents[inner], depth+1 {
		switch inner := inner.(type) {
		case *ast.CompositeLit:
			found := s.types[s.ownTypeOf(s.typeOf(inner))]
			if found == nil {
				return false
			}
			if at := strings.LastIndexAny(found.bound, "]"); at >= 0 {
				return s.loosen(found.bound[at+1:])
			}
			for _, element := range inner.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok && pair.Pos() <= err.Pos && err.Pos < pair.End() {
					if key, ok := pair.Key.(*ast.Ident); ok {
						for i := range found.fields {
							if found.fields[i].name == key.Name && found.fields[i].term != "any" {
								found.fields[i].term = "any"
								return true
							}
						}
					}
				}
			}
			return false
		case ast.Stmt:
			return false
		}
	}
	return false
}

// loosen makes a guess that was taken for one type into any.
func (s *solver) loosen(name string) bool {
	found := s.types[name]
	if found == nil || found.declared || found.bound == "any" {
		return false
	}
	found.bound = "any"
	return true
}

// mendMethods adds methods that an interface wants and the file lacks.
func (s *solver) mendMethods(err types.Error) bool {
	if !strings.Contains(err.Msg, "missing method") && !strings.Contains(err.Msg, "does not implement") {
		return false
	}
	expr, ok := s.nodeAt(err.Pos).(ast.Expr)
	if ok && strings.HasPrefix(err.Msg, "impossible type") {
		return s.mendCase(expr)
	}
	for ok && expr != nil {
		kind := s.typeOf(expr)
		if own := s.ownTypeOf(kind); own != "" {
			if wanted := s.wantedFrom(err.Msg); wanted != nil {
				return s.addMissing(own, kind, wanted)
			}
		}
		parent, up := s.parents[expr].(ast.Expr)
		expr, ok = parent, up
	}
	return false
}

// mendCase gives a type the methods of the interface that it is asked to be in.
func (s *solver) mendCase(expr ast.Expr) bool {
	var asked ast.Expr
	for node := ast.Node(expr); node != nil && asked == nil; node = s.parents[node] {
		switch node := node.(type) {
		case *ast.TypeAssertExpr:
			asked = node.X
			if node.Type != nil {
				expr = node.Type // the complaint may stand at what is asked
			}
		case *ast.TypeSwitchStmt:
			ast.Inspect(node.Assign, func(inner ast.Node) bool {
				if assertion, ok := inner.(*ast.TypeAssertExpr); ok {
					asked = assertion.X
				}
				return true
			})
		}
	}
	kind := s.typeOf(asked)
	for inner := expr; inner != nil && kind != nil; {
		if own := s.ownTypeOf(s.typeOf(inner)); own != "" {
			if wanted, ok := kind.Underlying().(*types.Interface); ok {
				return s.addMissing(own, s.typeOf(inner), wanted)
			}
			return false
		}
		parent, ok := s.parents[inner].(ast.Expr)
		if !ok {
			return false
		}
		inner = parent
	}
	return false
}

func (s *solver) ownTypeOf(kind types.Type) string {
	if kind == nil {
		return ""
	}
	if pointer, ok := types.Unalias(kind).(*types.Pointer); ok {
		kind = pointer.Elem()
	}
	if named, ok := types.Unalias(kind).(*types.Named); ok && named.Obj().Pkg() == s.pkg {
		return named.Obj().Name()
	}
	return ""
}

// wantedFrom finds the interface that a complaint names.
func (s *solver) wantedFrom(message string) *types.Interface {
	for _, mark := range []string{"does not implement ", " as "} {
		_, rest, ok := strings.Cut(message, mark)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, " ")
		pkg, last, qualified := strings.Cut(name, ".")
		scope := s.pkg.Scope()
		if qualified {
			scope = nil
			for _, imported := range s.pkg.Imports() {
				if imported.Name() == pkg[strings.LastIndex(pkg, "/")+1:] {
					scope = imported.Scope()
				}
			}
		} else {
			last = name
		}
		if scope == nil {
			continue
		}
		object := scope.Lookup(last)
		if object == nil && !qualified {
			object = types.Universe.Lookup(last)
		}
		if object != nil {
			if found, ok := object.Type().Underlying().(*types.Interface); ok {
				return found
			}
		}
	}
	return nil
}

func (s *solver) addMissing(own string, kind types.Type, wanted *types.Interface) bool {
	changed := false
	have := types.NewMethodSet(kind)
	for i := range wanted.NumMethods() {
		method := wanted.Method(i)
		f := &signature{name: method.Name()}
		s.exactly(f, method.Type().(*types.Signature))
		found := s.types[own]
		if found != nil && found.method(f.name) != nil {
			// What its interface wants may have been learnt since.
			if known := found.method(f.name); known.exact != f.exact && !known.revised {
				f.revised = known.exact != ""
				*known = *f
				changed = true
			}
			continue
		}
		if have.Lookup(s.pkg, method.Name()) != nil {
			continue
		}
		if found != nil {
			found.methods = append(found.methods, f)
			changed = true
			continue
		}
		if s.additions[own] == nil {
			s.additions[own] = map[string]*signature{}
		}
		if s.additions[own][method.Name()] == nil {
			s.additions[own][method.Name()] = f
			changed = true
		}
	}
	return changed
}
