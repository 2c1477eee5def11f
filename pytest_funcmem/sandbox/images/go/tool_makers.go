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
		for _, hidden := range d.both[key] {
			makers = append(makers, "func(m *funcmem__rt.Maker) any { return funcmem__rt.Made["+hidden+"](m) }")
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
	line("\t\tErrors: []func(*funcmem__rt.Maker) error{%s},", strings.Join(d.madeErrors(), ", "))
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
