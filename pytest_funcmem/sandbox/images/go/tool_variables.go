package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// What a state may change beside arguments: variables of the package, and parameters that may be nil.

// nilable tells which parameters, the receiver among them, the function compares with nil.
func (d *driver) nilable(signature *types.Signature) []bool {
	compared := map[types.Object]bool{}
	ast.Inspect(d.syntax[0], func(node ast.Node) bool {
		if binary, ok := node.(*ast.BinaryExpr); ok && (binary.Op == token.EQL || binary.Op == token.NEQ) {
			for _, pair := range [][2]ast.Expr{{binary.X, binary.Y}, {binary.Y, binary.X}} {
				if ident, ok := pair[0].(*ast.Ident); ok && d.info.Types[pair[1]].IsNil() {
					compared[d.info.ObjectOf(ident)] = true
				}
			}
		}
		return true
	})
	var found []bool
	if receiver := signature.Recv(); receiver != nil {
		found = append(found, compared[receiver])
	}
	for i := range signature.Params().Len() {
		found = append(found, compared[signature.Params().At(i)])
	}
	return found
}

// varies tells whether a variable of the package may have another value than the one that it begins with, since
// something in the file, or what is no part of it, sets it.
func (d *driver) varies(name string) bool {
	if d.variable == nil {
		d.variable = map[string]bool{}
	}
	known, done := d.variable[name]
	if !done {
		known = d.mayVary(name)
		d.variable[name] = known
	}
	return known
}

func (d *driver) mayVary(name string) bool {
	p := d.source.byName[name]
	if p == nil || p.bare || name == "_" {
		return false
	}
	spec, ok := p.node.(*ast.ValueSpec)
	object, isVar := d.pkg.Scope().Lookup(name).(*types.Var)
	if !ok || !isVar || len(spec.Names) != 1 || !canVary(object.Type()) {
		return false
	}
	if len(spec.Values) == 0 {
		return true
	}
	switch value := spec.Values[0].(type) {
	case *ast.CallExpr:
		if selector, ok := value.Fun.(*ast.SelectorExpr); ok {
			if base, ok := selector.X.(*ast.Ident); ok && d.source.standard[base.Name] == "flag" {
				return true
			}
		}
		if fun, ok := value.Fun.(*ast.Ident); ok && fun.Name == "make" {
			return true
		}
	case *ast.CompositeLit:
		if _, mapping := object.Type().Underlying().(*types.Map); mapping && len(value.Elts) == 0 {
			return true
		}
	}
	_, basic := object.Type().Underlying().(*types.Basic)
	return basic && d.isSetInFile(name)
}

// canVary tells whether values of a type can be made that mean no more than they say.
func canVary(kind types.Type) bool {
	if named, ok := types.Unalias(kind).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() != "main" {
		return named.Obj().Pkg().Path() == "time" && named.Obj().Name() == "Duration"
	}
	switch shape := kind.Underlying().(type) {
	case *types.Basic:
		return shape.Kind() != types.UnsafePointer
	case *types.Pointer:
		if named, ok := types.Unalias(shape.Elem()).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() != "main" {
			return false
		}
		return true
	case *types.Map, *types.Slice, *types.Signature:
		return true
	case *types.Array:
		return canVary(shape.Elem())
	case *types.Interface:
		return shape.NumMethods() > 0 && types.TypeString(kind, nil) != "error"
	}
	return false
}

// isSetInFile tells whether anything in the file sets a variable of the package.
func (d *driver) isSetInFile(name string) bool {
	for _, p := range d.source.pieces {
		if p.function == nil || !strings.Contains(d.source.text[p.start:p.end], name) {
			continue
		}
		locals := localNames(p.node)
		is := func(expr ast.Expr) bool {
			ident, ok := expr.(*ast.Ident)
			return ok && ident.Name == name && !locals[ident]
		}
		found := false
		ast.Inspect(p.node, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.AssignStmt:
				for _, left := range node.Lhs {
					found = found || node.Tok != token.DEFINE && is(left)
				}
			case *ast.IncDecStmt:
				found = found || is(node.X)
			case *ast.UnaryExpr:
				found = found || node.Op == token.AND && is(node.X)
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// uses tells whether the slice uses a package.
func (s *solver) uses(path string) bool {
	for _, object := range s.info.Uses {
		if pkg, ok := object.(*types.PkgName); ok && pkg.Imported().Path() == path {
			return true
		}
	}
	return false
}
