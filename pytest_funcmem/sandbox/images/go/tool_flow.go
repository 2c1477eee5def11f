package main

import "go/types"

// flow says that a value of one type becomes one of another.
func (s *solver) flow(to, from types.Type) {
	if to == nil || from == nil {
		return
	}
	if basic, ok := from.(*types.Basic); ok && basic.Info()&types.IsUntyped != 0 {
		if target := s.open(to); target != nil {
			if basic.Kind() == types.UntypedNil {
				s.mark(&target.nilable)
			} else {
				s.suggest(target, types.Default(basic).String())
			}
		}
		return
	}
	if s.isStale(to) || s.isStale(from) {
		return // what it is was learnt in this round, and counts from the next on
	}
	target, origin := s.open(to), s.open(from)
	switch {
	case target != nil && origin != nil:
		if target == origin {
			return
		}
		if !target.declared {
			s.bind(target, origin.name)
		} else if !origin.declared {
			s.bind(origin, target.name)
		} else if !target.literal && len(target.fields) == 0 {
			s.markDynamic(target)
			s.implement(origin, to)
		}
	case target != nil:
		if _, tuple := from.(*types.Tuple); tuple {
			return
		}
		if !target.declared {
			s.bind(target, s.term(from))
			return
		}
		switch kind := types.Unalias(from).(type) {
		case *types.Basic, *types.Pointer, *types.Named, *types.Interface:
			if pointer, ok := kind.(*types.Pointer); ok {
				if inner := s.open(pointer.Elem()); inner != nil && inner == target {
					return
				}
			}
			if !target.literal && len(target.fields) == 0 {
				s.markDynamic(target)
			}
		default:
			if !target.literal {
				s.bind(target, s.term(from))
			}
		}
	case origin != nil:
		if _, dynamic := to.Underlying().(*types.Interface); dynamic {
			if to.Underlying().(*types.Interface).NumMethods() > 0 {
				s.implement(origin, to)
				if !origin.declared {
					s.suggest(origin, s.term(to))
				}
			}
			return
		}
		if !origin.declared {
			s.bind(origin, s.term(to))
		}
	default:
		s.unify(to, from)
	}
}

// isStale tells whether a type stands for a guess that has been bound since the types were found out.
func (s *solver) isStale(kind types.Type) bool {
	named, ok := types.Unalias(kind).(*types.Named)
	if !ok || named.Obj().Pkg() != s.pkg {
		return false
	}
	found := s.types[named.Obj().Name()]
	return found != nil && !found.declared && found.bound != ""
}

// implement gives a guess the methods of an interface.
func (s *solver) implement(origin *guess, to types.Type) {
	contract, ok := to.Underlying().(*types.Interface)
	if !ok || !origin.declared || origin.dynamic {
		return
	}
	for i := range contract.NumMethods() {
		method := contract.Method(i)
		if known := origin.method(method.Name()); known == nil || known.exact == "" {
			added := origin.addMethod(s.guesses, method.Name())
			s.exactly(added, method.Type().(*types.Signature))
			s.changed = true
		}
	}
}

// exactly makes a made-up method what an interface wants.
func (s *solver) exactly(f *signature, wanted *types.Signature) {
	f.params, f.results, f.variadic, f.known = nil, nil, wanted.Variadic(), true
	for i := range wanted.Params().Len() {
		kind := wanted.Params().At(i).Type()
		if wanted.Variadic() && i == wanted.Params().Len()-1 {
			kind = kind.(*types.Slice).Elem()
		}
		f.params = append(f.params, s.term(kind))
	}
	for i := range wanted.Results().Len() {
		f.results = append(f.results, s.term(wanted.Results().At(i).Type()))
	}
	f.called, f.exact = true, ""
	f.exact = f.text(s.guesses)
}

// markDynamic says that a guess is an interface, unless there are pointers to it, which nobody has to interfaces.
func (s *solver) markDynamic(found *guess) {
	if !found.pointed {
		s.mark(&found.dynamic)
	}
}

func (s *solver) mark(flag *bool) {
	if !*flag {
		*flag = true
		s.changed = true
	}
}

// unify says that two types are the same.
func (s *solver) unify(a, b types.Type) {
	if a == nil || b == nil || a == b {
		return
	}
	if s.open(a) != nil || s.open(b) != nil {
		s.flow(a, b)
		return
	}
	a, b = types.Unalias(a), types.Unalias(b)
	switch x := a.(type) {
	case *types.Pointer:
		if y, ok := b.(*types.Pointer); ok {
			s.unify(x.Elem(), y.Elem())
		}
	case *types.Slice:
		if y, ok := b.(*types.Slice); ok {
			s.unify(x.Elem(), y.Elem())
		}
	case *types.Array:
		if y, ok := b.(*types.Array); ok {
			s.unify(x.Elem(), y.Elem())
		}
	case *types.Map:
		if y, ok := b.(*types.Map); ok {
			s.unify(x.Key(), y.Key())
			s.unify(x.Elem(), y.Elem())
		}
	case *types.Chan:
		if y, ok := b.(*types.Chan); ok {
			s.unify(x.Elem(), y.Elem())
		}
	case *types.Signature:
		if y, ok := b.(*types.Signature); ok {
			for i := range min(x.Params().Len(), y.Params().Len()) {
				s.unify(x.Params().At(i).Type(), y.Params().At(i).Type())
			}
			for i := range min(x.Results().Len(), y.Results().Len()) {
				s.unify(x.Results().At(i).Type(), y.Results().At(i).Type())
			}
		}
	}
}
