// The Go tool of the sandbox: it writes what has to be compiled around a function ("prepare"), and puts code
// into what it wrote ("fill"). It reads a JSON request from standard input and answers with JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: funcmem-go prepare|fill IMPORTCFG < request")
		os.Exit(2)
	}
	library := openLibrary(os.Args[2])
	var reply any
	switch os.Args[1] {
	case "prepare":
		var request prepareRequest
		decode(&request)
		reply = prepare(request, library)
	case "fill":
		var request fillRequest
		decode(&request)
		reply = fill(request)
	default:
		fmt.Fprintln(os.Stderr, "no such command")
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(reply); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func decode(request any) {
	if err := json.NewDecoder(os.Stdin).Decode(request); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
