package conformance

import (
	"fmt"
	"strings"
)

// nothing stands for a member that isn't there.
type nothing struct{}

// same tells whether got is what a case wants.
func same(want, got any) bool {
	if want == "$any" {
		return true
	}
	switch w := want.(type) {
	case map[string]any:
		if maybe, ok := w["$maybe"]; ok && len(w) == 1 {
			return got == any(nothing{}) || same(maybe, got)
		}
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for name := range g {
			if _, ok := w[name]; !ok {
				return false
			}
		}
		for name, member := range w {
			x, ok := g[name]
			if !ok {
				x = nothing{}
			}
			if !same(member, x) {
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
			if !same(w[i], g[i]) {
				return false
			}
		}
		return true
	default:
		return want == got // scalars: a json.Number is its text
	}
}

// differences says, a paragraph each, how an answer differs from what the case wants.
func differences(want expectation, got answer) []string {
	var diffs []string
	differ := func(what string, w, g any) {
		if !same(w, g) {
			diffs = append(diffs, fmt.Sprintf("%s\n  want %s\n  got  %s", what, show(w), show(g)))
		}
	}
	switch {
	case want.Error != nil && got.failure == nil:
		differ("results instead of an error", want.Error, got.results)
	case want.Error != nil:
		for name, w := range want.Error {
			differ("error."+name, w, got.failure[name])
		}
	case got.failure != nil:
		differ("an error instead of results", want.Results, got.failure)
	default:
		wants, _ := want.Results.([]any)
		gots, ok := got.results.([]any)
		if !ok || len(wants) != len(gots) {
			differ("results", want.Results, got.results)
			break
		}
		for i := range wants {
			differ(fmt.Sprintf("results[%d]", i), wants[i], gots[i])
		}
	}
	if want.State != nil && got.state != nil {
		differ("the state after the call", want.State, got.state)
	}
	return append(diffs, got.faults...)
}

// show is a value for a reader.
func show(v any) string {
	if v == any(nothing{}) {
		return "nothing"
	}
	s := text(v)
	if len(s) > 2000 {
		s = s[:2000] + strings.Repeat(".", 3)
	}
	return s
}
