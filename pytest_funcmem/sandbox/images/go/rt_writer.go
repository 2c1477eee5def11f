package rt

import "reflect"

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
