package main

import (
	"fmt"
	"go/types"
	"strings"
)

// writeMakers says how interfaces and types of the standard library are made.
func (d *driver) writeMakers(line func(string, ...any)) {
	var implementations, made []string
	written := map[string]bool{}
	for _, kind := range d.reached {
		key := types.TypeString(kind, nil)
		if factory, ok := factories[key]; ok {
			if !written[key] && d.visible(kind) {
				written[key] = true
				made = append(made, fmt.Sprintf("\t\t\tfuncmem__reflect.TypeFor[%s](): func(m *funcmem__rt.Maker) any { return %s },", d.term(kind), d.expand(factory)))
			}
			continue
		}
		contract, ok := kind.Underlying().(*types.Interface)
		if !ok || contract.NumMethods() == 0 || key == "error" || written[key] || !d.visible(kind) || !contract.IsMethodSet() {
			continue
		}
		written[key] = true
		var makers []string
		for _, inner := range d.implementers(kind) {
			makers = append(makers, "func(m *funcmem__rt.Maker) any { return funcmem__rt.Made["+d.term(inner)+"](m) }")
		}
		if hidden := d.implement(kind, contract); hidden != "" {
			makers = append(makers, "func(m *funcmem__rt.Maker) any { return funcmem__rt.Made["+hidden+"](m) }")
		}
		if len(makers) > 0 {
			implementations = append(implementations, fmt.Sprintf("\t\t\tfuncmem__reflect.TypeFor[%s](): {%s},", d.term(kind), strings.Join(makers, ", ")))
		}
	}
	line("\t\tImplementations: map[funcmem__reflect.Type][]func(*funcmem__rt.Maker) any{\n%s\n\t\t},", strings.Join(implementations, "\n"))
	line("\t\tFactories: map[funcmem__reflect.Type]func(*funcmem__rt.Maker) any{\n%s\n\t\t},", strings.Join(made, "\n"))
	var errors []string
	for _, name := range d.pkg.Scope().Names() {
		if object, ok := d.pkg.Scope().Lookup(name).(*types.Var); ok && types.TypeString(object.Type(), nil) == "error" && d.values[name] == nil {
			errors = append(errors, "func() error { return "+name+" }")
		}
	}
	if d.seen["io.Reader"] || d.uses("io.EOF") {
		errors = append(errors, "func() error { return "+d.expand("@io.EOF")+" }")
	}
	if len(errors) > 12 {
		errors = errors[:12]
	}
	line("\t\tErrors: []func() error{%s},", strings.Join(errors, ", "))
}

func (d *driver) uses(name string) bool {
	pkg, last, _ := strings.Cut(name, ".")
	for _, object := range d.info.Uses {
		if object.Name() == last && object.Pkg() != nil && object.Pkg().Path() == pkg {
			return true
		}
	}
	return false
}

// visible tells whether a type can be named where the driver stands.
func (d *driver) visible(kind types.Type) bool {
	visible := true
	text := types.TypeString(kind, func(pkg *types.Package) string {
		if pkg != d.pkg && !d.library.has(pkg.Path()) {
			visible = false
		}
		return ""
	})
	if named, ok := kind.(*types.Named); ok {
		object := named.Obj()
		if object.Pkg() == d.pkg && object.Parent() != d.pkg.Scope() {
			return false
		}
		if object.Pkg() != nil && object.Pkg() != d.pkg && !object.Exported() {
			return false
		}
		if named.TypeParams().Len() > 0 && named.TypeArgs().Len() == 0 {
			return false
		}
	}
	return visible && text != "invalid type" && !strings.Contains(text, "invalid type")
}

// expand names the packages of a factory.
func (d *driver) expand(text string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "@")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		path, after, _ := strings.Cut(rest, ".")
		out.WriteString(d.qualify(types.NewPackage(path, "")) + ".")
		text = after
	}
}

// implement writes a type whose methods log their calls and answer; gives its name.
func (d *driver) implement(kind types.Type, contract *types.Interface) string {
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
	for i := range contract.NumMethods() {
		method := contract.Method(i)
		if !method.Exported() && method.Pkg() != d.pkg {
			return ""
		}
		f := &signature{name: method.Name()}
		d.exactly(f, method.Type().(*types.Signature))
		if strings.Contains(f.exact, "invalid type") {
			return ""
		}
		fmt.Fprintf(&methods, "func (r %s) %s%s %s\n", name, f.name, f.exact, f.body(shown+"."+f.name, "&r.Made"))
	}
	d.hidden++
	fmt.Fprintf(&d.extra, "\ntype %s struct{ Made int }\n\n%s", name, methods.String())
	return name
}
