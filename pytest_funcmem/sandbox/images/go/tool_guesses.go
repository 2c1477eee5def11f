package main

import (
	"fmt"
	"go/types"
	"sort"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

func quoteGo(text string) string { return strconv.Quote(text) }

// A term is a type as Go source, in which guesses are known by name.

// guess is a type that the file does not define, or that something undefined has.
type guess struct {
	name     string
	declared bool   // whether the source names it
	bound    string // the term that it is, once that is known
	weak     string // what it is where nothing better is found
	fields   []member
	methods  []*signature
	dynamic  bool // whether it has to be an interface
	pointed  bool // whether the source names the type of pointers to it
	nilable  bool
	number   bool
	literal  bool // whether the source writes values of it with braces

	positional bool // whether they have no field names, so that nothing may be added
}

type member struct{ name, term string }

// signature is that of a made-up function or method.
type signature struct {
	name     string
	params   []string
	results  []string
	variadic bool
	known    bool // whether the results are
	called   bool
	exact    string // where it must be exactly so: the text after the name
	revised  bool   // whether that was changed once, which is enough
}

type valueHole struct {
	name, term string
	assigned   bool // whether it must be a variable
	constant   string
	flag       bool // whether bits of it are looked at
}

// guesses is all that is made up around a function.
type guesses struct {
	types     map[string]*guess
	functions map[string]*signature
	values    map[string]*valueHole
	additions map[string]map[string]*signature // methods of the file's own types that the file lacks
	imports   map[string]string                // path -> alias, of packages that terms mention
	count     int
	changed   bool
}

func newGuesses() *guesses {
	return &guesses{
		types: map[string]*guess{}, functions: map[string]*signature{}, values: map[string]*valueHole{},
		additions: map[string]map[string]*signature{}, imports: map[string]string{},
	}
}

func (g *guesses) fresh() string {
	g.count++
	name := "funcmem__t" + itoa(g.count)
	g.types[name] = &guess{name: name}
	return name
}

func (g *guesses) declare(name string) *guess {
	if g.types[name] == nil {
		g.types[name] = &guess{name: name, declared: true}
		g.changed = true
	}
	return g.types[name]
}

// qualify names packages in terms, and notes that they are needed.
func (g *guesses) qualify(pkg *types.Package) string {
	if pkg == nil || pkg.Path() == "main" {
		return ""
	}
	alias, ok := g.imports[pkg.Path()]
	if !ok {
		alias = "funcmem__" + strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(pkg.Path())
		g.imports[pkg.Path()] = alias
	}
	return alias
}

func (g *guesses) term(kind types.Type) string {
	return types.TypeString(kind, g.qualify)
}

// open gives the guess that a type stands for, if nothing is known of it yet.
func (g *guesses) open(kind types.Type) *guess {
	if kind == nil {
		return nil
	}
	if named, ok := types.Unalias(kind).(*types.Named); ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "main" {
		if found := g.types[named.Obj().Name()]; found != nil && found.bound == "" {
			return found
		}
	}
	return nil
}

// find follows guesses that are other guesses.
func (g *guesses) resolve(term string) string {
	for range 50 {
		found := g.types[term]
		if found == nil || found.bound == "" || found.declared {
			return term
		}
		term = found.bound
	}
	return term
}

func (g *guesses) mentions(term, name string, depth int) bool {
	if depth > 30 {
		return true
	}
	for _, word := range guessedName.FindAllString(term, -1) {
		if word == name {
			return true
		}
		if found := g.types[word]; found != nil && !found.declared && found.bound != "" && g.mentions(found.bound, name, depth+1) {
			return true
		}
	}
	return false
}

// bind says what a guess is. What was learnt of it goes to what it is, where that is a guess too.
func (g *guesses) bind(found *guess, term string) {
	term = g.resolve(term)
	if found.bound != "" || term == found.name || g.mentions(term, found.name, 0) || strings.Contains(term, "invalid type") {
		return
	}
	if found.declared && len(found.methods) > 0 && strings.HasPrefix(term, "*") {
		if !found.pointed && !found.dynamic {
			found.dynamic = true // what has methods is no pointer
			g.changed = true
		}
		return
	}
	if !found.declared && len(found.methods) > 0 && g.types[strings.TrimPrefix(term, "*")] == nil && !strings.Contains(term, ".") && term != "any" && term != "error" {
		found.declared = true // what has methods needs a name of its own
	}
	found.bound = term
	g.changed = true
	if other := g.types[strings.TrimPrefix(term, "*")]; other != nil {
		for _, field := range found.fields {
			other.field(g, field.name, field.term)
		}
		for _, method := range found.methods {
			if other.method(method.name) == nil {
				other.methods = append(other.methods, method)
			}
		}
		other.nilable = other.nilable || (found.nilable && !strings.HasPrefix(term, "*"))
		other.number = other.number || found.number
		other.dynamic = other.dynamic || found.dynamic && !other.pointed
		if other.weak == "" {
			other.weak = found.weak
		}
	}
}

func (g *guesses) suggest(found *guess, term string) {
	if found.weak == "" && term != "" && !g.mentions(term, found.name, 0) && !strings.Contains(term, "invalid type") {
		found.weak = term
		g.changed = true
	}
}

func (t *guess) field(g *guesses, name, term string) string {
	for _, known := range t.fields {
		if known.name == name {
			return known.term
		}
	}
	if term == "" {
		term = g.fresh()
	}
	t.fields = append(t.fields, member{name, term})
	g.changed = true
	return term
}

func (t *guess) method(name string) *signature {
	for _, known := range t.methods {
		if known.name == name {
			return known
		}
	}
	return nil
}

func (t *guess) addMethod(g *guesses, name string) *signature {
	if known := t.method(name); known != nil {
		return known
	}
	method := &signature{name: name}
	t.methods = append(t.methods, method)
	g.changed = true
	return method
}

// settle decides what is still open: first what was only suggested; gives whether anything was.
func (g *guesses) settle() bool {
	settled := false
	for _, name := range sortedKeys(g.types) {
		found := g.types[name]
		if found.bound != "" || found.dynamic && found.declared {
			continue
		}
		if found.weak != "" && len(found.fields) == 0 && !found.literal {
			before := found.bound
			g.bind(found, found.weak)
			settled = settled || found.bound != before
		}
	}
	return settled
}

// default decides about what nothing is known of.
func (g *guesses) finish() bool {
	settled := false
	for _, name := range sortedKeys(g.types) {
		found := g.types[name]
		if found.bound != "" || found.dynamic {
			continue
		}
		switch {
		case found.nilable && found.declared && !found.literal && !found.pointed && len(found.fields) == 0:
			found.dynamic = true
			settled = true
		case found.nilable && !found.declared:
			inner := g.fresh()
			g.bind(found, "*"+inner)
			settled = true
		case len(found.fields) > 0 || len(found.methods) > 0 || found.literal:
		case found.number:
			g.bind(found, "int")
			settled = true
		case !found.declared:
			g.bind(found, "string")
			settled = true
		}
	}
	return settled
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func (f *signature) text(g *guesses) string {
	if f.exact != "" {
		return f.exact
	}
	var params []string
	for i, term := range f.params {
		if f.variadic && i == len(f.params)-1 {
			term = "..." + term
		}
		params = append(params, "p"+itoa(i)+" "+term)
	}
	var results []string
	for i, term := range f.results {
		results = append(results, "r"+itoa(i)+" "+term)
	}
	return "(" + strings.Join(params, ", ") + ") (" + strings.Join(results, ", ") + ")"
}

func (f *signature) body(name, self string) string {
	var in, out []string
	if self != "" {
		in = append(in, self)
	}
	params, results := len(f.params), len(f.results)
	for i := range params {
		in = append(in, "&p"+itoa(i))
	}
	for i := range results {
		out = append(out, ", &r"+itoa(i))
	}
	return "{ funcmem__rt.Call(" + quoteGo(name) + ", []any{" + strings.Join(in, ", ") + "}" + strings.Join(out, "") + "); return }"
}

// stubs writes all that is made up as a source file.
func (g *guesses) stubs() string {
	var out strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&out, format+"\n", arguments...) }
	for _, name := range sortedKeys(g.types) {
		t := g.types[name]
		shown := shownName(name)
		if t.bound != "" {
			if !t.declared || strings.HasPrefix(t.bound, "*") || g.types[t.bound] != nil {
				line("type %s = %s", name, t.bound)
				continue
			}
			line("type %s %s", name, t.bound)
		} else if t.dynamic {
			line("type %s interface {", name)
			for _, method := range t.methods {
				line("\t%s%s", method.name, method.text(g))
			}
			line("}")
			continue
		} else {
			line("type %s struct {", name)
			for _, field := range t.fields {
				if t.method(field.name) == nil {
					line("\t%s %s", field.name, field.term)
				}
			}
			if !t.positional {
				line("\tMade int")
			}
			line("}")
		}
		for _, method := range t.methods {
			self := "&r.Made"
			if t.bound != "" || t.positional {
				self = "&r"
			}
			line("func (r %s) %s%s %s", name, method.name, method.text(g), method.body(shown+"."+method.name, self))
		}
	}
	for _, name := range sortedKeys(g.functions) {
		f := g.functions[name]
		line("func %s%s %s", name, f.text(g), f.body(shownName(name), ""))
	}
	for _, name := range sortedKeys(g.values) {
		v := g.values[name]
		if v.constant != "" {
			line("const %s %s = %s", name, v.term, v.constant)
		} else {
			line("var %s %s", name, v.term)
		}
	}
	for _, kind := range sortedKeys(g.additions) {
		for _, name := range sortedKeys(g.additions[kind]) {
			f := g.additions[kind][name]
			line("func (r *%s) %s%s %s", kind, name, f.text(g), f.body(kind+"."+name, ""))
		}
	}
	text := out.String()
	head := "package main\n\nimport funcmem__rt \"funcmem/rt\"\n"
	for _, path := range sortedKeys(g.imports) {
		if strings.Contains(text, g.imports[path]+".") {
			head += "import " + g.imports[path] + " " + quoteGo(path) + "\n"
		}
	}
	if !strings.Contains(text, "funcmem__rt.") {
		head = strings.Replace(head, "import funcmem__rt", "import _", 1)
	}
	return head + text
}

func shownName(name string) string {
	if strings.HasPrefix(name, "funcmem__t") {
		return "made-up " + strings.TrimPrefix(name, "funcmem__")
	}
	name, argument, instance := strings.Cut(name, "__of__")
	if instance {
		argument = "[" + argument + "]"
	}
	return strings.Replace(name, "__", ".", 1) + argument
}
