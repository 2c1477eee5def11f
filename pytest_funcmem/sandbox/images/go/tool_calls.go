package main

import (
	"go/ast"
	"go/types"
	"strings"
)

// madeUp gives the made-up function that an expression calls.
func (s *solver) madeUp(expr ast.Expr) *signature {
	for {
		paren, ok := expr.(*ast.ParenExpr)
		if !ok {
			break
		}
		expr = paren.X
	}
	call, ok := expr.(*ast.CallExpr)
	if !ok {
		return nil
	}
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return s.functions[fun.Name]
	case *ast.SelectorExpr:
		if found, _ := s.holder(fun); found != nil {
			return found.method(fun.Sel.Name)
		}
		if selection := s.info.Selections[fun]; selection != nil {
			if method, ok := selection.Obj().(*types.Func); ok && method.Signature().Recv() != nil {
				if found := s.types[s.ownTypeOf(method.Signature().Recv().Type())]; found != nil {
					return found.method(fun.Sel.Name)
				}
			}
		}
		if name := s.ownType(fun.X); name != "" {
			return s.additions[name][fun.Sel.Name]
		}
	}
	return nil
}

// results says how many results a made-up call has, and what they are called.
func (s *solver) results(expr ast.Expr, count int, names []ast.Expr) {
	f := s.madeUp(expr)
	if f == nil || f.exact != "" || f.known && len(f.results) >= count {
		return
	}
	f.known = true
	for len(f.results) < count {
		i := len(f.results)
		term := ""
		if i < len(names) && count > 0 {
			if ident, ok := names[i].(*ast.Ident); ok {
				switch name := strings.ToLower(ident.Name); {
				case (name == "err" || strings.HasSuffix(name, "err")) && !s.looksInside(ident):
					term = "error"
				case (name == "ok" || name == "found" || name == "exists") && i == count-1 && count > 1:
					term = "bool"
				}
			}
		}
		if term == "" {
			term = s.fresh()
		}
		f.results = append(f.results, term)
	}
	s.changed = true
}

// looksInside tells whether fields of what a name stands for are used: then it is no plain error.
func (s *solver) looksInside(ident *ast.Ident) bool {
	found := false
	object := s.info.ObjectOf(ident)
	ast.Inspect(s.syntax[0], func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name != "Error" {
			if base, ok := selector.X.(*ast.Ident); ok && base.Name == ident.Name && s.info.ObjectOf(base) == object {
				found = true
			}
		}
		return !found
	})
	return found
}

func (s *solver) learnCall(node *ast.CallExpr) {
	if f := s.madeUp(node); f != nil {
		s.learnParameters(f, node)
		if !f.known {
			// Where else would it stand, if not where one value is wanted?
			switch s.parents[node].(type) {
			case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt, *ast.AssignStmt, *ast.ReturnStmt, *ast.ValueSpec:
			default:
				s.results(node, 1, nil)
			}
			if _, ok := s.parents[node].(*ast.ValueSpec); ok {
				s.results(node, 1, nil)
			}
		}
		if signature, ok := s.typeOf(node.Fun).(*types.Signature); ok {
			s.learnArguments(signature, node)
		}
		return
	}
	if tv, ok := s.info.Types[node.Fun]; ok && tv.IsType() {
		s.learnConversion(tv.Type, node)
		return
	}
	if ident, ok := node.Fun.(*ast.Ident); ok && universe[ident.Name] {
		s.learnBuiltin(ident.Name, node)
		return
	}
	kind := s.typeOf(node.Fun)
	if signature, ok := coreOf(kind).(*types.Signature); ok {
		s.learnArguments(signature, node)
		return
	}
	if found := s.open(kind); found != nil {
		var params, results []string
		for range node.Args {
			params = append(params, s.fresh())
		}
		switch parent := s.parents[node].(type) {
		case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
			if s.isAskedElsewhere(found) {
				return // a call that drops its results says nothing of them
			}
		case *ast.AssignStmt:
			if len(parent.Rhs) == 1 {
				for range parent.Lhs {
					results = append(results, s.fresh())
				}
			} else {
				results = append(results, s.fresh())
			}
		case *ast.ReturnStmt:
			if s.shape != nil && len(parent.Results) == 1 {
				for i := range s.shape.Results().Len() {
					results = append(results, s.term(s.shape.Results().At(i).Type()))
				}
			} else {
				results = append(results, s.fresh())
			}
		default:
			results = append(results, s.fresh())
		}
		s.suggestStrongly(found, "func("+strings.Join(params, ", ")+") ("+strings.Join(results, ", ")+")")
	}
}

// isAskedElsewhere tells whether a function of this type is called somewhere for its results.
func (s *solver) isAskedElsewhere(kind *guess) bool {
	asked := false
	ast.Inspect(s.syntax[0], func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			switch s.parents[call].(type) {
			case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
			default:
				asked = asked || s.open(s.typeOf(call.Fun)) == kind
			}
		}
		return !asked
	})
	return asked
}

// learnParameters gives a made-up function as many parameters as it is called with.
func (s *solver) learnParameters(f *signature, node *ast.CallExpr) {
	if f.exact != "" {
		return
	}
	count := len(node.Args)
	if count == 1 {
		if tuple, ok := s.typeOf(node.Args[0]).(*types.Tuple); ok {
			count = tuple.Len()
		}
	}
	switch {
	case !f.called:
		f.called = true
		for range count {
			f.params = append(f.params, s.fresh())
		}
		f.variadic = node.Ellipsis.IsValid()
		s.changed = true
	case !f.variadic && len(f.params) != count:
		// Called with different numbers of arguments: the rest is of any type.
		common := min(len(f.params), count)
		f.params = append(f.params[:common:common], "any")
		f.variadic = true
		s.changed = true
	case f.variadic && count < len(f.params)-1:
		f.params = append(f.params[:count:count], "any")
		s.changed = true
	}
}

func (s *solver) learnArguments(signature *types.Signature, node *ast.CallExpr) {
	params := signature.Params()
	if len(node.Args) == 1 {
		if tuple, ok := s.typeOf(node.Args[0]).(*types.Tuple); ok {
			for i := range min(tuple.Len(), params.Len()) {
				s.flow(params.At(i).Type(), tuple.At(i).Type())
			}
			return
		}
	}
	for i, argument := range node.Args {
		if i >= params.Len() && !signature.Variadic() {
			return
		}
		kind := params.At(min(i, params.Len()-1)).Type()
		if signature.Variadic() && i >= params.Len()-1 && !node.Ellipsis.IsValid() {
			if slice, ok := kind.(*types.Slice); ok {
				kind = slice.Elem()
			}
		}
		s.results(argument, 1, nil)
		if _, generic := types.Unalias(kind).(*types.TypeParam); !generic {
			s.flow(kind, s.typeOf(argument))
		}
	}
}

func (s *solver) learnConversion(to types.Type, node *ast.CallExpr) {
	if len(node.Args) != 1 {
		return
	}
	from := s.typeOf(node.Args[0])
	s.results(node.Args[0], 1, nil)
	if target := s.open(to); target != nil && from != nil {
		if s.open(from) == nil {
			if basic, ok := from.Underlying().(*types.Basic); ok {
				s.suggestStrongly(target, types.Default(basic).Underlying().String())
			} else if _, pointer := types.Unalias(from).(*types.Pointer); pointer && !target.literal {
				s.markDynamic(target)
			} else if _, named := types.Unalias(from).(*types.Named); !named {
				s.suggestStrongly(target, s.term(from))
			} else {
				s.suggest(target, s.term(from.Underlying()))
			}
		}
		return
	}
	if origin := s.open(from); origin != nil && from != nil {
		switch kind := to.Underlying().(type) {
		case *types.Pointer:
			s.suggest(origin, s.qualify(types.Unsafe)+".Pointer")
		case *types.Basic:
			switch {
			case kind.Kind() == types.UnsafePointer:
				s.suggest(origin, s.qualify(types.Unsafe)+".Pointer")
			case kind.Info()&types.IsNumeric != 0:
				s.mark(&origin.number)
				s.suggest(origin, kind.String())
			default:
				s.suggest(origin, "string")
			}
		case *types.Slice:
			s.suggest(origin, "string")
		}
	}
}

func (s *solver) learnBuiltin(name string, node *ast.CallExpr) {
	if len(node.Args) == 0 {
		return
	}
	first := s.typeOf(node.Args[0])
	found := s.open(first)
	switch name {
	case "append":
		var elem types.Type
		if slice, ok := coreOf(first).(*types.Slice); ok {
			elem = slice.Elem()
		}
		for _, argument := range node.Args[1:] {
			s.results(argument, 1, nil)
			kind := s.typeOf(argument)
			switch {
			case node.Ellipsis.IsValid():
				s.flow(first, kind)
				if inner := s.open(kind); inner != nil && found == nil {
					s.flow(first, kind)
				}
			case elem != nil:
				s.flow(elem, kind)
			case found != nil && kind != nil:
				if basic, ok := kind.(*types.Basic); ok {
					kind = types.Default(basic)
				}
				s.suggestStrongly(found, "[]"+s.term(kind))
			}
		}
	case "len", "cap", "range":
		if found != nil {
			s.suggest(found, "string")
		}
	case "delete":
		if found != nil && len(node.Args) == 2 {
			key := s.typeOf(node.Args[1])
			if key != nil {
				if basic, ok := key.(*types.Basic); ok {
					key = types.Default(basic)
				}
				s.suggestStrongly(found, "map["+s.term(key)+"]"+s.fresh())
			}
		}
	case "close":
		if found != nil {
			s.suggestStrongly(found, "chan "+s.fresh())
		}
	case "copy":
		if len(node.Args) == 2 {
			s.unify(first, s.typeOf(node.Args[1]))
		}
	case "make":
		for _, size := range node.Args[1:] {
			s.count(size)
		}
		if found != nil {
			if len(node.Args) > 1 {
				s.suggest(found, "[]"+s.fresh())
			} else {
				s.suggest(found, "map[string]"+s.fresh())
			}
		}
	}
}
