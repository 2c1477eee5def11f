package main

import (
	"go/ast"
	"go/types"
	"strings"
)

// A generic type or function that is missing cannot be made up with its type parameters. Each of its instances
// becomes a plain name instead, in the original as in a candidate: set.Set[string] is set__Set__of__string.

// instanceName gives the plain name of an instance, and what it is an instance of.
func instanceName(node ast.Node) (name string, base ast.Expr, arguments []ast.Expr) {
	switch node := node.(type) {
	case *ast.IndexExpr:
		base, arguments = node.X, []ast.Expr{node.Index}
	case *ast.IndexListExpr:
		base, arguments = node.X, node.Indices
	default:
		return "", nil, nil
	}
	switch base := base.(type) {
	case *ast.Ident:
		name = base.Name
	case *ast.SelectorExpr:
		pkg, ok := base.X.(*ast.Ident)
		if !ok {
			return "", nil, nil
		}
		name = pkg.Name + "__" + base.Sel.Name
	default:
		return "", nil, nil
	}
	name += "__of_"
	for _, argument := range arguments {
		name += "_" + strings.Map(wordRune, types.ExprString(argument))
	}
	return name, base, arguments
}

func wordRune(r rune) rune {
	if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127 {
		return r
	}
	return '_'
}

// findInstances notes the instances of what is missing in a piece.
func (s *source) findInstances(p *piece, locals map[*ast.Ident]bool) {
	var above []ast.Node
	ast.Inspect(p.node, func(node ast.Node) bool {
		if node == nil {
			above = above[:len(above)-1]
			return true
		}
		if name, base, arguments := instanceName(node); name != "" && s.lacks(base, locals) && isClosed(arguments, locals) {
			if isTypePlace(node, above) || isCalled(node, above) && areTypes(arguments) {
				s.instances[node] = name
			}
		}
		above = append(above, node)
		return true
	})
}

// lacks tells whether a name, of a package or not, is missing.
func (s *source) lacks(base ast.Expr, locals map[*ast.Ident]bool) bool {
	switch base := base.(type) {
	case *ast.Ident:
		return !locals[base] && s.byName[base.Name] == nil && !universe[base.Name]
	case *ast.SelectorExpr:
		pkg := base.X.(*ast.Ident)
		return !locals[pkg] && s.isMissing(pkg.Name)
	}
	return false
}

// isClosed tells whether type arguments name no type parameter and nothing else that is local.
func isClosed(arguments []ast.Expr, locals map[*ast.Ident]bool) bool {
	closed := true
	for _, argument := range arguments {
		ast.Inspect(argument, func(node ast.Node) bool {
			if ident, ok := node.(*ast.Ident); ok && locals[ident] {
				closed = false
			}
			return closed
		})
	}
	return closed
}

// isTypePlace tells whether an expression stands where only a type can.
func isTypePlace(node ast.Node, above []ast.Node) bool {
	if len(above) == 0 {
		return false
	}
	parent, further := above[len(above)-1], above[:len(above)-1]
	switch parent := parent.(type) {
	case *ast.Field:
		return parent.Type == node
	case *ast.ValueSpec:
		return parent.Type == node
	case *ast.TypeSpec:
		return parent.Type == node
	case *ast.CompositeLit:
		return parent.Type == node
	case *ast.ArrayType:
		return parent.Elt == node
	case *ast.TypeAssertExpr:
		return parent.Type == node
	case *ast.MapType, *ast.ChanType, *ast.Ellipsis:
		return true
	case *ast.StarExpr, *ast.ParenExpr:
		return isTypePlace(parent, further)
	case *ast.CallExpr:
		fun, ok := parent.Fun.(*ast.Ident)
		return ok && (fun.Name == "make" || fun.Name == "new") && len(parent.Args) > 0 && parent.Args[0] == node
	}
	return false
}

func isCalled(node ast.Node, above []ast.Node) bool {
	if len(above) == 0 {
		return false
	}
	call, ok := above[len(above)-1].(*ast.CallExpr)
	return ok && call.Fun == node
}

// areTypes tells whether expressions can be nothing but types.
func areTypes(arguments []ast.Expr) bool {
	for _, argument := range arguments {
		switch argument := argument.(type) {
		case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType, *ast.StructType, *ast.StarExpr:
		case *ast.Ident:
			if object, ok := types.Universe.Lookup(argument.Name).(*types.TypeName); !ok || object == nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}
