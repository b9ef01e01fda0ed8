package fuzz

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A call is a function of the schema queen with its arguments, each a text that the server casts to the parameter's type.
type call struct {
	function string
	form     string // how it is written, when not function(args...); %[1]s is the first argument
	args     []arg
	rows     bool // called in FROM
	noCode   bool // promises to raise nothing
}

type arg struct {
	typ  string
	text *string // nil is NULL
}

func text(typ, value string) arg { return arg{typ, &value} }

func null(typ string) arg { return arg{typ: typ} }

// statement is the call with parameters.
func (c call) statement() string {
	return c.render(func(i int, _ arg) string { return "$" + strconv.Itoa(i+1) + "::text" })
}

// casts is the arguments alone: what it raises is the caller's.
func (c call) casts() string {
	parts := make([]string, len(c.args))
	for i, a := range c.args {
		parts[i] = fmt.Sprintf("$%d::text::%s", i+1, a.typ)
	}
	return "select num_nulls(" + strings.Join(parts, ", ") + ")" // and not as text again, which may be 900 MB
}

// psql is the call as somebody would type it.
func (c call) psql() string {
	return c.render(func(_ int, a arg) string { return literal(a.text) }) + ";"
}

func (c call) render(parameter func(int, arg) string) string {
	parts := make([]string, len(c.args))
	for i, a := range c.args {
		parts[i] = parameter(i, a) + "::" + a.typ
	}
	if c.form != "" {
		items := make([]any, len(parts))
		for i, p := range parts {
			items[i] = p
		}
		return fmt.Sprintf(c.form, items...)
	}
	invocation := "queen." + c.function + "(" + strings.Join(parts, ", ") + ")"
	if c.rows {
		return "select string_agg(r::text, ', ') from " + invocation + " as r"
	}
	return "select " + invocation + "::text"
}

func (c call) params() []any {
	params := make([]any, len(c.args))
	for i, a := range c.args {
		params[i] = a.text
	}
	return params
}

// size is how many bytes the arguments have.
func (c call) size() (n int) {
	for _, a := range c.args {
		if a.text != nil {
			n += len(*a.text)
		}
	}
	return n
}

func literal(s *string) string {
	switch {
	case s == nil:
		return "null"
	case !utf8.ValidString(*s):
		return `convert_from('\x` + hex.EncodeToString([]byte(*s)) + `', 'UTF8')`
	case strings.ContainsRune(*s, '\\'):
		return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(*s) + "'"
	default:
		return "'" + strings.ReplaceAll(*s, "'", "''") + "'"
	}
}

// newCall makes the call of a number, for the tenant of the worker that plays it.
func newCall(s source, tenant string) call {
	switch n := s.IntN(100); {
	case n < 72:
		return applyCall(s, tenant)
	case n < 80:
		return patternCall(s, tenant)
	case n < 90:
		return onceCall(s, tenant)
	case n < 95:
		return readCall(s, tenant)
	default:
		return helperCall(s)
	}
}

func applyCall(s source, tenant string) call {
	return call{function: "kv_apply_v1", args: []arg{text("jsonb", ops(s)), tenantArg(s, tenant), nowArg(s), wireArg(s)}}
}

func tenantArg(s source, tenant string) arg {
	if s.one(300) {
		return null("uuid")
	}
	return text("uuid", tenant)
}

func wireArg(s source) arg {
	return pick(s, null("boolean"), text("boolean", "false"), text("boolean", "false"), text("boolean", "true"))
}

// nowArg moves back and forth over the lifetimes that ops give.
func nowArg(s source) arg {
	switch {
	case s.one(2):
		return null("timestamptz")
	case s.one(40):
		return text("timestamptz", pick(s, "infinity", "-infinity", "0001-01-01 00:00:00Z", "0001-12-31 23:59:59.999999Z BC", "9899-12-31 23:59:59.999999Z",
			"9900-01-01 00:00:00Z", "294276-12-31Z", "4714-11-24Z BC", "epoch", "now"))
	}
	return text("timestamptz", fmt.Sprintf("2031-01-01 00:%02d:%02d.%03dZ", s.IntN(60), s.IntN(60), s.IntN(1000)))
}

// onceWhole begins and ends in one statement.
const onceWhole = `select queen.kv_once_end_v1(%[1]s, %[2]s,
	(select token from queen.kv_once_begin_v1(%[1]s, %[2]s, %[3]s, %[4]s, %[5]s, %[6]s, %[7]s)), %[8]s, %[9]s, %[6]s, %[7]s)::text`

// onceForged begins over a value that anybody has put, a marker or nearly one.
const onceForged = `select queen.kv_once_begin_v1('n', 'forged', 1000, %[4]s, p_tenant => %[2]s, p_now => %[3]s)::text
	from (select queen.kv_apply_v1(%[1]s, %[2]s, %[3]s) offset 0) as put`

func onceCall(s source, tenant string) call {
	if s.one(5) {
		put := `[{"op":"put","ns":"n","key":"forged","forever":true,"value":` + marker(s) + "}]"
		return call{function: "kv_once_begin_v1", form: onceForged, args: []arg{text("jsonb", put), tenantArg(s, tenant), nowArg(s), bytes(s)}}
	}
	key := oneOf(s, keys[:6], oddText)
	ns := oneOf(s, append([]string{contended}, namespaces...), oddText)
	if s.one(5) {
		return call{function: "kv_once_begin_v1", form: onceWhole, args: []arg{ns, key, text("bigint", "1000"), bytes(s), wireArg(s),
			tenantArg(s, tenant), nowArg(s), bytes(s), wireArg(s)}}
	}
	if s.one(2) {
		ttl := text("bigint", strconv.Itoa(1+s.IntN(100000)))
		if s.one(4) {
			ttl = pick(s, null("bigint"), text("bigint", "0"), text("bigint", "-1"), text("bigint", "3155760000000"), text("bigint", "3155760000001"),
				text("bigint", "9223372036854775807"), text("bigint", "9223372036854775808"))
		}
		return call{function: "kv_once_begin_v1", args: []arg{ns, key, ttl, bytes(s), wireArg(s), tenantArg(s, tenant), nowArg(s)}}
	}
	token := pick(s, text("bigint", "0"), null("bigint"), text("bigint", strconv.Itoa(s.IntN(20000))), text("bigint", "-1"))
	return call{function: "kv_once_end_v1", args: []arg{ns, key, token, bytes(s), wireArg(s), tenantArg(s, tenant), nowArg(s)}}
}

// oneOf is mostly one of the good texts, else an odd one or NULL.
func oneOf(s source, good []string, odd func(source) string) arg {
	switch s.IntN(20) {
	case 0:
		return null("text")
	case 1, 2, 3:
		return text("text", odd(s))
	}
	return text("text", pick(s, good...))
}

func bytes(s source) arg {
	n := s.IntN(40)
	switch {
	case s.one(3):
		return null("bytea")
	case s.one(60):
		n = s.near(48000)
	}
	return text("bytea", `\x`+strings.Repeat(fmt.Sprintf("%02x", s.IntN(256)), n))
}

// readCall is a typed read, which checks nothing and raises nothing.
func readCall(s source, tenant string) call {
	ns, tail := oneOf(s, namespaces, oddText), []arg{tenantArg(s, tenant), nowArg(s)}
	if s.one(2) {
		return call{function: "kv_get_v1", rows: true, noCode: true, args: append([]arg{ns, oneOf(s, keys, oddText)}, tail...)}
	}
	items := make([]string, s.IntN(5))
	for i := range items {
		items[i] = pick(s, "NULL", arrayItem(pick(s, keys...)), arrayItem(oddText(s)))
	}
	array := text("text[]", pick(s, "{"+strings.Join(items, ",")+"}", "{{a,b},{c,d}}", "[5:6]={a,b}"))
	if s.one(20) {
		array = null("text[]")
	}
	return call{function: "kv_get_many_v1", rows: true, noCode: true, args: append([]arg{ns, array}, tail...)}
}

func arrayItem(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
