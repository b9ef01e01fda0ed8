package idempotency

import (
	"errors"
	"strings"
)

// keyHeader is the request's header, and replayedHeader the one that replays carry.
const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
)

var errNoKey = errors.New("no key")

// parseKey reads the key out of the header's lines: one Item of RFC 9651 that is a String, and not empty. Two lines are a
// list, which is no Item. Parameters are refused: the draft gives them no meaning, and ignoring them would make one key of two
// that the client holds apart.
//
// With bare, a value without quotes is a key as well, and the same one as in quotes.
func parseKey(lines []string, bare bool) (string, error) {
	if len(lines) == 0 {
		return "", errNoKey
	}
	if len(lines) > 1 {
		return "", errors.New("there is more than one header line")
	}
	value := strings.Trim(lines[0], " ")
	if bare && isBare(value) {
		return value, nil
	}
	rest, ok := strings.CutPrefix(value, `"`)
	if !ok {
		return "", errors.New(`it does not begin with a double quote`)
	}
	key, rest, err := parseString(rest)
	switch {
	case err != nil:
		return "", err
	case rest != "":
		return "", errors.New("something follows the closing quote")
	case key == "":
		return "", errors.New("it is an empty string")
	}
	return key, nil
}

// parseString reads a String of RFC 9651 behind its opening quote, and gives what follows the closing one.
func parseString(s string) (text, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c == '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", "", errors.New(`a backslash stands before something else than \ and "`)
			}
			b.WriteByte(s[i])
		case c < ' ' || c > '~':
			return "", "", errors.New("it holds something else than printable ASCII")
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errors.New("the closing quote is missing")
}

// isBare tells whether a value is one that clients send without quotes: letters, digits and what UUIDs, base64, URNs and
// other identifiers are made of. Nothing of it could begin, end or divide a structured field.
func isBare(s string) bool {
	for i := range len(s) {
		c := s[i]
		isLetterOrDigit := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !isLetterOrDigit && strings.IndexByte("!#$%&'*+-.^_`|~:/=@", c) < 0 {
			return false
		}
	}
	return s != ""
}
