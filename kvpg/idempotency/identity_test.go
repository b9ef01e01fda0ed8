package idempotency

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStoredKeyTellsPairsApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3000)
	parts := []string{
		"", "a", "b", "ab", ":", "1:a", "a:1", "p:1:a", ":a", "a:", "1", "11", long, long + "a", "a" + long, "\x00", "\xff", "ä", "\"",
		strings.Repeat("x", 2040), strings.Repeat("x", 2041), strings.Repeat("x", 2042), strings.Repeat("x", 2043),
	}
	seen := map[string][2]string{}
	for _, scope := range parts {
		for _, key := range parts {
			got := storedKey(scope, key)
			if other, ok := seen[got]; ok {
				t.Errorf("%.20q and %.20q are both %.40q", other, [2]string{scope, key}, got)
			}
			seen[got] = [2]string{scope, key}
			if got == "" || len(got) > 2048 || !utf8.ValidString(got) || strings.Contains(got, "\x00") {
				t.Errorf("%.20q, %.20q: %d bytes that queen.kv does not take as a key", scope, key, len(got))
			}
		}
	}
	// What the documentation shows.
	if got := storedKey("alice", "8e03978e"); got != "p:5:alice:8e03978e" {
		t.Errorf("got %q", got)
	}
}

func TestFingerprintTellsRequestsApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, method := range []string{"POST", "PATCH", "POS"} {
		for _, target := range []string{"/a", "/a?", "/a?b", "/a?b=1", "/a%2Fb", "/a/b", "/aT", "/"} {
			for _, body := range []string{"", "x", "/a", "{}", " {}"} {
				r := httptest.NewRequest(method, target, nil)
				hash := string(fingerprint(r, []byte(body)))
				name := method + " " + target + " " + body
				if other, ok := seen[hash]; ok {
					t.Errorf("%q and %q have one fingerprint", name, other)
				}
				seen[hash] = name
			}
		}
	}
	// Where one part ends and the next begins.
	if string(hashOf([]byte("ab"), []byte("c"))) == string(hashOf([]byte("a"), []byte("bc"))) {
		t.Error("two lists of parts have one hash")
	}
	// A request that was built and not read has no RequestURI.
	built := httptest.NewRequest(http.MethodPost, "/a?b=1", nil)
	read := string(fingerprint(built, nil))
	built.RequestURI = ""
	if string(fingerprint(built, nil)) != read {
		t.Error("without a RequestURI the fingerprint is another one")
	}
}
