package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"
)

// What comparisons tell of the shape of texts: how long they should be, and which bytes stand where.

const (
	mostSizes  = 16
	longest    = 300
	mostPrefix = 64
)

// byte notes a byte that the code compares others with.
func (p *pools) byte(b byte) {
	if b < 128 {
		p.joint(string(rune(b)))
		return
	}
	if text := string([]byte{b}); len(p.texts) < mostPooled && p.once("t"+text) {
		p.texts = append(p.texts, text)
	}
}

// size notes a length, and those beside it.
func (s *solver) size(p *pools, expr ast.Expr) {
	n, ok := s.constantInt(expr)
	if !ok || n < 3 {
		return
	}
	for _, n := range []int64{n, n + 1, n - 1, n * 2} {
		if n <= longest && len(p.sizes) < mostSizes && !slices.Contains(p.sizes, int(n)) {
			p.sizes = append(p.sizes, int(n))
		}
	}
}

// bounds takes the larger numbers of a function that looks into lists for last places in them.
func (p *pools) bounds() {
	for added, place := 0, 0; added < 4 && place < len(p.ints); place++ {
		n := p.ints[place]
		if n >= 8 && n < longest && len(p.sizes) < mostSizes && !slices.Contains(p.sizes, int(n)+1) {
			p.sizes = append(p.sizes, int(n)+1)
			added++
		}
	}
}

func (s *solver) constantInt(expr ast.Expr) (int64, bool) {
	if expr == nil {
		return 0, false
	}
	value := s.info.Types[expr].Value
	if literal, ok := expr.(*ast.BasicLit); ok && value == nil {
		value = constant.MakeFromLiteral(literal.Value, literal.Kind, 0) // beside what has no type yet
	}
	if value == nil || value.Kind() != constant.Int {
		return 0, false
	}
	n, exact := constant.Int64Val(value)
	return n, exact && n >= 0
}

// compared learns from a comparison, or from several that have to hold together.
func (s *solver) compared(p *pools, node *ast.BinaryExpr) {
	for _, pair := range [][2]ast.Expr{{node.X, node.Y}, {node.Y, node.X}} {
		if call, ok := pair[0].(*ast.CallExpr); ok && len(call.Args) == 1 {
			if fun, ok := call.Fun.(*ast.Ident); ok && fun.Name == "len" {
				s.size(p, pair[1])
			}
		}
	}
	if parent, ok := s.parents[node].(*ast.BinaryExpr); ok && (parent.Op == token.LAND || parent.Op == token.LOR) {
		return
	}
	if node.Op != token.LOR && node.Op != token.LAND && node.Op != token.EQL && node.Op != token.NEQ {
		return
	}
	bytes := map[string]map[int64]byte{}
	s.placedBytes(bytes, node)
	for _, name := range sortedKeys(bytes) {
		p.placed(bytes[name])
	}
	if len(bytes) > 0 && s.placedAround(bytes, node) {
		for _, name := range sortedKeys(bytes) {
			p.placed(bytes[name])
		}
	}
}

// placedAround collects what the conditions around a node ask for.
func (s *solver) placedAround(found map[string]map[int64]byte, node ast.Node) bool {
	any := false
	for inner := node; inner != nil; inner = s.parents[inner] {
		switch outer := s.parents[inner].(type) {
		case *ast.IfStmt:
			if outer.Body == inner {
				s.placedBytes(found, outer.Cond)
				any = true
			}
		case *ast.CaseClause:
			if len(outer.List) == 1 && outer.List[0] != inner {
				s.placedBytes(found, outer.List[0])
				any = true
			}
		}
	}
	return any
}

// placed adds a text that has some bytes where they should be.
func (p *pools) placed(bytes map[int64]byte) {
	last := int64(0)
	for place := range bytes {
		last = max(last, place)
	}
	if last >= mostPrefix {
		return
	}
	text := make([]byte, last+1)
	for place := range text {
		text[place] = 'a'
		if b, ok := bytes[int64(place)]; ok {
			text[place] = b
		}
	}
	if p.text(string(text)); len(p.prefixes) < 4 {
		if at := slices.Index(p.texts, string(text)); at >= 0 && !slices.Contains(p.prefixes, at) {
			p.prefixes = append(p.prefixes, at)
		}
	}
}

// placedBytes collects from x[0] == 'a' && x[1] == 'b', or from its opposite, which bytes stand where.
func (s *solver) placedBytes(found map[string]map[int64]byte, expr ast.Expr) {
	switch node := expr.(type) {
	case *ast.ParenExpr:
		s.placedBytes(found, node.X)
	case *ast.BinaryExpr:
		if node.Op == token.LAND || node.Op == token.LOR {
			s.placedBytes(found, node.X)
			s.placedBytes(found, node.Y)
			return
		}
		if node.Op != token.EQL && node.Op != token.NEQ {
			return
		}
		s.placedByte(found, node.X, node.Y)
		s.placedByte(found, node.Y, node.X)
	}
}

func (s *solver) placedByte(found map[string]map[int64]byte, place, value ast.Expr) {
	index, ok := place.(*ast.IndexExpr)
	if !ok || !isBytes(s.typeOf(index.X)) {
		return
	}
	at, known := s.constantInt(index.Index)
	b, given := s.constantInt(value)
	if !known || !given || b > 255 {
		return
	}
	name := types.ExprString(index.X)
	if found[name] == nil {
		found[name] = map[int64]byte{}
	}
	found[name][at] = byte(b)
}

func isBytes(kind types.Type) bool {
	switch shape := coreOf(kind).(type) {
	case *types.Basic:
		return shape.Info()&types.IsString != 0
	case *types.Slice:
		basic, ok := shape.Elem().Underlying().(*types.Basic)
		return ok && basic.Kind() == types.Uint8
	}
	return false
}

// switchedBytes learns from the cases of switch x[0].
func (s *solver) switchedBytes(p *pools, node *ast.SwitchStmt) {
	if _, ok := node.Tag.(*ast.IndexExpr); !ok {
		return
	}
	for _, clause := range node.Body.List {
		for _, value := range clause.(*ast.CaseClause).List {
			bytes := map[string]map[int64]byte{}
			s.placedByte(bytes, node.Tag, value)
			for _, name := range sortedKeys(bytes) {
				p.placed(bytes[name])
			}
		}
	}
}

// arraySize tells how long an array a variable seems to be: one that is declared without a value, never grows,
// and of which parts with constant places are used. 0 where it seems to be none.
func (s *solver) arraySize(expr ast.Expr) int {
	ident, ok := expr.(*ast.Ident)
	if !ok {
		return 0
	}
	object, declared, last := s.info.ObjectOf(ident), false, int64(-1)
	if object == nil {
		return 0
	}
	for _, file := range s.syntax[:2] {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.ValueSpec:
				for _, name := range node.Names {
					declared = declared || s.info.Defs[name] == object && len(node.Values) == 0
				}
			case *ast.AssignStmt:
				for _, left := range node.Lhs {
					if name, ok := left.(*ast.Ident); ok && s.info.ObjectOf(name) == object {
						last = longest + 1 // it may be a slice that is made or grows
					}
				}
			case *ast.IndexExpr:
				if name, ok := node.X.(*ast.Ident); ok && s.info.ObjectOf(name) == object {
					if n, ok := s.constantInt(node.Index); ok {
						last = max(last, n)
					}
				}
			case *ast.SliceExpr:
				if name, ok := node.X.(*ast.Ident); ok && s.info.ObjectOf(name) == object {
					for _, bound := range []ast.Expr{node.Low, node.High} {
						if n, ok := s.constantInt(bound); ok {
							last = max(last, n)
						}
					}
				}
			}
			return true
		})
	}
	if !declared || last < 0 || last > longest {
		return 0
	}
	size := 4
	for int64(size) <= last {
		size *= 2
	}
	return size
}

// key notes a text that a map is asked for.
func (s *solver) key(p *pools, expr ast.Expr) {
	value := s.info.Types[expr].Value
	if value == nil || value.Kind() != constant.String || len(p.keys) >= 24 {
		return
	}
	if text := constant.StringVal(value); !slices.Contains(p.keys, text) {
		p.keys = append(p.keys, text)
	}
}

// times adds moments written as the layouts in sight say.
func (p *pools) times() {
	moment := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, layout := range p.texts[:len(p.texts):len(p.texts)] {
		if strings.Contains(layout, "2006") || strings.Contains(layout, "15:04") {
			p.text(moment.Format(layout))
		}
	}
}
