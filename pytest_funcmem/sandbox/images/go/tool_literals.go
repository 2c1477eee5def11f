package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"regexp/syntax"
	"sort"
	"strconv"
	"strings"
)

// pools are values worth trying, from the text of the function and what it needs.
type pools struct {
	ints   []int64
	floats []float64
	texts  []string
	joints []string
	runes  []rune
	names  []string // of environment variables
	keys   []string // that maps are asked for
	flags  []string // of the program, as they are given
	sizes  []int    // how long texts and lists should be

	dated    bool  // whether times are read
	prefixes []int // places among the texts of those that have to stand at a beginning
	seen     map[string]bool
}

const mostPooled = 90

func (p *pools) once(key string) bool {
	if p.seen[key] {
		return false
	}
	p.seen[key] = true
	return true
}

func (p *pools) int(n int64) {
	if len(p.ints) < mostPooled && p.once("i"+strconv.FormatInt(n, 10)) {
		p.ints = append(p.ints, n)
	}
}

func (p *pools) float(x float64) {
	if len(p.floats) < mostPooled && p.once("f"+strconv.FormatFloat(x, 'g', -1, 64)) {
		p.floats = append(p.floats, x)
	}
}

func (p *pools) text(text string) {
	if len(text) <= 400 && len(p.texts) < mostPooled && p.once("t"+text) {
		p.texts = append(p.texts, text)
	}
	if len(text) > 0 && len([]rune(text)) <= 2 {
		p.joint(text)
	}
}

func (p *pools) joint(text string) {
	if len(p.joints) < 40 && p.once("j"+text) {
		p.joints = append(p.joints, text)
	}
	for _, r := range text {
		p.rune(r)
	}
}

func (p *pools) rune(r rune) {
	if len(p.runes) < mostPooled && p.once("r"+string(r)) {
		p.runes = append(p.runes, r)
	}
}

func (s *solver) pools() *pools {
	p := &pools{seen: map[string]bool{}}
	indexed := false // whether some list is, by a place that a variable holds
	for _, file := range s.syntax[:2] {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.IndexExpr:
				switch coreOf(s.typeOf(node.X)).(type) {
				case *types.Map:
					s.key(p, node.Index)
				case *types.Slice:
					if _, constant := s.constantInt(node.Index); constant {
						s.size(p, node.Index)
					} else {
						indexed = true
					}
				}
			case *ast.CallExpr:
				s.hints(p, node)
				if selector, ok := node.Fun.(*ast.SelectorExpr); ok && len(node.Args) > 0 {
					if _, mapping := coreOf(s.typeOf(selector.X)).(*types.Map); mapping {
						s.key(p, node.Args[0])
					}
				}
			case *ast.SwitchStmt:
				s.switchedBytes(p, node)
			case *ast.SliceExpr:
				for _, bound := range []ast.Expr{node.Low, node.High} {
					s.size(p, bound)
				}
			case *ast.ArrayType:
				s.size(p, node.Len)
			}
			if node, ok := node.(*ast.BinaryExpr); ok {
				s.compared(p, node)
			}
			if node, ok := node.(ast.Expr); ok {
				tv := s.info.Types[node]
				if tv.Value == nil {
					return true
				}
				_, isIdent := node.(*ast.Ident)
				s.pool(p, node, tv, isIdent)
			}
			return true
		})
	}
	if indexed {
		p.bounds()
	}
	if p.dated {
		p.times()
	}
	for _, text := range []string{"", "a"} {
		if p.once("t" + text) {
			p.texts = append(p.texts, text) // no joint: it says nothing of characters
		}
	}
	for _, n := range []int64{0, 1, 2, -1, 3, 5, 10, 100} {
		p.int(n)
	}
	for _, x := range []float64{0, 1, 0.5, -1.5, 2, 10, 100.25} {
		p.float(x)
	}
	for _, r := range p.runes[:len(p.runes):len(p.runes)] {
		p.rune(r + 1)
	}
	if len(p.runes) > 0 {
		for _, r := range "a0 Z_" {
			p.rune(r)
		}
	}
	return p
}

func (s *solver) pool(p *pools, node ast.Expr, tv types.TypeAndValue, isIdent bool) {
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if !ok {
		return
	}
	switch {
	case basic.Info()&types.IsString != 0:
		text := constant.StringVal(tv.Value)
		p.text(text)
		if strings.Contains(text, "%") || len(text) > 40 {
			return
		}
	case basic.Kind() == types.Uint8:
		if n, exact := constant.Int64Val(constant.ToInt(tv.Value)); exact {
			p.byte(byte(n))
			if !isRuneLiteral(node) {
				p.int(n)
				p.int(n + 1)
				p.int(n - 1)
			}
		}
	case basic.Kind() == types.UntypedRune || basic.Kind() == types.Int32 && isRuneLiteral(node):
		if n, exact := constant.Int64Val(constant.ToInt(tv.Value)); exact {
			p.rune(rune(n))
			p.joint(string(rune(n)))
		}
	case basic.Info()&types.IsInteger != 0:
		if isRuneLiteral(node) {
			if n, exact := constant.Int64Val(tv.Value); exact {
				p.rune(rune(n))
				p.joint(string(rune(n)))
			}
			return
		}
		if n, exact := constant.Int64Val(tv.Value); exact && n < math.MaxInt64 && n > math.MinInt64 {
			p.int(n)
			p.int(n + 1)
			p.int(n - 1)
		}
	case basic.Info()&types.IsFloat != 0:
		x, _ := constant.Float64Val(tv.Value)
		p.float(x)
		p.float(x + 1)
		p.float(x - 0.5)
	}
}

func isRuneLiteral(node ast.Expr) bool {
	literal, ok := node.(*ast.BasicLit)
	return ok && literal.Kind == token.CHAR
}

// hints adds what calls of the standard library can read.
func (s *solver) hints(p *pools, call *ast.CallExpr) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	name := selector.Sel.Name
	base, _ := selector.X.(*ast.Ident)
	pkg := ""
	if base != nil {
		if object, ok := s.info.Uses[base].(*types.PkgName); ok {
			pkg = object.Imported().Path()
		}
	}
	argument := ""
	if len(call.Args) > 0 {
		if tv := s.info.Types[call.Args[0]]; tv.Value != nil && tv.Value.Kind() == constant.String {
			argument = constant.StringVal(tv.Value)
		}
	}
	add := func(texts ...string) {
		for _, text := range texts {
			p.text(text)
		}
	}
	switch {
	case pkg == "strconv" && (name == "Atoi" || strings.HasPrefix(name, "ParseInt") || name == "ParseUint"):
		add("1", "42", "-7", "300", "0x1f")
	case pkg == "strconv" && strings.HasSuffix(name, "Float"):
		add("1.5", "-2e3", "0")
		p.int(64)
		p.int(32)
	case pkg == "strconv" && (name == "FormatInt" || name == "FormatUint" || name == "AppendInt"):
		p.int(10)
		p.int(16)
	case pkg == "strconv" && name == "ParseBool":
		add("true", "false", "1")
	case pkg == "strconv" && name == "Unquote":
		add(`"a\tb"`, "`raw`", "'c'")
	case pkg == "flag":
		for i, expr := range call.Args[:min(len(call.Args), 2)] {
			if tv := s.info.Types[expr]; tv.Value != nil && tv.Value.Kind() == constant.String && i <= strings.Count(name, "Var") {
				word := constant.StringVal(tv.Value)
				switch {
				case word == "" || len(p.flags) >= 16:
				case strings.HasPrefix(name, "Bool"):
					p.flags = append(p.flags, "-"+word)
				case strings.HasPrefix(name, "String"):
					p.flags = append(p.flags, "-"+word+"=a")
				case strings.HasPrefix(name, "Duration"):
					p.flags = append(p.flags, "-"+word+"=3s")
				default:
					p.flags = append(p.flags, "-"+word+"=7")
				}
				break
			}
		}
	case pkg == "time" && strings.HasPrefix(name, "Parse") && name != "ParseDuration":
		add("2024-01-02", "2024-01-02T03:04:05Z", argument)
		p.dated = true
	case pkg == "time" && name == "ParseDuration":
		add("1h30m", "250ms", "-2s")
	case pkg == "encoding/json" && (name == "Unmarshal" || name == "Valid" || name == "NewDecoder"):
		add(`{}`, `{"a":1,"b":"x"}`, `[1,2,3]`, `"text"`, `null`, s.jsonSample())
	case pkg == "encoding/hex":
		add("00ff", "a1b2c3")
	case pkg == "encoding/base64":
		add("aGVsbG8=", "Zm9v")
	case pkg == "net/url":
		add("http://user:pw@example.com:8080/a/b?x=1&y=2#z", "/path?q=a", "mailto:a@b.c")
	case pkg == "net" && strings.HasPrefix(name, "ParseIP"):
		add("127.0.0.1", "::1", "10.0.0.256")
	case pkg == "net" && (name == "ParseCIDR" || name == "SplitHostPort"):
		add("10.0.0.0/8", "localhost:80", "[::1]:443")
	case pkg == "path/filepath" || pkg == "path":
		add("/a/b/c.txt", "../x", "dir/file.tar.gz", ".")
	case pkg == "os" && (name == "Getenv" || name == "LookupEnv"):
		if argument != "" && !strings.ContainsAny(argument, "=\x00") {
			p.names = append(p.names, argument)
		}
	case pkg == "os" || pkg == "io/ioutil":
		add("input.txt", "folder", "data.json", "absent/new.txt", "/etc", "/etc/passwd", "passwd")
	case pkg == "unicode" || pkg == "unicode/utf8":
		for _, r := range "aZ9 _\t\n.é世" {
			p.rune(r)
		}
	case pkg == "regexp" && strings.Contains(name, "Compile") && argument != "":
		for _, text := range matching(argument) {
			p.text(text)
		}
	case pkg == "strings" || pkg == "bytes":
		if name == "Fields" {
			p.joint(" ")
		}
	}
}

// jsonSample writes an object with the names that the file's fields go by.
func (s *solver) jsonSample() string {
	var parts []string
	for _, file := range s.syntax[:2] {
		ast.Inspect(file, func(node ast.Node) bool {
			if shape, ok := node.(*ast.StructType); ok {
				for _, field := range shape.Fields.List {
					for _, name := range field.Names {
						if !name.IsExported() || len(parts) > 20 {
							continue
						}
						key := name.Name
						if field.Tag != nil {
							if _, rest, ok := strings.Cut(field.Tag.Value, `json:"`); ok {
								if tag, _, _ := strings.Cut(rest, `"`); tag != "" {
									if tag, _, _ = strings.Cut(tag, ","); tag != "" && tag != "-" {
										key = tag
									}
								}
							}
						}
						if basic, ok := coreOf(s.typeOf(field.Type)).(*types.Basic); ok {
							value := `1`
							if basic.Info()&types.IsString != 0 {
								value = `"x"`
							} else if basic.Info()&types.IsBoolean != 0 {
								value = `true`
							}
							parts = append(parts, strconv.Quote(key)+":"+value)
						}
					}
				}
			}
			return true
		})
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// matching gives a few texts that match a pattern.
func matching(pattern string) []string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for turn := range 4 {
		var out strings.Builder
		match(&out, parsed, turn, 0)
		if out.Len() < 200 {
			found[out.String()] = true
		}
	}
	texts := sortedKeys(found)
	sort.SliceStable(texts, func(i, j int) bool { return len(texts[i]) > len(texts[j]) })
	return texts
}

func match(out *strings.Builder, node *syntax.Regexp, turn, depth int) {
	if depth > 40 || out.Len() > 200 {
		return
	}
	repeat := func(count int) {
		for range count {
			match(out, node.Sub[0], turn, depth+1)
		}
	}
	switch node.Op {
	case syntax.OpLiteral:
		out.WriteString(string(node.Rune))
	case syntax.OpCharClass:
		if len(node.Rune) > 1 {
			pair := turn % (len(node.Rune) / 2) * 2
			low, high := node.Rune[pair], node.Rune[pair+1]
			if low < 'a' && high > 'a' {
				low = 'a'
			}
			out.WriteRune(min(low+rune(turn/2), high))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteString([]string{"a", "7", "-", " "}[turn%4])
	case syntax.OpCapture, syntax.OpConcat:
		for _, inner := range node.Sub {
			match(out, inner, turn, depth+1)
		}
	case syntax.OpAlternate:
		match(out, node.Sub[turn%len(node.Sub)], turn, depth+1)
	case syntax.OpStar:
		repeat(turn % 3)
	case syntax.OpPlus:
		repeat(1 + turn%3)
	case syntax.OpQuest:
		repeat(turn % 2)
	case syntax.OpRepeat:
		repeat(node.Min + min(turn%2, max(0, node.Max-node.Min)))
	}
}
