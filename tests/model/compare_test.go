package model_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/queenkv/queenkv/tests/model"
)

// tokens pairs the model's versions with the server's, one to one, as they are first seen.
type tokens struct {
	server map[model.Version]string
	model  map[string]model.Version
}

func newTokens() *tokens {
	return &tokens{map[model.Version]string{0: "0"}, map[string]model.Version{"0": 0}}
}

func (k *tokens) same(v model.Version, token string) bool {
	known, ok := k.server[v]
	if ok {
		return known == token
	}
	if _, taken := k.model[token]; taken {
		return false
	}
	if n, err := strconv.ParseInt(token, 10, 64); err != nil || n < 1 {
		return false
	}
	k.server[v], k.model[token] = token, v
	return true
}

// sameJSON compares what the model says with what the server said; numbers are equal digit for digit.
func (k *tokens) sameJSON(want, got any) bool {
	switch w := want.(type) {
	case model.Version:
		n, ok := got.(json.Number)
		return ok && k.same(w, n.String())
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for name := range w {
			x, there := g[name]
			if !there || !k.sameJSON(w[name], x) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !k.sameJSON(w[i], g[i]) {
				return false
			}
		}
		return true
	}
	return want == got
}

// difference says how an answer differs from the model's; empty: it doesn't.
func (k *tokens) difference(l model.Limits, results []any, fault *model.Fault, got answer) string {
	switch {
	case fault == nil && got.failure != nil:
		return fmt.Sprintf("an error, want the results %s", show(results))
	case fault == nil:
		list, ok := got.results.([]any)
		if !ok || len(list) != len(results) {
			return fmt.Sprintf("want the results %s", show(results))
		}
		for i := range results {
			if !k.sameJSON(results[i], list[i]) {
				return fmt.Sprintf("result %d\n  is   %s\n  want %s", i, show(list[i]), show(results[i]))
			}
		}
		return ""
	case got.failure == nil:
		return fmt.Sprintf("results, want %s at op %d", fault.Code, fault.Index)
	case got.failure.Message != fault.Code || got.failure.Code != fault.SQLState():
		return fmt.Sprintf("want %s %s at op %d", fault.SQLState(), fault.Code, fault.Index)
	}
	return k.differentDetail(l, fault, got.failure.Detail)
}

func (k *tokens) differentDetail(l model.Limits, fault *model.Fault, detail string) string {
	v, err := parse([]byte(detail))
	got, ok := v.(map[string]any)
	if err != nil || !ok {
		return "the DETAIL is no JSON object"
	}
	if fault.Detail == nil {
		index, there := got["index"]
		if there != (fault.Index >= 0) || there && index != num(num64(fault.Index)) {
			return fmt.Sprintf("want the index %d", fault.Index)
		}
		problem, ok := got["problem"].(string)
		if !ok || !strings.Contains(problem, fault.Field) || len(got) > 2 {
			return fmt.Sprintf("want a problem that names %q", fault.Field)
		}
		return ""
	}
	version, _ := got["version"].(json.Number)
	if fault.DetailBytes+len(version) > l.DetailBytes {
		delete(fault.Detail, "value")
		fault.Detail["valueTruncated"] = true
	}
	if !k.sameJSON(fault.Detail, got) {
		return "want the DETAIL " + show(fault.Detail)
	}
	return ""
}

// differentState compares all rows of the tenants, live or not.
func (k *tokens) differentState(s *model.Store, tenants []string, rows []stored) string {
	micros := func(t model.Instant) string { return strconv.FormatInt(int64(t), 10) }
	seen := map[string]map[model.ID]bool{}
	for _, got := range rows {
		want, there := s.Rows(got.tenant)[got.id]
		expires := ""
		if want.Expires != nil {
			expires = micros(*want.Expires)
		}
		if !there || !k.sameJSON(want.Value, got.value) || !k.same(want.Version, got.version) ||
			got.expires != expires || got.created != micros(want.Created) || got.updated != micros(want.Updated) {
			return fmt.Sprintf("the row %+v\n  want %+v, expires %s", got, want, expires)
		}
		if seen[got.tenant] == nil {
			seen[got.tenant] = map[model.ID]bool{}
		}
		seen[got.tenant][got.id] = true
	}
	for _, tenant := range tenants {
		for id, row := range s.Rows(tenant) {
			if !seen[tenant][id] {
				return fmt.Sprintf("no row %s %+v, want %+v", tenant, id, row)
			}
		}
	}
	return ""
}

func show(v any) string {
	s, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(s) > 4000 {
		return string(s[:4000]) + "..."
	}
	return string(s)
}
