package model_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/queenkv/queenkv/tests/model"
)

// A script is a history for psql, on a database where the schema was installed. Each call is
// printed; the versions that it gave are psql's variables, for the later calls that expect them.
type script struct {
	strings.Builder
	calls int
}

func (s *script) limits(l model.Limits) {
	s.WriteString("-- for psql, in a database of its own with the schema installed\n")
	if l != model.Contract {
		s.WriteString(limitsSQL(l) + "\n")
	}
}

func (s *script) call(c model.Call, results []any) {
	s.calls++
	ops := "null"
	if c.Ops != nil {
		ops = "($q$" + render(c.Ops, func(v model.Version) string { return fmt.Sprintf("$q$ || :v%d || $q$", v) }) + "$q$)::jsonb"
	}
	tenant := "null"
	if c.Tenant != "" {
		tenant = "'" + c.Tenant + "'"
	}
	fmt.Fprintf(s, "select r as c%d", s.calls)
	given := written(results)
	for _, i := range slices.Sorted(maps.Keys(given)) {
		fmt.Fprintf(s, ", r -> %d ->> 'version' as v%d", i, given[i])
	}
	fmt.Fprintf(s, " from queen.kv_apply_v1(%s, %s, '%s', %v) as r \\gset\n\\echo :c%d\n", ops, tenant, c.Now, c.InWire, s.calls)
}

// render is the JSON of a tree in which versions stand.
func render(v any, version func(model.Version) string) string {
	var b strings.Builder
	var write func(any)
	write = func(v any) {
		switch v := v.(type) {
		case model.Version:
			b.WriteString(version(v))
		case []any:
			b.WriteByte('[')
			for i := range v {
				if i > 0 {
					b.WriteString(", ")
				}
				write(v[i])
			}
			b.WriteByte(']')
		case map[string]any:
			b.WriteByte('{')
			for i, name := range slices.Sorted(maps.Keys(v)) {
				if i > 0 {
					b.WriteString(", ")
				}
				write(name)
				b.WriteString(": ")
				write(v[name])
			}
			b.WriteByte('}')
		default:
			text, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			b.Write(text)
		}
	}
	write(v)
	return b.String()
}
