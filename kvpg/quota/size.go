package quota

// storedBytes is at least what kv_usage_step_v1 will count for a value with this JSON text: the jsonb that PostgreSQL makes of it, before
// compression. Each value in it, alone or in an array or object, costs a header of 4 bytes, a number some more, alignment up to
// 3; the rest is no longer than the text. It is not far above for text, and up to eight times too much for an array of digits.
func storedBytes(text []byte) int64 {
	const perValue, header = 16, 8
	values := 1
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':' || c == '[' || c == '{'):
			values++
		}
	}
	return int64(header + len(text) + perValue*values)
}

// numberBytes is storedBytes of any number that Incr makes: up to 10^36 with 18 decimals.
const numberBytes = 8 + 16 + 60
