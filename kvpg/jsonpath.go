package kvpg

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// pathAt gives the JSON path of what stands at an offset of valid JSON text. Only a refused value gets here.
func pathAt(raw []byte, offset int) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var stack []frame
	for {
		token, err := dec.Token()
		if err != nil { // not reached: the offset lies in the text
			return pathOf(stack)
		}
		if delim, ok := token.(json.Delim); ok && (delim == ']' || delim == '}') {
			stack = stack[:len(stack)-1]
			continue
		}
		if n := len(stack); n > 0 {
			stack[n-1].step(token)
		}
		if dec.InputOffset() > int64(offset) {
			return pathOf(stack)
		}
		if delim, ok := token.(json.Delim); ok {
			stack = append(stack, frame{object: delim == '{', index: -1})
		}
	}
}

// frame is an object or array that is open, and how far in it the reader is.
type frame struct {
	object bool
	index  int    // of the array's current element
	name   string // of the object's current member
	named  bool   // the name was read and its value was not
}

func (f *frame) step(token json.Token) {
	switch {
	case !f.object:
		f.index++
	case f.named: // the token is, or opens, the value
		f.named = false
	default:
		f.name, f.named = token.(string), true
	}
}

func pathOf(stack []frame) string {
	path := "$"
	for _, f := range stack {
		if f.object {
			path += memberStep(f.name)
		} else {
			path += indexStep(f.index)
		}
	}
	return path
}

// memberStep writes .name, or ["na me"] where the name is no plain word.
func memberStep(name string) string {
	for i := range len(name) {
		c := name[i]
		word := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9'
		if !word {
			return "[" + strconv.QuoteToASCII(name) + "]"
		}
	}
	if name == "" {
		return `[""]`
	}
	return "." + name
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }
