package idempotency

import (
	"encoding/binary"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// A response is what is sent after COMMIT, and what of it is stored.
type response struct {
	status  int
	header  http.Header
	body    []byte
	dropped bool // the body was too large, and is not stored
}

// send writes the response over whatever w holds.
func (p *response) send(w http.ResponseWriter) error {
	h := w.Header()
	clear(h)
	maps.Copy(h, p.header)
	return p.finishTo(w)
}

// replay sends a stored response. What is set around the middleware (a request id, say) stays, but where the stored one has
// a header of that name.
func (p *response) replay(w http.ResponseWriter) error {
	h := w.Header()
	if bodyAllowed(p.status) {
		h["Content-Type"] = nil // without a stored one net/http must not guess: the first response had none either
		h.Set("Content-Length", strconv.Itoa(len(p.body)))
	}
	maps.Copy(h, p.header)
	h.Set(replayedHeader, "true")
	return p.finishTo(w)
}

func (p *response) finishTo(w http.ResponseWriter) error {
	w.WriteHeader(p.status)
	if len(p.body) == 0 {
		return nil
	}
	_, err := w.Write(p.body)
	return err
}

// keep gives the response with only those headers that are stored.
func (p *response) keep(names map[string]bool) *response {
	kept := &response{status: p.status, header: http.Header{}, body: p.body, dropped: p.dropped}
	for name, values := range p.header {
		if names[name] && len(values) > 0 {
			kept.header[name] = values
		}
	}
	return kept
}

// The stored form: a version, flags, the status, the headers in the order of their names (how many; each name, how many
// values, each value), and the body, which is the rest. Numbers are varints, and a text stands behind its length, so that every
// byte comes back as it was.
const (
	storedVersion = 1
	flagDropped   = 1
)

func (p *response) encode() []byte {
	flags := byte(0)
	if p.dropped {
		flags |= flagDropped
	}
	b := []byte{storedVersion, flags}
	b = binary.AppendUvarint(b, uint64(p.status))
	b = binary.AppendUvarint(b, uint64(len(p.header)))
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		b = appendText(b, name)
		b = binary.AppendUvarint(b, uint64(len(p.header[name])))
		for _, value := range p.header[name] {
			b = appendText(b, value)
		}
	}
	if p.dropped {
		return b
	}
	return append(b, p.body...)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errNotOurs = errors.New("what is stored under the key is no response that this release can read")

func decode(b []byte) (*response, error) {
	if len(b) < 2 || b[0] != storedVersion || b[1] > flagDropped {
		return nil, errNotOurs
	}
	d := decoder{rest: b[2:]}
	p := &response{dropped: b[1] == flagDropped, status: int(d.number(999)), header: http.Header{}}
	// Every header and value takes a byte at least, which bounds what a damaged number can cost.
	for range d.number(uint64(len(d.rest))) {
		name := d.text()
		for range d.number(uint64(len(d.rest))) {
			p.header[name] = append(p.header[name], d.text())
		}
	}
	if d.failed || p.status < 200 {
		return nil, errNotOurs
	}
	p.body = d.rest
	return p, nil
}

type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) number(most uint64) uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > most {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) text() string {
	n := d.number(uint64(len(d.rest)))
	if n > uint64(len(d.rest)) { // its own bytes are gone from the rest
		d.failed, d.rest = true, nil
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}
