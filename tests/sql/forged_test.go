package sql

import (
	"testing"

	"github.com/queenkv/queenkv/tests/testdb"
)

// A value that only looks like a finished marker of Once is foreign, and never a raw error; one that is put as Once would write
// it is as good as one.
func TestForgedMarkers(t *testing.T) {
	t.Parallel()
	conn := testdb.New(t, nil).Conn(t)
	for value, want := range map[string]string{
		`{"once": "done", "result": "YQ==", "isError": false, "fingerprint": null}`: "replay",
		`{"once": "done", "result": "YWI=", "isError": true}`:                       "replay",
		`{"once": "done", "result": "", "isError": false}`:                          "replay",
		`{"once": "done", "result": null, "isError": false}`:                        "replay",
		`{"once": "done", "result": "YQ==", "isError": false, "fingerprint": "x"}`:  "mismatch",
		`{"once": "done", "result": "YQ", "isError": false}`:                        "foreign",
		`{"once": "done", "result": "Y===", "isError": false}`:                      "foreign",
		`{"once": "done", "result": "Y=Q=", "isError": false}`:                      "foreign",
		`{"once": "done", "result": "====", "isError": false}`:                      "foreign",
		`{"once": "done", "result": "YQ!=", "isError": false}`:                      "foreign",
		`{"once": "done", "result": "é\u00e9", "isError": false}`:                   "foreign",
		`{"once": "done", "result": [1], "isError": false}`:                         "foreign",
		`{"once": "done", "result": 1000, "isError": false}`:                        "foreign",
		`{"once": "done", "isError": false}`:                                        "foreign",
		`{"once": "done", "result": "YQ=="}`:                                        "foreign",
		`{"once": "done", "result": "YQ==", "isError": null}`:                       "foreign",
		`{"once": "done", "result": "YQ==", "isError": "false"}`:                    "foreign",
		`{"once": "done", "result": "!", "isError": 1, "fingerprint": "x"}`:         "foreign",
		`{"once": "pending"}`:                         "unfinished",
		`{"once": "pending", "xid": 1, "ttlMs": "x"}`: "unfinished",
		`{"once": 1}`:                                 "foreign",
		`"done"`:                                      "foreign",
	} {
		must(t, call(t.Context(), conn, `[{"op": "put", "ns": "n", "key": "k", "forever": true, "value": `+value+`}]`))
		var got string
		scan(t, conn, "select state from queen.kv_once_begin_v1('n', 'k', 1000)", nil, &got)
		if got != want {
			t.Errorf("%s is %s, want %s", value, got, want)
		}
	}
}
