package idempotency

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, p := range []*response{
		{status: 200, header: http.Header{}, body: []byte{}},
		{status: 499, header: http.Header{"Content-Type": {"a"}, "Link": {"</1>", "", "\xff\x00\n"}}, body: every},
		{status: 204, header: http.Header{"Etag": {strings.Repeat("x", 300)}}, body: bytes.Repeat([]byte("y"), 40000)},
	} {
		back, err := decode(p.encode())
		if err != nil || !reflect.DeepEqual(p, back) {
			t.Errorf("%+v comes back as %+v, %v", p, back, err)
		}
		p.dropped = true
		back, err = decode(p.encode())
		if err != nil || !back.dropped || len(back.body) != 0 || back.status != p.status || !reflect.DeepEqual(back.header, p.header) {
			t.Errorf("%+v, dropped, comes back as %+v, %v", p, back, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add((&response{status: 200, header: http.Header{"A": {"1", "2"}}, body: []byte("body")}).encode())
	f.Add((&response{status: 413, header: http.Header{}, dropped: true}).encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b)
		if err != nil {
			return
		}
		back, err := decode(p.encode())
		if err != nil || back.status != p.status || back.dropped != p.dropped || !p.dropped && !bytes.Equal(back.body, p.body) {
			t.Errorf("%+v comes back as %+v, %v", p, back, err)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good := (&response{status: 200, header: http.Header{"A": {"1"}}}).encode()
	for n := range len(good) {
		if p, err := decode(good[:n]); err == nil {
			t.Errorf("the first %d bytes are read as %+v", n, p)
		}
	}
	for name, b := range map[string][]byte{
		"another version":    append([]byte{2}, good[1:]...),
		"an unknown flag":    append([]byte{1, 2}, good[2:]...),
		"a status below 200": {1, 0, 100, 0},
		"a result of others": []byte("booked"),
	} {
		if p, err := decode(b); err == nil {
			t.Errorf("%s: read as %+v", name, p)
		}
	}
}

func TestReplayKeepsWhatIsAround(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	w.Header().Set("X-Request-Id", "2")
	w.Header().Set("Vary", "this time")
	p := &response{status: 201, header: http.Header{"Vary": {"the first time"}}, body: []byte("<html>")}
	if err := p.replay(w); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"X-Request-Id": {"2"}, "Vary": {"the first time"}, "Idempotent-Replayed": {"true"}, "Content-Length": {"6"}, "Content-Type": nil,
	}
	if !reflect.DeepEqual(w.Header(), want) || w.Code != 201 || w.Body.String() != "<html>" {
		t.Errorf("got %d %v %q", w.Code, w.Header(), w.Body)
	}
}
