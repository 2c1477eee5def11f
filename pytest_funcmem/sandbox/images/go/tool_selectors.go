package main

import (
	"go/ast"
	"go/types"
)

// What a field or method that is selected tells of the type that it is selected from.

// holder gives the guess that a selector selects from.
func (s *solver) holder(node *ast.SelectorExpr) (*guess, types.Type) {
	kind := s.typeOf(node.X)
	if kind == nil {
		return nil, nil
	}
	inner := kind
	if pointer, ok := types.Unalias(kind).(*types.Pointer); ok {
		inner = pointer.Elem()
	}
	if named, ok := types.Unalias(inner).(*types.Named); ok && named.Obj().Pkg() == s.pkg {
		if found := s.types[named.Obj().Name()]; found != nil {
			return found, inner
		}
	}
	return nil, nil
}

// ownType gives the name of the file's own type that an expression has.
func (s *solver) ownType(expr ast.Expr) string {
	kind := s.typeOf(expr)
	if kind == nil {
		return ""
	}
	if pointer, ok := types.Unalias(kind).(*types.Pointer); ok {
		kind = pointer.Elem()
	}
	if named, ok := types.Unalias(kind).(*types.Named); ok && named.Obj().Pkg() == s.pkg && s.types[named.Obj().Name()] == nil {
		return named.Obj().Name()
	}
	return ""
}

func (s *solver) learnSelector(node *ast.SelectorExpr) {
	name := node.Sel.Name
	call, called := s.parents[node].(*ast.CallExpr)
	called = called && call.Fun == node
	if found, _ := s.holder(node); found != nil {
		if name == "_" || found.method(name) != nil || s.info.Selections[node] != nil {
			return
		}
		for _, known := range found.fields {
			if known.name == name {
				return
			}
		}
		if called {
			found.addMethod(s.guesses, name)
		} else if found.dynamic {
			return
		} else {
			found.field(s.guesses, name, "")
		}
		return
	}
	own := s.ownType(node.X)
	if own == "" || s.info.Selections[node] != nil || s.info.Uses[node.Sel] != nil {
		return
	}
	kind := s.typeOf(node.X)
	if pointer, ok := types.Unalias(kind).(*types.Pointer); ok {
		kind = pointer.Elem()
	}
	if parent := s.embeddedGuess(kind, 0); parent != nil {
		if called {
			parent.addMethod(s.guesses, name)
		} else {
			parent.field(s.guesses, name, "")
		}
		return
	}
	if _, isInterface := kind.Underlying().(*types.Interface); isInterface {
		return
	}
	if s.additions[own] == nil {
		s.additions[own] = map[string]*signature{}
	}
	if s.additions[own][name] == nil {
		s.additions[own][name] = &signature{name: name}
		s.changed = true
	}
}

// embeddedGuess finds an embedded guess from which a missing name may be promoted.
func (s *solver) embeddedGuess(kind types.Type, depth int) *guess {
	if depth > 4 || kind == nil {
		return nil
	}
	switch shape := kind.Underlying().(type) {
	case *types.Struct:
		for i := range shape.NumFields() {
			field := shape.Field(i)
			if !field.Embedded() {
				continue
			}
			inner := field.Type()
			if pointer, ok := types.Unalias(inner).(*types.Pointer); ok {
				inner = pointer.Elem()
			}
			if found := s.open(inner); found != nil {
				return found
			}
			if found := s.embeddedGuess(inner, depth+1); found != nil {
				return found
			}
		}
	case *types.Interface:
		for i := range shape.NumEmbeddeds() {
			if found := s.open(shape.EmbeddedType(i)); found != nil {
				return found
			}
		}
	}
	return nil
}

func (s *solver) learnEmbedded(fields *ast.FieldList, dynamic bool) {
	for _, field := range fields.List {
		if len(field.Names) == 0 && dynamic {
			if found := s.open(s.typeOf(field.Type)); found != nil {
				s.mark(&found.dynamic)
			}
		}
	}
}
