package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
)

// parse reads JSON whose numbers stay as written (json.Number). Long strings cost little here,
// which encoding/json can't say, least of all under the race detector: some answers are 4 MiB.
func parse(text []byte) (any, error) {
	p := parser{string(text)}
	v, err := p.value()
	if err == nil && strings.TrimLeft(p.rest, space) != "" {
		err = fmt.Errorf("%.40q after the value", p.rest)
	}
	return v, err
}

const space = " \t\r\n"

// parser reads JSON from the beginning of rest.
type parser struct{ rest string }

func (p *parser) value() (any, error) {
	p.rest = strings.TrimLeft(p.rest, space)
	switch {
	case p.take("{"):
		m := map[string]any{}
		return m, p.list("}", func() error {
			name, err := p.string()
			if err != nil {
				return err
			}
			if p.rest = strings.TrimLeft(p.rest, space); !p.take(":") {
				return p.unexpected()
			}
			m[name], err = p.value()
			return err
		})
	case p.take("["):
		list := []any{}
		err := p.list("]", func() error {
			v, err := p.value()
			list = append(list, v)
			return err
		})
		return list, err
	case strings.HasPrefix(p.rest, `"`):
		return p.string()
	case p.take("null"):
		return nil, nil
	case p.take("true"):
		return true, nil
	case p.take("false"):
		return false, nil
	}
	n := strings.IndexFunc(p.rest, func(r rune) bool { return !strings.ContainsRune("+-.0123456789eE", r) })
	if n < 0 {
		n = len(p.rest)
	}
	number := p.rest[:n]
	if !json.Valid([]byte(number)) {
		return nil, p.unexpected()
	}
	p.rest = p.rest[n:]
	return json.Number(number), nil
}

// list reads what stands between commas, up to end.
func (p *parser) list(end string, one func() error) error {
	if p.rest = strings.TrimLeft(p.rest, space); p.take(end) {
		return nil
	}
	for {
		p.rest = strings.TrimLeft(p.rest, space)
		if err := one(); err != nil {
			return err
		}
		switch p.rest = strings.TrimLeft(p.rest, space); {
		case p.take(end):
			return nil
		case !p.take(","):
			return p.unexpected()
		}
	}
}

func (p *parser) string() (string, error) {
	if !strings.HasPrefix(p.rest, `"`) {
		return "", p.unexpected()
	}
	end := 1
	for {
		n := strings.IndexByte(p.rest[end:], '"')
		if n < 0 {
			return "", p.unexpected()
		}
		end += n + 1
		if body := p.rest[:end-1]; (len(body)-len(strings.TrimRight(body, `\`)))%2 == 0 {
			break // the quote is not escaped
		}
	}
	literal := p.rest[:end]
	p.rest = p.rest[end:]
	if strings.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1], nil
	}
	var s string
	err := json.Unmarshal([]byte(literal), &s)
	return s, err
}

func (p *parser) take(prefix string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, prefix)
	return ok
}

func (p *parser) unexpected() error {
	return fmt.Errorf("%.40q is not the JSON that belongs here", p.rest)
}
