package rt

import (
	"context"
	"io"
	"reflect"
)

// Within is a context whose values are made up.
type Within struct{ context.Context }

// Value gives what a context holds by a key of the function's own.
func (w Within) Value(key any) any {
	if kind := reflect.TypeOf(key); kind == nil || kind.PkgPath() != "main" && kind.Kind() != reflect.String {
		return w.Context.Value(key)
	}
	var value any
	answer("context.Context.Value", []reflect.Value{reflect.ValueOf(&key).Elem()}, []reflect.Value{reflect.ValueOf(&value).Elem()})
	return value
}

// Writer keeps what is written to it.
type Writer struct{ Text []byte }

func (w *Writer) Write(data []byte) (int, error) {
	w.Text = append(w.Text, data...)
	return len(data), nil
}

// WriteString keeps a text.
func (w *Writer) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

// Close does nothing.
func (w *Writer) Close() error { return nil }

// Duplex gives a text and keeps what is written to it.
type Duplex struct {
	Rest string
	Writer
}

func (d *Duplex) Read(into []byte) (int, error) {
	if d.Rest == "" {
		return 0, io.EOF
	}
	n := copy(into, d.Rest)
	d.Rest = d.Rest[n:]
	return n, nil
}

// Made makes a value of a type; of a pointer, never nil.
func Made[T any](m *Maker) any {
	var value T
	v := reflect.ValueOf(&value).Elem()
	if v.Kind() == reflect.Pointer {
		pointer := reflect.New(v.Type().Elem())
		m.Fill(pointer.Elem())
		v.Set(pointer)
	} else {
		m.Fill(v)
	}
	return value
}
