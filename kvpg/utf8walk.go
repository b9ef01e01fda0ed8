package kvpg

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// findInvalidString looks through a Go value, as encoding/json does, for a string that is not valid UTF-8 and gives its JSON
// path. Inside a type with a MarshalJSON of its own every field is looked at, since nobody can tell what that writes.
func findInvalidString(v reflect.Value) (path string, found bool) {
	w := utf8Walk{seen: map[visit]bool{}}
	return w.walk(v, "$", false)
}

// utf8Walk remembers the pointers, maps and slices it went through: behind fields that encoding/json skips there may be cycles.
type utf8Walk struct {
	seen map[visit]bool
}

type visit struct {
	ptr uintptr
	len int // of a slice: a shorter one may begin at the same place
	typ reflect.Type
}

var (
	rawMessageType    = reflect.TypeFor[json.RawMessage]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

func (w *utf8Walk) walk(v reflect.Value, path string, opaque bool) (string, bool) {
	if !v.IsValid() || v.Type() == rawMessageType { // JSON text was looked through as such
		return "", false
	}
	switch {
	case implements(v, marshalerType):
		opaque = true
	case implements(v, textMarshalerType) && !opaque:
		return path, !utf8.ValidString(textOf(v))
	}
	switch v.Kind() {
	case reflect.String:
		return path, !utf8.ValidString(v.String())
	case reflect.Pointer:
		if v.IsNil() || w.visited(v) {
			return "", false
		}
		return w.walk(v.Elem(), path, opaque)
	case reflect.Interface:
		return w.walk(v.Elem(), path, opaque)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 { // base64
			return "", false
		}
		if v.Kind() == reflect.Slice && w.visited(v) {
			return "", false
		}
		for i := range v.Len() {
			if path, bad := w.walk(v.Index(i), path+indexStep(i), opaque); bad {
				return path, true
			}
		}
	case reflect.Map:
		return w.walkMap(v, path, opaque)
	case reflect.Struct:
		return w.walkStruct(v, path, opaque)
	}
	return "", false
}

func (w *utf8Walk) walkMap(v reflect.Value, path string, opaque bool) (string, bool) {
	if w.visited(v) {
		return "", false
	}
	for it := v.MapRange(); it.Next(); {
		key := keyText(it.Key())
		member := path + memberStep(key)
		if !utf8.ValidString(key) {
			return member, true
		}
		if path, bad := w.walk(it.Value(), member, opaque); bad {
			return path, true
		}
	}
	return "", false
}

func (w *utf8Walk) walkStruct(v reflect.Value, path string, opaque bool) (string, bool) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag, tagged := field.Tag.Lookup("json")
		name, _, _ := strings.Cut(tag, ",")
		if !opaque && (tag == "-" || !field.IsExported() && !field.Anonymous) {
			continue
		}
		member := path
		switch {
		case name != "":
			member += memberStep(name)
		case !field.Anonymous || tagged:
			member += memberStep(field.Name)
		}
		if path, bad := w.walk(v.Field(i), member, opaque); bad {
			return path, true
		}
	}
	return "", false
}

func (w *utf8Walk) visited(v reflect.Value) bool {
	at := visit{ptr: v.Pointer(), typ: v.Type()}
	if v.Kind() == reflect.Slice {
		at.len = v.Len()
	}
	if w.seen[at] {
		return true
	}
	w.seen[at] = true
	return false
}

// keyText is the member's name that encoding/json makes of a map's key.
func keyText(key reflect.Value) string {
	switch {
	case key.Kind() == reflect.String:
		return key.String()
	case implements(key, textMarshalerType):
		return textOf(key)
	default:
		return fmt.Sprint(key)
	}
}

// textOf is what encoding/json writes as the string. A nil pointer, which it writes as null, and a value that reflection may
// not take out give nothing to look at.
func textOf(v reflect.Value) string {
	if !v.Type().Implements(textMarshalerType) {
		v = v.Addr()
	}
	if !v.CanInterface() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return ""
	}
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return ""
	}
	return string(text)
}

// implements also sees a method on the pointer where encoding/json would: on what can be addressed.
func implements(v reflect.Value, method reflect.Type) bool {
	return v.Type().Implements(method) || v.CanAddr() && reflect.PointerTo(v.Type()).Implements(method)
}
