package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// constrain learns from every use of what is made up.
func (s *solver) constrain() {
	for _, file := range s.syntax[:2] {
		var shapes []*types.Signature
		var stack []ast.Node
		ast.Inspect(file, func(node ast.Node) bool {
			if node == nil {
				switch stack[len(stack)-1].(type) {
				case *ast.FuncDecl, *ast.FuncLit:
					shapes = shapes[:len(shapes)-1]
				}
				stack = stack[:len(stack)-1]
				return true
			}
			stack = append(stack, node)
			switch node := node.(type) {
			case *ast.FuncDecl:
				shape, _ := s.typeOfObject(node.Name).(*types.Signature)
				shapes = append(shapes, shape)
			case *ast.FuncLit:
				shape, _ := s.typeOf(node).(*types.Signature)
				shapes = append(shapes, shape)
			}
			s.shape = nil
			if len(shapes) > 0 {
				s.shape = shapes[len(shapes)-1]
			}
			s.learn(node)
			return true
		})
	}
}

func (s *solver) typeOfObject(ident *ast.Ident) types.Type {
	if object := s.info.ObjectOf(ident); object != nil {
		return object.Type()
	}
	return nil
}

func (s *solver) learn(node ast.Node) {
	switch node := node.(type) {
	case *ast.AssignStmt:
		s.learnAssignment(node)
	case *ast.ValueSpec:
		if node.Type != nil {
			for _, value := range node.Values {
				s.flow(s.typeOf(node.Type), s.typeOf(value))
			}
		}
		if len(node.Values) == 1 && len(node.Names) > 1 {
			s.results(node.Values[0], len(node.Names), nil)
		}
	case *ast.ReturnStmt:
		s.learnReturn(node)
	case *ast.CallExpr:
		s.learnCall(node)
	case *ast.SelectorExpr:
		s.learnSelector(node)
	case *ast.BinaryExpr:
		s.learnBinary(node)
	case *ast.UnaryExpr:
		kind := s.typeOf(node.X)
		if found := s.open(kind); found != nil {
			switch node.Op {
			case token.NOT:
				s.suggestStrongly(found, "bool")
			case token.SUB, token.ADD, token.XOR:
				s.mark(&found.number)
			case token.ARROW:
				s.suggestStrongly(found, "chan "+s.fresh())
			}
		}
	case *ast.StarExpr:
		if found := s.open(s.typeOf(node.X)); found != nil && !s.standsForType(node) && !s.isTypeName(node.X) {
			s.suggestStrongly(found, "*"+s.fresh())
		}
	case *ast.IncDecStmt:
		if found := s.open(s.typeOf(node.X)); found != nil {
			s.mark(&found.number)
		}
	case *ast.IfStmt:
		s.boolean(node.Cond)
	case *ast.ForStmt:
		s.boolean(node.Cond)
	case *ast.IndexExpr:
		s.learnIndex(node)
	case *ast.SliceExpr:
		if found := s.open(s.typeOf(node.X)); found != nil {
			if size := s.arraySize(node.X); size > 0 {
				s.bind(found, "["+itoa(size)+"]byte")
			}
			s.suggest(found, "string")
		}
		for _, bound := range []ast.Expr{node.Low, node.High, node.Max} {
			s.count(bound)
		}
	case *ast.RangeStmt:
		s.learnRange(node)
	case *ast.CompositeLit:
		s.learnLiteral(node)
	case *ast.TypeAssertExpr:
		if found := s.open(s.typeOf(node.X)); found != nil {
			if found.declared || s.isSelectedFrom(found) {
				found.declared = true // an interface with methods needs a name
				s.markDynamic(found)
			} else {
				s.bind(found, "any")
			}
		}
	case *ast.SwitchStmt:
		for _, clause := range node.Body.List {
			for _, value := range clause.(*ast.CaseClause).List {
				if node.Tag == nil {
					s.boolean(value)
				} else {
					s.same(node.Tag, value)
				}
			}
		}
	case *ast.SendStmt:
		if channel, ok := coreOf(s.typeOf(node.Chan)).(*types.Chan); ok {
			s.flow(channel.Elem(), s.typeOf(node.Value))
		} else if found := s.open(s.typeOf(node.Chan)); found != nil {
			s.suggestStrongly(found, "chan "+s.fresh())
		}
	case *ast.StructType:
		s.learnEmbedded(node.Fields, false)
	case *ast.InterfaceType:
		s.learnEmbedded(node.Methods, true)
	case *ast.ExprStmt:
		s.results(node.X, 0, nil)
	case *ast.GoStmt:
		s.results(node.Call, 0, nil)
	case *ast.DeferStmt:
		s.results(node.Call, 0, nil)
	}
}

// isSelectedFrom tells whether something is selected from values of a guessed type.
func (s *solver) isSelectedFrom(found *guess) bool {
	selected := len(found.methods) > 0
	for _, file := range s.syntax[:2] {
		ast.Inspect(file, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok && s.open(s.typeOf(selector.X)) == found {
				selected = true
			}
			return !selected
		})
	}
	return selected
}

func coreOf(kind types.Type) types.Type {
	if kind == nil {
		return nil
	}
	return kind.Underlying()
}

func (s *solver) isTypeName(expr ast.Expr) bool {
	return s.info.Types[expr].IsType()
}

// suggestStrongly binds what is only a guess, and shapes what the source names.
func (s *solver) suggestStrongly(found *guess, term string) {
	if found.bound == "" {
		s.bind(found, term)
	}
}

func (s *solver) boolean(expr ast.Expr) {
	if found := s.open(s.typeOf(expr)); found != nil && expr != nil {
		s.suggestStrongly(found, "bool")
	}
}

func (s *solver) same(a, b ast.Expr) {
	x, y := s.operandType(a), s.operandType(b)
	if x == nil || y == nil {
		return
	}
	switch {
	case s.open(x) != nil:
		s.flow(x, y)
	case s.open(y) != nil:
		s.flow(y, x)
	default:
		s.unify(x, y)
	}
}

// operandType is the type of an expression, or, of a sum that has none yet, that of what it begins with.
func (s *solver) operandType(expr ast.Expr) types.Type {
	for {
		if kind := s.typeOf(expr); kind != nil {
			return kind
		}
		switch inner := expr.(type) {
		case *ast.ParenExpr:
			expr = inner.X
		case *ast.BinaryExpr:
			switch inner.Op {
			case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
				expr = inner.X
			default:
				return nil
			}
		default:
			return nil
		}
	}
}

func (s *solver) learnAssignment(node *ast.AssignStmt) {
	if len(node.Lhs) == len(node.Rhs) {
		for i := range node.Lhs {
			s.results(node.Rhs[i], 1, node.Lhs[i:i+1])
			switch node.Tok {
			case token.ASSIGN:
				s.flow(s.typeOf(node.Lhs[i]), s.typeOf(node.Rhs[i]))
				s.back(node.Lhs[i], node.Rhs[i])
			case token.DEFINE:
				s.back(node.Lhs[i], node.Rhs[i])
			case token.SHL_ASSIGN, token.SHR_ASSIGN:
			default:
				s.same(node.Lhs[i], node.Rhs[i])
				if found := s.open(s.typeOf(node.Lhs[i])); found != nil && node.Tok != token.ADD_ASSIGN {
					s.mark(&found.number)
				}
			}
		}
		return
	}
	if len(node.Rhs) != 1 {
		return
	}
	s.results(node.Rhs[0], len(node.Lhs), node.Lhs)
	if tuple, ok := s.typeOf(node.Rhs[0]).(*types.Tuple); ok {
		for i := range min(tuple.Len(), len(node.Lhs)) {
			s.flow(s.typeOf(node.Lhs[i]), tuple.At(i).Type())
		}
	}
}

// back lets a redeclared or assigned variable tell what a made-up call gives.
func (s *solver) back(left, right ast.Expr) {
	if found := s.open(s.typeOf(right)); found != nil && !found.declared {
		if kind := s.typeOf(left); kind != nil && s.open(kind) == nil {
			s.flow(kind, s.typeOf(right))
		}
	}
}

func (s *solver) learnReturn(node *ast.ReturnStmt) {
	if s.shape == nil {
		return
	}
	results := s.shape.Results()
	if len(node.Results) == 1 && results.Len() > 1 {
		if f := s.madeUp(node.Results[0]); f != nil && !f.known {
			f.known = true
			for i := range results.Len() {
				f.results = append(f.results, s.term(results.At(i).Type()))
			}
			s.changed = true
		}
		return
	}
	for i := range min(len(node.Results), results.Len()) {
		s.results(node.Results[i], 1, nil)
		s.flow(results.At(i).Type(), s.typeOf(node.Results[i]))
	}
}

func (s *solver) learnBinary(node *ast.BinaryExpr) {
	s.results(node.X, 1, nil)
	s.results(node.Y, 1, nil)
	switch node.Op {
	case token.LAND, token.LOR:
		s.boolean(node.X)
		s.boolean(node.Y)
		return
	case token.SHL, token.SHR:
		for _, expr := range []ast.Expr{node.X, node.Y} {
			if found := s.open(s.typeOf(expr)); found != nil {
				s.mark(&found.number)
			}
		}
		return
	}
	s.same(node.X, node.Y)
	for _, expr := range []ast.Expr{node.X, node.Y} {
		if found := s.open(s.typeOf(expr)); found != nil {
			switch node.Op {
			case token.SUB, token.MUL, token.QUO, token.REM, token.AND, token.OR, token.XOR, token.AND_NOT,
				token.LSS, token.LEQ, token.GTR, token.GEQ:
				s.mark(&found.number)
			}
		}
		if node.Op == token.AND || node.Op == token.OR || node.Op == token.AND_NOT {
			if ident, ok := expr.(*ast.Ident); ok && s.values[ident.Name] != nil {
				s.values[ident.Name].flag = true
			}
		}
	}
}

func (s *solver) learnIndex(node *ast.IndexExpr) {
	kind := s.typeOf(node.X)
	s.results(node.Index, 1, nil)
	if found := s.open(kind); found != nil {
		if size := s.arraySize(node.X); size > 0 {
			s.bind(found, "["+itoa(size)+"]"+s.fresh())
			return
		}
		index := s.typeOf(node.Index)
		if basic, ok := coreOf(index).(*types.Basic); ok && s.open(index) == nil {
			if basic.Info()&types.IsString != 0 {
				s.suggestStrongly(found, "map["+s.term(types.Default(index))+"]"+s.fresh())
			} else {
				s.suggestStrongly(found, "[]"+s.fresh())
			}
		} else if other := s.open(index); (other != nil || index == nil) && (found.weak == "" || found.weak == "string") {
			if other != nil {
				s.suggest(other, "int")
			}
			found.weak = "[]" + s.fresh()
			s.changed = true
		}
		return
	}
	switch shape := coreOf(kind).(type) {
	case *types.Map:
		s.flow(shape.Key(), s.typeOf(node.Index))
	case *types.Slice, *types.Array, *types.Basic:
		if found := s.open(s.typeOf(node.Index)); found != nil {
			s.suggest(found, "int")
			s.mark(&found.number)
		}
	}
}

// count takes an expression for a number of things: a length, or a bound of a slice.
func (s *solver) count(expr ast.Expr) {
	if binary, ok := expr.(*ast.BinaryExpr); ok {
		s.count(binary.X)
		s.count(binary.Y)
		return
	}
	s.results(expr, 1, nil)
	if found := s.open(s.typeOf(expr)); found != nil {
		s.suggest(found, "int")
		s.mark(&found.number)
	}
}

func (s *solver) learnRange(node *ast.RangeStmt) {
	s.results(node.X, 1, nil)
	found := s.open(s.typeOf(node.X))
	if found == nil {
		return
	}
	text := false
	if key, ok := node.Key.(*ast.Ident); ok && key.Name != "_" {
		name := strings.ToLower(key.Name)
		text = strings.Contains(name, "key") || strings.Contains(name, "name") || name == "k" || s.usedAsText(key, node.Body)
	}
	if key, ok := node.Key.(*ast.Ident); ok && node.Value == nil && s.usedAsThing(key, node.Body) {
		s.suggestStrongly(found, "chan "+s.fresh())
	} else if text {
		s.suggestStrongly(found, "map[string]"+s.fresh())
	} else {
		s.suggestStrongly(found, "[]"+s.fresh())
	}
}

// usedAsText tells whether a variable stands where only a text can.
func (s *solver) usedAsText(name *ast.Ident, body ast.Node) bool {
	object, found := s.info.ObjectOf(name), false
	isText := func(expr ast.Expr) bool {
		basic, ok := coreOf(s.typeOf(expr)).(*types.Basic)
		return ok && basic.Info()&types.IsString != 0
	}
	ast.Inspect(body, func(node ast.Node) bool {
		ident, ok := node.(*ast.Ident)
		if !ok || object == nil || s.info.ObjectOf(ident) != object {
			return !found
		}
		switch parent := s.parents[ident].(type) {
		case *ast.BinaryExpr:
			found = found || parent.X == ident && isText(parent.Y) || parent.Y == ident && isText(parent.X)
		case *ast.CallExpr:
			signature, ok := coreOf(s.typeOf(parent.Fun)).(*types.Signature)
			for i, argument := range parent.Args {
				if ok && argument == ident && i < signature.Params().Len() {
					basic, plain := coreOf(signature.Params().At(i).Type()).(*types.Basic)
					found = found || plain && basic.Info()&types.IsString != 0
				}
			}
		case *ast.IndexExpr:
			if shape, ok := coreOf(s.typeOf(parent.X)).(*types.Map); ok && parent.Index == ident {
				basic, plain := shape.Key().Underlying().(*types.Basic)
				found = found || plain && basic.Info()&types.IsString != 0
			}
		case *ast.SliceExpr:
			found = found || parent.X == ident
		}
		return !found
	})
	return found
}

// usedAsThing tells whether a variable stands where no number and no text can.
func (s *solver) usedAsThing(name *ast.Ident, body ast.Node) bool {
	object, found := s.info.ObjectOf(name), false
	ast.Inspect(body, func(node ast.Node) bool {
		ident, ok := node.(*ast.Ident)
		if !ok || object == nil || s.info.ObjectOf(ident) != object {
			return !found
		}
		switch parent := s.parents[ident].(type) {
		case *ast.RangeStmt:
			found = found || parent.X == ident
		case *ast.SelectorExpr:
			found = found || parent.X == ident
		case *ast.IndexExpr:
			found = found || parent.X == ident
		case *ast.StarExpr:
			found = true
		}
		return !found
	})
	return found
}
