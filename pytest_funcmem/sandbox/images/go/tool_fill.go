package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"sort"
	"strings"
)

type fillRequest struct {
	Outline  string   `json:"outline"`
	Dispatch string   `json:"dispatch"` // empty where each program is alone
	Codes    []string `json:"codes"`
	Coverage bool     `json:"coverage"`
}

type filled struct {
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Text   string `json:"text"`
	Lines  []int  `json:"lines"`
	Probes []int  `json:"probes"`
}

type fillReply struct {
	Functions []filled `json:"functions"`
	Case      string   `json:"case"` // of the dispatcher, for one program
	Dispatch  string   `json:"dispatch"`
}

// fill makes source files of code that is to stand in the function's place.
func fill(request fillRequest) fillReply {
	var o outline
	if json.Unmarshal([]byte(request.Outline), &o) != nil {
		o = outline{}
	}
	reply := fillReply{}
	reply.Dispatch, reply.Case, _ = strings.Cut(request.Dispatch, "@CASE@")
	for i, code := range request.Codes {
		suffix := ""
		if request.Dispatch != "" {
			suffix = "__" + itoa(i)
		}
		reply.Functions = append(reply.Functions, fillOne(o, code, suffix, request.Coverage))
	}
	return reply
}

func fillOne(o outline, code, suffix string, coverage bool) filled {
	const head = "package main\n"
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "function.go", head+code, 0)
	if err != nil || file == nil || len(file.Decls) == 0 {
		detail := "there is no function"
		if err != nil {
			detail = err.Error()
		}
		return filled{Detail: strings.Replace(detail, "function.go:", "", 1)}
	}
	var function *ast.FuncDecl
	for _, decl := range file.Decls {
		if found, ok := decl.(*ast.FuncDecl); ok && found.Body != nil {
			if function != nil {
				return filled{Detail: "there is more than one function"}
			}
			function = found
		} else {
			return filled{Detail: "there is more than a function"}
		}
	}
	offset := func(pos token.Pos) int { return files.Position(pos).Offset - len(head) }
	line := func(pos token.Pos) int { return files.Position(pos).Line - 2 }
	missing := map[string]bool{}
	for _, name := range o.Missing {
		missing[name] = true
	}
	var edits []edit
	imports := map[string]string{}
	locals := localNames(function)
	instances := map[string]bool{}
	for _, name := range o.Instances {
		instances[name] = true
	}
	ast.Inspect(function, func(node ast.Node) bool {
		if name, _, arguments := instanceName(node); instances[name] && isClosed(arguments, locals) {
			edits = append(edits, edit{offset(node.Pos()), offset(node.End()), name})
			return false
		}
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if base, ok := selector.X.(*ast.Ident); ok && !locals[base] {
				name, renamed := o.Renamed[base.Name+"."+selector.Sel.Name]
				if path, standard := o.Standard[base.Name]; standard && !renamed {
					imports[base.Name] = path
				} else if renamed || missing[base.Name] {
					if !renamed {
						name = base.Name + "__" + selector.Sel.Name
					}
					edits = append(edits, edit{offset(selector.Pos()), offset(selector.End()), name})
				}
			}
		}
		return true
	})
	result := filled{OK: true}
	seen := map[int]bool{}
	resumed := resumedLabels(function.Body)
	probe := func(statement ast.Stmt) {
		place := statement
		// A label counts as what it stands before. A goto comes in behind it, so the probe stands there too,
		// unless a loop goes by the label, which nothing may part from it.
		for label, ok := statement.(*ast.LabeledStmt); ok; label, ok = statement.(*ast.LabeledStmt) {
			statement = label.Stmt
			if !resumed[label.Label.Name] {
				place = statement
			}
		}
		switch statement.(type) {
		case *ast.EmptyStmt, *ast.BlockStmt:
			return
		}
		if at := line(statement.Pos()); at > 0 && at <= strings.Count(code, "\n") {
			if !seen[at] {
				seen[at] = true
				result.Lines = append(result.Lines, at)
			}
			if coverage {
				edits = append(edits, edit{offset(place.Pos()), offset(place.Pos()), "funcmem__rt.P(" + itoa(len(result.Probes)) + "); "})
				result.Probes = append(result.Probes, at)
			}
		}
	}
	firstLine := line(function.Body.Lbrace)
	ast.Inspect(function.Body, func(node ast.Node) bool {
		var statements []ast.Stmt
		switch node := node.(type) {
		case *ast.BlockStmt:
			statements = node.List
		case *ast.CaseClause:
			statements = node.Body
		case *ast.CommClause:
			statements = node.Body
		case *ast.IfStmt:
			if other, ok := node.Else.(*ast.IfStmt); ok && line(other.Pos()) > firstLine && coverage {
				edits = append(edits, edit{offset(other.Pos()), offset(other.Pos()), "{ "})
				statements = []ast.Stmt{other}
				edits = append(edits, edit{offset(other.End()), offset(other.End()), " }"})
			} else if ok {
				statements = []ast.Stmt{other}
			}
		}
		for _, statement := range statements {
			switch statement.(type) {
			case *ast.CaseClause, *ast.CommClause:
				continue
			}
			if line(statement.Pos()) > firstLine || firstLine == 0 {
				probe(statement)
			}
		}
		return true
	})
	sort.Ints(result.Lines)
	name := function.Name
	newName := name.Name
	if newName == "main" || newName == "init" {
		newName += "__target"
	}
	newName += suffix
	edits = append(edits, edit{offset(name.Pos()), offset(name.End()), newName})
	text := "package main; "
	if coverage && len(result.Probes) > 0 {
		text += "import funcmem__rt \"funcmem/rt\"; "
	}
	for _, local := range sortedKeys(imports) {
		text += "import " + local + " " + quoteGo(imports[local]) + "; "
	}
	place := "function" + strings.Replace(suffix, "__", "_", 1) + ".go"
	result.Text = text + "\n//line " + place + ":1\n" + apply(code, edits) + "\n"
	return result
}

// resumedLabels are the labels that break and continue name.
func resumedLabels(body ast.Node) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(body, func(node ast.Node) bool {
		if branch, ok := node.(*ast.BranchStmt); ok && branch.Label != nil && branch.Tok != token.GOTO {
			found[branch.Label.Name] = true
		}
		return true
	})
	return found
}
