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
	limits model.Limits
	calls  []played
}

// played is a call and the model's results, or a sweep at the call's instant.
type played struct {
	model.Call
	results []any
	sweep   bool
}

func (s script) String() string {
	var b strings.Builder
	b.WriteString("-- for psql, in a database of its own with the schema installed\n")
	if s.limits != model.Contract {
		b.WriteString(limitsSQL(s.limits) + "\n")
	}
	for i, p := range s.calls {
		p.write(&b, i+1)
	}
	return b.String()
}

func (p played) write(b *strings.Builder, n int) {
	if p.sweep {
		fmt.Fprintf(b, "select queen.kv_expire_step_v1(array(select generate_series(0, 63)::smallint), '%s', 1000000);\n", p.Now)
		return
	}
	ops := "null"
	if p.Ops != nil {
		ops = "($q$" + render(p.Ops, func(v model.Version) string { return fmt.Sprintf("$q$ || :v%d || $q$", v) }) + "$q$)::jsonb"
	}
	tenant := "null"
	if p.Tenant != "" {
		tenant = "'" + p.Tenant + "'"
	}
	fmt.Fprintf(b, "select r as c%d", n)
	given := written(p.results)
	for _, i := range slices.Sorted(maps.Keys(given)) {
		fmt.Fprintf(b, ", r -> %d ->> 'version' as v%d", i, given[i])
	}
	fmt.Fprintf(b, "\nfrom queen.kv_apply_v1(%s,\n  %s, '%s', %v) as r \\gset\n\\echo :c%d\n", ops, tenant, p.Now, p.InWire, n)
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
