package model

// A Fault is a refused call, which changes nothing.
type Fault struct {
	Code  string // the MESSAGE
	Index int    // the op at fault, -1 when it is none
	Field string // what kv_bad_request must name; empty: nothing certain

	// Of kv_precondition_failed: the DETAIL with its value, and how many bytes its text has
	// besides the digits of the version.
	Detail      map[string]any
	DetailBytes int
}

const preconditionFailed = "kv_precondition_failed"

// SQLState is that of the code.
func (f *Fault) SQLState() string {
	switch f.Code {
	case "kv_key_too_large", "kv_value_too_large":
		return "22001"
	case preconditionFailed:
		return "23514"
	}
	return "22023"
}

func bad(code string) *Fault       { return &Fault{Code: code} }
func badField(field string) *Fault { return &Fault{Code: "kv_bad_request", Field: field} }
func badCall(code string) *Fault   { return &Fault{Code: code, Index: -1} }
