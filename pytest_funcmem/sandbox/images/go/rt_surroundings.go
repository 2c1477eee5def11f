package rt

import (
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// surroundings makes environment, arguments, standard input and files, where the function asks for them.
func surroundings() {
	m := &Maker{place: hashText("surroundings"), answer: true}
	for _, name := range target.Environment {
		if m.Below(4) != 3 {
			value := strings.ReplaceAll(m.Text(), "\x00", "")
			os.Setenv(name, value)
			around = append(around, name+"="+strconv.Quote(value))
		}
	}
	if target.Arguments {
		for _, flag := range target.Flags {
			if m.Below(3) == 2 {
				os.Args = append(os.Args, flag)
				around = append(around, "os.Args: "+strconv.Quote(flag))
			}
		}
		for range m.Below(4) {
			os.Args = append(os.Args, m.Text())
			around = append(around, "os.Args: "+strconv.Quote(os.Args[len(os.Args)-1]))
		}
	}
	if target.Input {
		text := ""
		for range m.Below(5) {
			text += m.Text() + "\n"
		}
		if reading, writing, err := os.Pipe(); err == nil && len(text) < 60_000 {
			writing.WriteString(text)
			writing.Close()
			os.Stdin = reading
			around = append(around, "os.Stdin: "+strconv.Quote(text))
		}
	}
	if target.Files {
		for _, name := range []string{"input.txt", "data.json"} {
			text := ""
			for range m.Below(6) {
				text += m.Text() + "\n"
			}
			os.WriteFile(name, []byte(text), 0o644)
			around = append(around, name+": "+strconv.Quote(text))
		}
		os.Mkdir("folder", 0o755)
		old := time.Unix(startSecond()-7200, 0)
		for _, name := range []string{"input.txt", "data.json", "folder"} {
			os.Chtimes(name, old, old)
			laid = append(laid, quote(name))
		}
	}
}

// vary lets a variable of the package be what it begins as, or something else.
func (g *Global) vary() {
	filler := &Maker{place: hashText("global " + g.Name), answer: true, global: true}
	value := reflect.ValueOf(g.Pointer).Elem()
	if g.beginning.IsValid() {
		value.Set(g.beginning)
	}
	if filler.Below(4) != 3 {
		filler.Fill(value)
		around = append(around, g.Name+" = "+show(value))
	}
}
