package kvpg

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

const maxDepth = 1000 // the contract's bound; PostgreSQL's parser gives up a little later, with an error of its own

// What PostgreSQL's numeric holds: digits before and after the decimal point.
const (
	maxIntegerDigits  = 131072
	maxFractionDigits = 16383
	maxExponent       = math.MaxInt32 / 2 // the first one that its reader refuses
)

// findFault looks through valid JSON text for what jsonb can't hold, and gives its offset and what it is; the problem is empty
// when there is none.
func findFault(raw []byte) (offset int, problem string) {
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end, at, problem := scanString(raw, i)
			if problem != "" {
				return at, problem
			}
			i = end
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return i, "nested more than " + strconv.Itoa(maxDepth) + " deep"
			}
			i++
		case c == ']' || c == '}':
			depth--
			i++
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(raw) && isNumberByte(raw[end]) {
				end++
			}
			if !fitsNumeric(raw[i:end]) {
				return i, "a number beyond PostgreSQL's numeric"
			}
			i = end
		default: // space, comma, colon, a letter of true, false or null
			i++
		}
	}
	return 0, ""
}

// scanString reads the string that starts at raw[start]. It gives the offset behind its closing quote, or of the fault.
func scanString(raw []byte, start int) (end, at int, problem string) {
	for i := start + 1; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			return i + 1, 0, ""
		case c == '\\' && raw[i+1] == 'u':
			size, problem := scanEscape(raw[i:])
			if problem != "" {
				return 0, i, problem
			}
			i += size
		case c == '\\':
			i += 2
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, i, "a string that is not valid UTF-8"
			}
			i += size
		}
	}
	return len(raw), 0, ""
}

// scanEscape reads the \uXXXX that raw starts with, with its second half when it is a surrogate pair.
func scanEscape(raw []byte) (size int, problem string) {
	switch unit := escapedUnit(raw); {
	case unit == 0:
		return 0, "a string with U+0000"
	case unit >= 0xDC00 && unit <= 0xDFFF:
		return 0, "a string with a lone surrogate"
	case unit >= 0xD800 && unit <= 0xDBFF:
		if low := escapedUnit(raw[6:]); low < 0xDC00 || low > 0xDFFF {
			return 0, "a string with a lone surrogate"
		}
		return 12, ""
	}
	return 6, ""
}

// escapedUnit is the UTF-16 unit that raw starts with as \uXXXX, or -1.
func escapedUnit(raw []byte) int {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// fitsNumeric counts the digits that a JSON number has on both sides of its decimal point once its exponent is spent.
func fitsNumeric(number []byte) bool {
	mantissa, exponent := number, 0
	if e := bytes.IndexAny(number, "eE"); e >= 0 {
		mantissa = number[:e]
		var err error
		if exponent, err = strconv.Atoi(string(number[e+1:])); err != nil {
			return false
		}
	}
	if exponent >= maxExponent || exponent <= -maxExponent { // even of a zero
		return false
	}
	whole, fraction, _ := bytes.Cut(bytes.TrimPrefix(mantissa, []byte("-")), []byte("."))
	if len(fraction)-exponent > maxFractionDigits {
		return false
	}
	digits := len(whole)
	if whole[0] == '0' { // the first digit that counts stands behind the point
		significant := bytes.TrimLeft(fraction, "0")
		if len(significant) == 0 {
			return true
		}
		digits = len(significant) - len(fraction)
	}
	return digits+exponent <= maxIntegerDigits
}
