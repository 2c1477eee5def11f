package rt

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
)

const mostShown = 1500

// show writes a value as Go source for people.
func show(v reflect.Value) string {
	var out strings.Builder
	showInto(&out, v, 0)
	text := out.String()
	if len(text) > mostShown {
		// What is not shown must not make two values look the same.
		rest := strconv.FormatUint(hashText(encode(v, true)), 36)
		text = strings.ToValidUTF8(text[:mostShown], "") + " … #" + rest
	}
	return text
}

func typeName(kind reflect.Type) string {
	return strings.ReplaceAll(strings.ReplaceAll(kind.String(), "main.", ""), "interface {}", "any")
}

// told are the fields of opaque types that tell what one holds.
var told = map[string][]string{
	"strings.Reader": {"s"}, "bytes.Reader": {"s"}, "bufio.Reader": {"rd"}, "bufio.Scanner": {"r"},
	"http.Request": {"Method", "URL", "Header", "Body"},
}

func showOpaque(out *strings.Builder, v reflect.Value, depth int) {
	name := typeName(v.Type())
	if v.Kind() != reflect.Struct {
		out.WriteString(name + "{…}")
		return
	}
	if said, ok := saidBy(v); ok {
		out.WriteString(name + "(" + strconv.Quote(strings.ToValidUTF8(said, "?")) + ")")
		return
	}
	fields := told[name]
	for i := 0; i < v.NumField() && len(told[name]) == 0; i++ {
		if field := v.Type().Field(i); field.IsExported() && target.mentions(field.Name) && !v.Field(i).IsZero() {
			fields = append(fields, field.Name)
		}
	}
	if !v.CanAddr() || len(fields) == 0 {
		out.WriteString(name + "{…}")
		return
	}
	out.WriteString(name + "{")
	for i, field := range fields {
		if i > 0 {
			out.WriteString(", ")
		}
		if inner := v.FieldByName(field); inner.IsValid() {
			out.WriteString(field + ": ")
			showInto(out, inner, depth+1)
		}
	}
	out.WriteString("}")
}

func showInto(out *strings.Builder, v reflect.Value, depth int) {
	if out.Len() > mostShown {
		return
	}
	if !v.IsValid() {
		out.WriteString("nil")
		return
	}
	if v.CanAddr() {
		v = settable(v)
	}
	kind := v.Type()
	named := kind.PkgPath() != ""
	plain := func(text string) {
		if named {
			text = typeName(kind) + "(" + text + ")"
		}
		out.WriteString(text)
	}
	if depth > 7 {
		out.WriteString("…")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		plain(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		plain(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		plain(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		plain(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case reflect.Complex64, reflect.Complex128:
		plain(fmt.Sprint(v.Complex()))
	case reflect.String:
		plain(strconv.Quote(v.String()))
	case reflect.Pointer:
		if v.IsNil() {
			out.WriteString("nil")
			return
		}
		if isOpaque(kind.Elem()) {
			out.WriteString("&")
			showOpaque(out, v.Elem(), depth)
			return
		}
		out.WriteString("&")
		showInto(out, v.Elem(), depth+1)
	case reflect.Interface:
		if v.IsNil() {
			out.WriteString("nil")
			return
		}
		copied := reflect.New(v.Elem().Type()).Elem()
		copied.Set(v.Elem())
		showInto(out, copied, depth+1)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			out.WriteString("nil")
			return
		}
		if kind.Elem() == byteType {
			text := make([]byte, v.Len())
			for i := range text {
				text[i] = byte(v.Index(i).Uint())
			}
			out.WriteString(typeName(kind) + "(" + strconv.Quote(string(text)) + ")")
			return
		}
		out.WriteString(typeName(kind) + "{")
		for i := 0; i < v.Len(); i++ {
			if i > 0 {
				out.WriteString(", ")
			}
			showInto(out, v.Index(i), depth+1)
		}
		out.WriteString("}")
	case reflect.Map:
		if v.IsNil() {
			out.WriteString("nil")
			return
		}
		var pairs []string
		for _, key := range v.MapKeys() {
			pairs = append(pairs, show(key)+": "+show(v.MapIndex(key)))
		}
		sort.Strings(pairs)
		out.WriteString(typeName(kind) + "{" + strings.Join(pairs, ", ") + "}")
	case reflect.Struct:
		if kind == timeType {
			out.WriteString("time.Time(" + v.Interface().(time.Time).Format(time.RFC3339Nano) + ")")
			return
		}
		if isOpaque(kind) {
			showOpaque(out, v, depth)
			return
		}
		if within, ok := v.Interface().(Within); ok {
			out.WriteString("context.Context(" + fmt.Sprint(within.Err()) + ")")
			return
		}
		out.WriteString(typeName(kind) + "{")
		first := true
		for i := 0; i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				continue
			}
			if !first {
				out.WriteString(", ")
			}
			first = false
			out.WriteString(kind.Field(i).Name + ": ")
			showInto(out, v.Field(i), depth+1)
		}
		out.WriteString("}")
	default:
		if v.IsNil() {
			out.WriteString("nil")
		} else if said, ok := channels[v.Pointer()]; ok && v.Kind() == reflect.Chan {
			out.WriteString(said)
		} else {
			out.WriteString("<" + typeName(kind) + ">")
		}
	}
}
