package linear

import "testing"

// TestStep is the model itself, at the places that a history meets too seldom to prove it: the boundary of an expiry.
func TestStep(t *testing.T) {
	t.Parallel()
	held := row{value: "5", version: 7, expires: 100}
	get := call{op: "get", expect: noExpect}
	found, gone := answer{applied: true, row: held}, answer{}
	put := call{op: "put", value: "6", ttl: 10, expect: 7}
	written := func(expires int64) answer {
		return answer{applied: true, row: row{value: "6", version: 8, expires: expires}}
	}
	remove := call{op: "delete", expect: noExpect}
	for name, c := range map[string]struct {
		holds    row
		call     call
		answer   answer
		from, to int64
		ok       bool
		then     row
	}{
		"alive until the expiry":                {held, get, found, 90, 99, true, held},
		"not dead before the expiry":            {held, get, gone, 90, 99, false, held},
		"dead at the expiry":                    {held, get, gone, 100, 100, true, held},
		"not alive at the expiry":               {held, get, found, 100, 100, false, held},
		"alive when the call began before it":   {held, get, found, 99, 200, true, held},
		"dead when the call ended at it":        {held, get, gone, 0, 100, true, held},
		"alive after others saw it dead":        {held, get, found, 50, 101, true, held},
		"forever is not dead":                   {row{value: "5", version: 7}, get, gone, 0, 1 << 60, false, row{value: "5", version: 7}},
		"a write counts from its instant":       {held, put, written(60), 50, 55, true, written(60).row},
		"not from before the call":              {held, put, written(59), 50, 55, false, held},
		"not from after the call":               {held, put, written(66), 50, 55, false, held},
		"an expired version is nothing's":       {held, put, written(120), 110, 115, false, held},
		"a version is new":                      {held, put, answer{applied: true, row: row{value: "6", version: 7, expires: 60}}, 50, 55, false, held},
		"what lost on it shows it":              {held, call{op: "putIfAbsent", value: "6", expect: noExpect}, answer{reason: "exists", row: held}, 50, 55, true, held},
		"and nothing else":                      {held, call{op: "putIfAbsent", value: "6", expect: noExpect}, answer{reason: "exists"}, 50, 55, false, held},
		"an expired row goes when it's deleted": {held, remove, answer{reason: "absent"}, 100, 101, true, row{}},
	} {
		c.answer.from, c.answer.to = c.from, c.to
		if ok, then := step(c.holds, c.call, c.answer); ok != c.ok || then != c.then {
			t.Errorf("%s: %v, and then it holds %v; want %v and %v", name, ok, then, c.ok, c.then)
		}
	}
}
