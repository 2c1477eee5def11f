package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"sort"
	"strconv"
	"strings"
)

// driver writes the program's main function: what is run, and what it can be run on.
type driver struct {
	*solver
	out      strings.Builder
	queue    []types.Type
	seen     map[string]bool
	reached  []types.Type
	asked    map[string]bool     // types that the function itself asks an interface for
	pointed  map[string]bool     // those of which it asks for pointers
	both     map[string][]string // for each interface, types that also have the methods of another that it is asked for
	errors   []string            // types of errors that the slice asks an error for
	variable map[string]bool     // which variables of the package may vary
	hidden   int
	extra    strings.Builder
}

var needsFiles = wordSet("os io/ioutil path/filepath io/fs")

func (s *solver) driver() (string, string, error) {
	d := &driver{solver: s, seen: map[string]bool{}, asked: map[string]bool{}, pointed: map[string]bool{}, both: map[string][]string{}}
	p := s.pools()
	target := s.source.target
	object := s.targetObject()
	if object == nil {
		return "", "", fmt.Errorf("the function is not in its slice")
	}
	signature := object.Type().(*types.Signature)
	expression, err := d.callee(object, signature)
	if err != nil {
		return "", "", err
	}
	for i := range signature.Params().Len() {
		d.reach(signature.Params().At(i).Type())
	}
	if signature.Recv() != nil {
		d.reach(signature.Recv().Type())
	}
	for i := range signature.Results().Len() {
		if function, ok := signature.Results().At(i).Type().Underlying().(*types.Signature); ok {
			d.reach(function)
		}
	}
	for _, name := range s.pkg.Scope().Names() {
		switch object := s.pkg.Scope().Lookup(name).(type) {
		case *types.TypeName:
			if s.types[name] != nil {
				d.reach(object.Type())
			}
		case *types.Var:
			if s.values[name] != nil || d.varies(name) {
				d.reach(object.Type())
			}
		}
	}
	for _, f := range s.functions {
		if shape := s.pkg.Scope().Lookup(f.name); shape != nil {
			d.reach(shape.Type())
		}
	}
	dynamic := d.dynamicTypes()
	d.drain()
	line := func(format string, arguments ...any) { fmt.Fprintf(&d.out, format+"\n", arguments...) }
	line("func main() {")
	line("\tfuncmem__rt.Main(funcmem__rt.Target{")
	line("\t\tFunction: %s,", expression)
	line("\t\tReceiver: %t,", signature.Recv() != nil)
	line("\t\tNilable: []bool{%s},", joined(d.nilable(signature), strconv.FormatBool))
	line("\t\tMentioned: []string{%s},", quotedWords(sortedKeys(s.mentioned())))
	line("\t\tInts: []int64{%s},", joined(p.ints, func(n int64) string { return strconv.FormatInt(n, 10) }))
	line("\t\tFloats: []float64{%s},", joined(p.floats, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }))
	line("\t\tTexts: []string{%s},", quotedWords(p.texts))
	line("\t\tJoints: []string{%s},", quotedWords(p.joints))
	line("\t\tRunes: []rune{%s},", joined(p.runes, func(r rune) string { return strconv.Itoa(int(r)) }))
	line("\t\tKeys: []string{%s},", quotedWords(p.keys))
	line("\t\tExtreme: %t,", s.uses("math"))
	line("\t\tFlags: []string{%s},", quotedWords(p.flags))
	line("\t\tSizes: []int{%s},", joined(p.sizes, itoa))
	line("\t\tEnvironment: []string{%s},", quotedWords(p.names))
	d.writeSurroundings(line)
	d.writePools(line)
	d.writeMakers(line)
	line("\t\tDynamic: []funcmem__reflect.Type{%s},", strings.Join(dynamic, ", "))
	d.writeGlobals(line)
	line("\t})\n}")
	text := d.out.String() + d.extra.String()
	head := "package main\n\nimport funcmem__rt \"funcmem/rt\"\nimport funcmem__reflect \"reflect\"\n"
	for _, path := range sortedKeys(s.guesses.imports) {
		if strings.Contains(text, s.guesses.imports[path]+".") && path != "reflect" {
			head += "import " + s.guesses.imports[path] + " " + quoteGo(path) + "\n"
		}
	}
	dispatcher := ""
	if signature.TypeParams() == nil && signature.RecvTypeParams() == nil {
		dispatcher = d.dispatch(target, signature)
	}
	return head + text, dispatcher, nil
}

func (s *solver) targetObject() *types.Func {
	for _, decl := range s.syntax[0].Decls {
		if function, ok := decl.(*ast.FuncDecl); ok {
			if object, ok := s.info.Defs[function.Name].(*types.Func); ok {
				return object
			}
		}
	}
	return nil
}

// callee writes the function as a value, with type arguments where it takes some.
func (d *driver) callee(object *types.Func, signature *types.Signature) (string, error) {
	name := object.Name()
	if name == "main" || name == "init" {
		name += "__target"
	}
	if receiver := signature.Recv(); receiver != nil {
		kind := receiver.Type()
		star := ""
		if pointer, ok := types.Unalias(kind).(*types.Pointer); ok {
			kind, star = pointer.Elem(), "*"
		}
		named, ok := types.Unalias(kind).(*types.Named)
		if !ok {
			return "", fmt.Errorf("its receiver is no type of the file")
		}
		text := named.Obj().Name()
		if params := named.TypeParams(); params.Len() > 0 {
			chosen, err := d.arguments(named.Origin().TypeParams())
			if err != nil {
				return "", err
			}
			text += chosen
		}
		return "(" + star + text + ")." + name, nil
	}
	if params := signature.TypeParams(); params.Len() > 0 {
		chosen, err := d.arguments(params)
		if err != nil {
			return "", err
		}
		return name + chosen, nil
	}
	return name, nil
}

func (d *driver) arguments(params *types.TypeParamList) (string, error) {
	var chosen []string
	for i := range params.Len() {
		contract := params.At(i).Constraint().Underlying().(*types.Interface)
		found := ""
		for _, kind := range []types.Type{types.Typ[types.String], types.Typ[types.Int], types.Typ[types.Float64], types.NewSlice(types.Typ[types.String])} {
			if types.Satisfies(kind, contract) {
				found = d.term(kind)
				break
			}
		}
		if found == "" {
			for _, name := range d.pkg.Scope().Names() {
				if object, ok := d.pkg.Scope().Lookup(name).(*types.TypeName); ok && types.Satisfies(object.Type(), contract) {
					found = name
					break
				}
			}
		}
		if found == "" {
			return "", fmt.Errorf("no type is known for the type parameter %s", params.At(i).Obj().Name())
		}
		chosen = append(chosen, found)
	}
	return "[" + strings.Join(chosen, ", ") + "]", nil
}

// reach notes a type that has to be made, and all that it is made of.
func (d *driver) reach(kind types.Type) { d.queue = append(d.queue, kind) }

func (d *driver) drain() {
	for len(d.queue) > 0 && len(d.seen) < 3000 {
		kind := types.Unalias(d.queue[0])
		d.queue = d.queue[1:]
		key := types.TypeString(kind, nil)
		if d.seen[key] {
			continue
		}
		d.seen[key] = true
		d.reached = append(d.reached, kind)
		if _, known := factories[key]; known {
			continue
		}
		if named, ok := kind.(*types.Named); ok && named.Obj().Pkg() == d.pkg {
			for i := range named.NumMethods() {
				if d.types[named.Obj().Name()] != nil || d.additions[named.Obj().Name()] != nil {
					d.reach(named.Method(i).Type())
				}
			}
		}
		foreign := false
		if named, ok := kind.(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg() != d.pkg {
			foreign = true
		}
		switch shape := kind.Underlying().(type) {
		case *types.Pointer:
			d.reach(shape.Elem())
		case *types.Slice:
			d.reach(shape.Elem())
		case *types.Array:
			d.reach(shape.Elem())
		case *types.Chan:
			d.reach(shape.Elem())
		case *types.Map:
			d.reach(shape.Key())
			d.reach(shape.Elem())
		case *types.Struct:
			for i := range shape.NumFields() {
				field := shape.Field(i)
				if (!foreign || field.Exported()) && (field.Embedded() || d.mentioned()[field.Name()] || d.isGuess(kind)) {
					d.reach(field.Type())
				}
			}
		case *types.Signature:
			for i := range shape.Results().Len() {
				d.reach(shape.Results().At(i).Type())
			}
			for i := range shape.Params().Len() {
				d.reach(shape.Params().At(i).Type())
			}
		case *types.Interface:
			for i := range shape.NumMethods() {
				d.reach(shape.Method(i).Type())
			}
			for _, inner := range d.implementers(kind) {
				d.reach(inner)
			}
		}
	}
}

func (d *driver) isGuess(kind types.Type) bool {
	named, ok := kind.(*types.Named)
	return ok && d.types[named.Obj().Name()] != nil
}

// mentioned are the names of fields that the slice looks at; of what is made up, all.
func (s *solver) mentioned() map[string]bool {
	if s.source.selectors["Made"] {
		return s.source.selectors
	}
	for _, found := range s.types {
		for _, field := range found.fields {
			s.source.selectors[field.name] = true
		}
	}
	s.source.selectors["Made"] = true
	for _, p := range s.pieces {
		// Fields that are only set by position, or read by reflection, count too.
		ast.Inspect(p.node, func(node ast.Node) bool {
			if shape, ok := node.(*ast.StructType); ok {
				for _, field := range shape.Fields.List {
					if field.Tag != nil {
						for _, name := range field.Names {
							s.source.selectors[name.Name] = true
						}
					}
				}
			}
			return true
		})
	}
	return s.source.selectors
}

// implementers are types of the file that an interface can hold.
func (d *driver) implementers(kind types.Type) []types.Type {
	contract, ok := kind.Underlying().(*types.Interface)
	if !ok || contract.NumMethods() == 0 {
		return nil
	}
	var found []types.Type
	names := d.pkg.Scope().Names()
	// Those that the slice asks for come first, and what is made up last.
	sort.SliceStable(names, func(i, j int) bool { return d.rank(names[i]) < d.rank(names[j]) })
	for _, name := range names {
		object, ok := d.pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || object.IsAlias() {
			continue
		}
		named, ok := object.Type().(*types.Named)
		if !ok || named.TypeParams().Len() > 0 || types.IsInterface(named) {
			continue
		}
		// A pointer has the methods of what it points to as well; it is made where it is asked for.
		plain, pointer := types.Implements(named, contract), types.NewPointer(named)
		if plain && !d.pointed[name] {
			found = append(found, named)
		} else if types.Implements(pointer, contract) {
			found = append(found, pointer)
		}
		if len(found) >= 16 {
			break
		}
	}
	return found
}

func (d *driver) rank(name string) int {
	switch {
	case d.asked[name]:
		return 0
	case d.types[name] == nil:
		return 1
	default:
		return 2
	}
}

func (d *driver) writeSurroundings(line func(string, ...any)) {
	used := map[string]bool{}
	asks := map[string]bool{}
	for ident, object := range d.info.Uses {
		if pkg, ok := object.(*types.PkgName); ok {
			used[pkg.Imported().Path()] = true
			if selector, ok := d.parents[ident].(*ast.SelectorExpr); ok {
				asks[pkg.Imported().Path()+"."+selector.Sel.Name] = true
			}
		}
	}
	files := d.seen["*os.File"] || d.seen["io/fs.FileInfo"]
	for path := range needsFiles {
		files = files || used[path]
	}
	line("\t\tFiles: %t,", files)
	line("\t\tInput: %t,", asks["os.Stdin"] || asks["fmt.Scanln"] || asks["fmt.Scan"] || asks["fmt.Scanf"])
	line("\t\tArguments: %t,", asks["os.Args"] || used["flag"])
}

// writePools gives types of the file their constants.
func (d *driver) writePools(line func(string, ...any)) {
	byType := map[string][]string{}
	for _, name := range d.pkg.Scope().Names() {
		object, ok := d.pkg.Scope().Lookup(name).(*types.Const)
		if !ok {
			continue
		}
		if named, ok := types.Unalias(object.Type()).(*types.Named); ok && (named.Obj().Pkg() == d.pkg) {
			if key := named.Obj().Name(); len(byType[key]) < 60 {
				byType[key] = append(byType[key], name)
			}
		}
	}
	line("\t\tPools: map[funcmem__reflect.Type][]any{")
	for _, kind := range sortedKeys(byType) {
		line("\t\t\tfuncmem__reflect.TypeFor[%s](): {%s},", kind, strings.Join(byType[kind], ", "))
	}
	line("\t\t},")
}

// writeGlobals names the variables of the package.
func (d *driver) writeGlobals(line func(string, ...any)) {
	line("\t\tGlobals: []funcmem__rt.Global{")
	for _, name := range d.pkg.Scope().Names() {
		_, ok := d.pkg.Scope().Lookup(name).(*types.Var)
		if !ok || name == "_" || strings.HasPrefix(name, "funcmem__") {
			continue
		}
		fill := d.values[name] != nil || d.isBare(name)
		line("\t\t\t{Name: %s, Pointer: &%s, Fill: %t, Vary: %t},", quoteGo(shownName(name)), name, fill, !fill && d.varies(name))
	}
	line("\t\t},")
}

func (d *driver) isBare(name string) bool {
	p := d.source.byName[name]
	return p != nil && p.bare
}

// dispatch writes the function that calls one of several in its place.
func (d *driver) dispatch(target *piece, signature *types.Signature) string {
	name := target.names[0]
	if name == "main" || name == "init" {
		name += "__target"
	}
	receiver, prefix := "", ""
	if signature.Recv() != nil {
		receiver = "(funcmem__r " + d.term(signature.Recv().Type()) + ") "
		prefix = "funcmem__r."
	}
	var params, arguments, results []string
	for i := range signature.Params().Len() {
		kind := d.term(signature.Params().At(i).Type())
		argument := "funcmem__p" + itoa(i)
		text := argument + " " + kind
		if signature.Variadic() && i == signature.Params().Len()-1 {
			text = argument + " ..." + strings.TrimPrefix(kind, "[]")
			argument += "..."
		}
		params, arguments = append(params, text), append(arguments, argument)
	}
	for i := range signature.Results().Len() {
		results = append(results, d.term(signature.Results().At(i).Type()))
	}
	back := "return "
	if len(results) == 0 {
		back = ""
	}
	text := fmt.Sprintf("func %s%s(%s) (%s) {\n\tswitch funcmem__rt.Variant {\n@CASES@\t}\n\tpanic(\"no such variant\")\n}\n",
		receiver, name, strings.Join(params, ", "), strings.Join(results, ", "))
	call := fmt.Sprintf("\tcase @N@:\n\t\t%s%s%s__@N@(%s)\n", back, prefix, name, strings.Join(arguments, ", "))
	if len(results) == 0 {
		call += "\t\treturn\n"
	}
	head := "package main\n\nimport funcmem__rt \"funcmem/rt\"\n"
	for _, path := range sortedKeys(d.guesses.imports) {
		if strings.Contains(text, d.guesses.imports[path]+".") {
			head += "import " + d.guesses.imports[path] + " " + quoteGo(path) + "\n"
		}
	}
	return head + "\n" + text + "@CASE@" + call
}

func quotedWords(words []string) string { return joined(words, strconv.Quote) }

func joined[T any](items []T, write func(T) string) string {
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = write(item)
	}
	return strings.Join(parts, ", ")
}
