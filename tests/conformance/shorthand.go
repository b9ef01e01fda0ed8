package conformance

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// expand writes out the shorthands of the cases: $rep, $cat and $for.
func expand(v any, env map[string]int) (any, error) {
	switch v := v.(type) {
	case string:
		return fill(v, env), nil
	case []any:
		return expandArray(v, env)
	case map[string]any:
		if _, ok := v["$rep"]; ok {
			s, err := expandString(v["$rep"], env)
			n, errN := number(v["n"])
			if err == nil {
				err = errN
			}
			return strings.Repeat(s, n), err
		}
		if parts, ok := v["$cat"].([]any); ok {
			var b strings.Builder
			for _, part := range parts {
				s, err := expandString(part, env)
				if err != nil {
					return nil, err
				}
				b.WriteString(s)
			}
			return b.String(), nil
		}
		out := make(map[string]any, len(v))
		for name, member := range v {
			x, err := expand(member, env)
			if err != nil {
				return nil, err
			}
			out[fill(name, env)] = x
		}
		return out, nil
	default:
		return v, nil
	}
}

func expandArray(list []any, env map[string]int) (any, error) {
	out := []any{}
	for _, element := range list {
		loop, _ := element.(map[string]any)
		name, ok := loop["$for"].(string)
		if !ok {
			x, err := expand(element, env)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
			continue
		}
		from, err := number(loop["from"])
		if err != nil {
			return nil, err
		}
		to, err := number(loop["to"])
		if err != nil {
			return nil, err
		}
		inner := maps.Clone(env)
		if inner == nil {
			inner = map[string]int{}
		}
		for i := from; i <= to; i++ {
			inner[name] = i
			x, err := expand(loop["do"], inner)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
	}
	return out, nil
}

func expandString(v any, env map[string]int) (string, error) {
	x, err := expand(v, env)
	if err != nil {
		return "", err
	}
	s, ok := x.(string)
	if !ok {
		return "", fmt.Errorf("%s is no string", text(x))
	}
	return s, nil
}

var placeholder = regexp.MustCompile(`\{([a-z])(?::0(\d+))?\}`)

// fill puts loop variables into a string: {i}, or {i:04} with zeros in front.
func fill(s string, env map[string]int) string {
	if len(env) == 0 {
		return s
	}
	return placeholder.ReplaceAllStringFunc(s, func(match string) string {
		part := placeholder.FindStringSubmatch(match)
		n, ok := env[part[1]]
		if !ok {
			return match
		}
		width, _ := strconv.Atoi(part[2]) // empty: no width
		return fmt.Sprintf("%0*d", width, n)
	})
}

func number(v any) (int, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%s is no number", text(v))
	}
	return strconv.Atoi(n.String())
}

// fold puts the length and a digest in the place of what is long: numbers over 64
// characters, strings over 300, arrays over 24 elements.
func fold(v any) any {
	switch v := v.(type) {
	case json.Number:
		if len(v) > 64 {
			return map[string]any{"$num": folded(v.String())}
		}
	case string:
		if utf8.RuneCountInString(v) > 300 {
			return map[string]any{"$str": folded(v)}
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if n := utf8.RuneCountInString(name); n > 300 {
				name = fmt.Sprintf("$key:%d:%s", n, digest(name))
			}
			out[name] = fold(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = fold(x)
		}
		if len(out) > 24 {
			return map[string]any{"$arr": map[string]any{
				"len": count(len(out)), "first": out[0], "last": out[len(out)-1], "sha256": digest(text(out))}}
		}
		return out
	}
	return v
}

func folded(s string) map[string]any {
	return map[string]any{"chars": count(utf8.RuneCountInString(s)), "sha256": digest(s)}
}

func count(n int) json.Number { return json.Number(strconv.Itoa(n)) }

func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:16] }
