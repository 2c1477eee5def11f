package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// What a composite literal tells of its type and of what it holds.

func (s *solver) learnLiteral(node *ast.CompositeLit) {
	kind := s.typeOf(node)
	if kind == nil {
		return
	}
	if pointer, ok := types.Unalias(kind).(*types.Pointer); ok {
		kind = pointer.Elem() // an element of which the type is left out
	}
	if found := s.open(kind); found != nil {
		s.learnOpenLiteral(found, node)
		return
	}
	var elem, key types.Type
	switch shape := kind.Underlying().(type) {
	case *types.Slice:
		elem = shape.Elem()
	case *types.Array:
		elem = shape.Elem()
	case *types.Map:
		elem, key = shape.Elem(), shape.Key()
	case *types.Struct:
		for i, element := range node.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				s.results(pair.Value, 1, nil)
				if name, ok := pair.Key.(*ast.Ident); ok {
					for j := range shape.NumFields() {
						if shape.Field(j).Name() == name.Name {
							s.flow(shape.Field(j).Type(), s.typeOf(pair.Value))
						}
					}
				}
			} else if i < shape.NumFields() {
				s.flow(shape.Field(i).Type(), s.typeOf(element))
			}
		}
		return
	}
	for _, element := range node.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key != nil {
				s.flow(key, s.typeOf(pair.Key))
			}
			element = pair.Value
		}
		s.results(element, 1, nil)
		if elem != nil {
			s.flow(elem, s.typeOf(element))
		}
	}
}

func (s *solver) learnOpenLiteral(found *guess, node *ast.CompositeLit) {
	if len(node.Elts) == 0 {
		return
	}
	pair, keyed := node.Elts[0].(*ast.KeyValueExpr)
	if !keyed {
		if !s.isSequence(found.name, node) {
			found.positional = true
			for i, element := range node.Elts {
				s.results(element, 1, nil)
				term := found.field(s.guesses, "F"+itoa(i), "")
				s.learnField(term, element)
			}
			return
		}
		elem := s.typeOf(node.Elts[0])
		if inner, ok := node.Elts[0].(*ast.CompositeLit); ok && inner.Type == nil {
			s.bind(found, "[]"+s.fresh())
			return
		}
		if elem != nil {
			if basic, ok := elem.(*types.Basic); ok {
				elem = types.Default(basic)
			}
			s.bind(found, "[]"+s.term(elem))
		}
		return
	}
	if _, named := pair.Key.(*ast.Ident); !named {
		key := "any"
		if kind := s.typeOf(pair.Key); kind != nil {
			if basic, ok := kind.(*types.Basic); ok {
				kind = types.Default(basic)
			}
			key = s.term(kind)
		} else if literal, ok := pair.Key.(*ast.BasicLit); ok {
			key = map[token.Token]string{token.STRING: "string", token.INT: "int", token.CHAR: "rune"}[literal.Kind]
		}
		if key != "" {
			s.bind(found, "map["+key+"]"+s.fresh())
		}
		return
	}
	for _, element := range node.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		s.results(pair.Value, 1, nil)
		if name, ok := pair.Key.(*ast.Ident); ok {
			term := found.field(s.guesses, name.Name, "")
			s.learnField(term, pair.Value)
		}
	}
}

// learnField says that a value becomes a field of a made-up type.
func (s *solver) learnField(term string, value ast.Expr) {
	kind := s.typeOf(value)
	if kind == nil {
		return
	}
	if known := s.types[s.resolve(term)]; known != nil && known.bound == "" {
		s.settleField(known, kind)
	} else if found := s.open(kind); found != nil && !found.declared && known == nil && isPlainTerm(s.resolve(term)) {
		s.bind(found, term) // the field is known from elsewhere
	}
}

// isPlainTerm tells whether a type is one of the language's own, or a list of those: nothing holds it but itself.
func isPlainTerm(term string) bool {
	_, known := types.Universe.Lookup(strings.TrimPrefix(term, "[]")).(*types.TypeName)
	return known && term != "error" && term != "any"
}

func (s *solver) settleField(known *guess, kind types.Type) {
	basic, ok := kind.(*types.Basic)
	switch {
	case !ok || basic.Info()&types.IsUntyped == 0:
		s.bind(known, s.term(kind))
	case basic.Kind() == types.UntypedNil:
		s.mark(&known.nilable)
	default:
		s.suggest(known, types.Default(basic).String())
	}
}

// isSequence tells whether a literal without keys is that of a slice, and not of a struct by position.
func (s *solver) isSequence(name string, node *ast.CompositeLit) bool {
	first := node.Elts[0]
	if inner, ok := first.(*ast.CompositeLit); ok && inner.Type == nil {
		return true
	}
	if len(node.Elts) == 1 {
		return strings.HasSuffix(name, "s") || strings.HasSuffix(name, "List") || strings.HasSuffix(name, "Slice") || strings.HasSuffix(name, "Set")
	}
	for _, element := range node.Elts[1:] {
		a, b := s.typeOf(first), s.typeOf(element)
		if a == nil || b == nil || !types.Identical(a, b) {
			return false
		}
	}
	return true
}
