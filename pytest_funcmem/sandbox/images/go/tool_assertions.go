package main

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// What a slice asks of the values that interfaces hold: by assertions, type switches and errors.As.

const mostDynamic = 40

// dynamicTypes are what the slice asks an empty interface for. What it asks of others is noted on the way.
func (d *driver) dynamicTypes() []string {
	found := map[string]types.Type{}
	for _, file := range d.syntax[:2] {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.TypeAssertExpr:
				if node.Type != nil {
					d.dynamicType(found, d.typeOf(node.X), node.Type)
				}
			case *ast.TypeSwitchStmt:
				asked := d.typeOf(switched(node))
				for _, clause := range node.Body.List {
					for _, expr := range clause.(*ast.CaseClause).List {
						d.dynamicType(found, asked, expr)
					}
				}
			case *ast.CallExpr:
				d.errorTarget(node)
			}
			return true
		})
	}
	var texts []string
	for _, key := range sortedKeys(found) {
		if len(texts) < mostDynamic {
			d.reach(found[key])
			texts = append(texts, "funcmem__reflect.TypeFor["+key+"]()")
		}
	}
	return texts
}

// switched is the expression whose type a type switch asks for.
func switched(node *ast.TypeSwitchStmt) ast.Expr {
	var found ast.Expr
	ast.Inspect(node.Assign, func(inner ast.Node) bool {
		if assertion, ok := inner.(*ast.TypeAssertExpr); ok && found == nil {
			found = assertion.X
		}
		return found == nil
	})
	return found
}

// dynamicType notes that an interface is asked whether it holds values of a type.
func (d *driver) dynamicType(found map[string]types.Type, asked types.Type, expr ast.Expr) {
	tv := d.info.Types[expr]
	if !tv.IsType() || tv.Type == types.Typ[types.Invalid] {
		return
	}
	if _, generic := tv.Type.(*types.TypeParam); generic {
		return
	}
	holder, _ := coreOf(asked).(*types.Interface)
	if contract, ok := tv.Type.Underlying().(*types.Interface); ok {
		if contract.NumMethods() > 0 && contract.IsMethodSet() {
			d.dynamicInterface(found, asked, holder, tv.Type, contract)
		}
		return
	}
	if named, ok := types.Unalias(tv.Type).(*types.Named); ok && (named.TypeParams().Len() > 0 || named.Obj().Parent() != d.pkg.Scope() && named.Obj().Pkg() == d.pkg) {
		return
	}
	if isError(asked) {
		d.errorType(tv.Type)
	}
	found[d.term(tv.Type)] = tv.Type
	if d.files.Position(expr.Pos()).Filename == "function.go" {
		d.asked[d.ownTypeOf(tv.Type)] = true
		if _, pointer := types.Unalias(tv.Type).(*types.Pointer); pointer {
			d.pointed[d.ownTypeOf(tv.Type)] = true
		}
	}
}

// dynamicInterface notes that an interface is asked whether what it holds has the methods of another.
func (d *driver) dynamicInterface(found map[string]types.Type, asked types.Type, holder *types.Interface, kind types.Type, contract *types.Interface) {
	if holder == nil || holder.NumMethods() == 0 {
		switch {
		case d.visible(kind):
			found[d.term(kind)] = kind
		default:
			if hidden := d.implement(kind, contract); hidden != "" {
				found[hidden] = kind
			}
		}
		return
	}
	if !holder.IsMethodSet() || types.Implements(asked, contract) {
		return
	}
	key := types.TypeString(asked, nil)
	if len(d.both[key]) >= 4 {
		return
	}
	if hidden := d.implement(kind, holder, contract); hidden != "" && !slices.Contains(d.both[key], hidden) {
		d.both[key] = append(d.both[key], hidden)
	}
}

func isError(kind types.Type) bool {
	return kind != nil && types.TypeString(kind, nil) == "error"
}

// errorTarget notes what errors.As looks for.
func (d *driver) errorTarget(call *ast.CallExpr) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "As" || len(call.Args) != 2 {
		return
	}
	if pointer, ok := types.Unalias(d.typeOf(call.Args[1])).(*types.Pointer); ok && isError(d.typeOf(call.Args[0])) {
		d.errorType(pointer.Elem())
	}
}

// errorType notes a type of errors that the slice asks for.
func (d *driver) errorType(kind types.Type) {
	contract := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	if text := d.term(kind); !slices.Contains(d.errors, text) && types.Implements(kind, contract) && d.visible(kind) {
		d.errors = append(d.errors, text)
		d.reach(kind)
	}
}

var errorTests = map[string]string{
	"os.IsNotExist": "@os.ErrNotExist", "os.IsExist": "@os.ErrExist", "os.IsPermission": "@os.ErrPermission",
	"os.IsTimeout": "@os.ErrDeadlineExceeded",
}

// madeErrors are functions that make the errors that the slice tells apart.
func (d *driver) madeErrors() []string {
	var errors []string
	add := func(text string) {
		text = "func(m *funcmem__rt.Maker) error { return " + text + " }"
		if !slices.Contains(errors, text) {
			errors = append(errors, text)
		}
	}
	for _, kind := range d.errors {
		add("funcmem__rt.Made[" + kind + "](m).(error)")
	}
	for _, hidden := range d.both["error"] {
		add("funcmem__rt.Made[" + hidden + "](m).(error)")
	}
	for _, name := range d.pkg.Scope().Names() {
		if object, ok := d.pkg.Scope().Lookup(name).(*types.Var); ok && isError(object.Type()) {
			add(name)
		}
	}
	for _, text := range d.foreignErrors() {
		add(d.expand(text))
	}
	if d.seen["io.Reader"] {
		add(d.expand("@io.EOF"))
	}
	return errors[:min(len(errors), 16)]
}

// foreignErrors are the errors of the standard library that the slice compares with.
func (d *driver) foreignErrors() []string {
	found := map[string]bool{}
	for _, object := range d.info.Uses {
		pkg := object.Pkg()
		if pkg == nil || pkg == d.pkg || object.Parent() != pkg.Scope() {
			continue
		}
		switch object := object.(type) {
		case *types.Var:
			if isError(object.Type()) && object.Exported() && d.library.has(pkg.Path()) {
				found["@"+pkg.Path()+"."+object.Name()] = true
			}
		case *types.Func:
			if test, ok := errorTests[pkg.Path()+"."+object.Name()]; ok {
				found[test] = true
			}
		}
	}
	return sortedKeys(found)
}

// implement writes a type whose methods, those of some interfaces, log their calls and answer; gives its name.
func (d *driver) implement(kind types.Type, contracts ...*types.Interface) string {
	name := "funcmem__i" + itoa(d.hidden)
	shown := types.TypeString(kind, func(pkg *types.Package) string {
		if pkg == d.pkg {
			return ""
		}
		return pkg.Name()
	})
	if len(shown) > 60 {
		shown = "interface"
	}
	var methods strings.Builder
	written := map[string]bool{}
	for _, contract := range contracts {
		for i := range contract.NumMethods() {
			method := contract.Method(i)
			if !method.Exported() && method.Pkg() != d.pkg {
				return ""
			}
			if written[method.Name()] {
				continue
			}
			written[method.Name()] = true
			f := &signature{name: method.Name()}
			d.exactly(f, method.Type().(*types.Signature))
			if strings.Contains(f.exact, "invalid type") || !d.nameable(method.Type()) {
				return ""
			}
			d.reach(method.Type())
			text := f.body(shown+"."+f.name, "&r.Made")
			if f.name == "Error" && f.exact == "() (r0 string)" {
				text = "{ return " + quoteGo("made-up "+shown) + " }" // so that a text of it asks for nothing
			}
			methods.WriteString("func (r " + name + ") " + f.name + f.exact + " " + text + "\n")
		}
	}
	d.hidden++
	d.extra.WriteString("\ntype " + name + " struct{ Made int }\n\n" + methods.String())
	return name
}

// nameable tells whether the driver can write a type: it names nothing that a function declares for itself.
func (d *driver) nameable(kind types.Type) bool {
	ok := true
	seen := map[types.Type]bool{}
	var visit func(kind types.Type)
	visit = func(kind types.Type) {
		kind = types.Unalias(kind)
		if kind == nil || seen[kind] || !ok {
			return
		}
		seen[kind] = true
		switch shape := kind.(type) {
		case *types.Named:
			object := shape.Obj()
			if object.Pkg() == d.pkg && object.Parent() != d.pkg.Scope() {
				ok = false
			}
		case *types.Pointer:
			visit(shape.Elem())
		case *types.Slice:
			visit(shape.Elem())
		case *types.Array:
			visit(shape.Elem())
		case *types.Chan:
			visit(shape.Elem())
		case *types.Map:
			visit(shape.Key())
			visit(shape.Elem())
		case *types.Signature:
			for i := range shape.Params().Len() {
				visit(shape.Params().At(i).Type())
			}
			for i := range shape.Results().Len() {
				visit(shape.Results().At(i).Type())
			}
		}
	}
	visit(kind)
	return ok
}
