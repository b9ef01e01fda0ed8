package kvpg

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// holdable says, the plain way and with no thought for speed, whether jsonb can hold valid JSON text, nested 1,000 deep at most.
func holdable(raw []byte) bool {
	if !utf8.Valid(raw) || deepest(raw) > 1000 {
		return false
	}
	for _, literal := range stringLiteral.FindAll(raw, -1) {
		if !holdableString(literal) {
			return false
		}
	}
	for _, number := range numberLiteral.FindAll(stringLiteral.ReplaceAll(raw, []byte(`""`)), -1) {
		if !holdableNumber(string(number)) {
			return false
		}
	}
	return true
}

var (
	stringLiteral = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	numberLiteral = regexp.MustCompile(`-?[0-9][0-9.eE+-]*`)
)

func deepest(raw []byte) (most int) {
	depth := 0
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		d.UseNumber()
		token, err := d.Token()
		if err != nil {
			return most
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		most = max(most, depth)
	}
}

// holdableString makes UTF-16 of a literal, in which a lone surrogate is plain to see.
func holdableString(literal []byte) bool {
	var units []uint16
	for s := string(literal[1 : len(literal)-1]); s != ""; {
		switch {
		case strings.HasPrefix(s, `\u`):
			n, err := strconv.ParseUint(s[2:6], 16, 16)
			if err != nil {
				return false
			}
			units, s = append(units, uint16(n)), s[6:]
		case s[0] == '\\':
			units, s = append(units, '.'), s[2:]
		default:
			r, size := utf8.DecodeRuneInString(s)
			units, s = utf16.AppendRune(units, r), s[size:]
		}
	}
	for i := 0; i < len(units); i++ {
		switch u := rune(units[i]); {
		case u == 0:
			return false
		case !utf16.IsSurrogate(u):
		case i+1 < len(units) && utf16.DecodeRune(u, rune(units[i+1])) != utf8.RuneError:
			i++
		default:
			return false
		}
	}
	return true
}

// holdableNumber writes a number out, digit by digit: numeric holds 131,072 of them before the point and 16,383 behind it. Its
// reader refuses exponents from 2^30 - 1 on.
func holdableNumber(number string) bool {
	mantissa, exponentText, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(number, "-")), "e")
	exponent := 0
	if exponentText != "" {
		var err error
		if exponent, err = strconv.Atoi(exponentText); err != nil || exponent >= 1<<30-1 || exponent <= -(1<<30-1) {
			return false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	zero := strings.Trim(whole+fraction, "0") == ""
	switch {
	case exponent > 400_000+len(fraction):
		return zero
	case exponent < -400_000:
		return false // that many decimals, even of a zero
	case exponent > 0:
		fraction += strings.Repeat("0", max(0, exponent-len(fraction)))
		whole, fraction = whole+fraction[:exponent], fraction[exponent:]
	case exponent < 0:
		whole = strings.Repeat("0", -exponent) + whole
		whole, fraction = whole[:len(whole)+exponent], whole[len(whole)+exponent:]+fraction
	}
	return len(strings.TrimLeft(whole, "0")) <= 131072 && len(fraction) <= 16383
}

// parseArray reads the text of a text[] by the rules of PostgreSQL's manual ("Array Input and Output Syntax"), or says no.
func parseArray(text string) (items []string, ok bool) {
	if text == "{}" {
		return nil, true
	}
	inner, braced := strings.CutPrefix(text, "{")
	if !braced {
		return nil, false
	}
	for {
		if !strings.HasPrefix(inner, `"`) { // an item without quotes could be NULL, or lose its blanks
			return nil, false
		}
		var item strings.Builder
		i := 1
		for ; i < len(inner) && inner[i] != '"'; i++ {
			if inner[i] == '\\' {
				i++
			}
			if i == len(inner) {
				return nil, false
			}
			item.WriteByte(inner[i])
		}
		if i+1 >= len(inner) {
			return nil, false
		}
		items = append(items, item.String())
		switch inner = inner[i+1:]; {
		case inner == "}":
			return items, true
		case inner[0] != ',':
			return nil, false
		}
		inner = inner[1:]
	}
}
