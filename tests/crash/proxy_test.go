package crash

import (
	"fmt"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
)

// A commitToxic is a toxic for toxiproxy, whose own know bytes and times but no COMMIT: it lets everything through until a
// gate's moment comes.
type commitToxic struct {
	Up bool `json:"up"`

	tap *tap
}

func init() { toxics.Register("commit", new(commitToxic)) }

func (x *commitToxic) NewState() any { return x.tap.wire(x.Up) }

// Pipe ends when one side has closed the connection or a verdict cuts it. It then closes its output, so that the proxy closes
// the socket there, and takes what still comes, so that no goroutine of the proxy is left.
func (x *commitToxic) Pipe(stub *toxics.ToxicStub) {
	w := stub.State.(*wire)
	x.run(w, stub)
	w.end()
	stub.Close()
	for range stub.Input {
	}
}

func (x *commitToxic) run(w *wire, stub *toxics.ToxicStub) {
	for {
		var chunk *stream.StreamChunk
		select {
		case chunk = <-stub.Input:
		case <-w.done:
		}
		if chunk == nil {
			return
		}
		decide := w.fromServer
		if x.Up {
			decide = w.fromClient
		}
		v := decide(chunk.Data)
		if v == lose {
			return
		}
		select {
		case stub.Output <- chunk:
		case <-w.done:
			return
		}
		if v == deliverAndCut {
			return
		}
	}
}

// newProxy starts a proxy before the server at an address; it listens at the address returned.
func newProxy(t *testing.T, name, upstream string) (*tap, string) {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)
	tap := &tap{}
	for direction, up := range map[string]bool{"upstream": true, "downstream": false} {
		toxic, err := proxy.Toxics.AddToxicJson(strings.NewReader(
			fmt.Sprintf(`{"type": "commit", "stream": %q, "attributes": {"up": %t}}`, direction, up)))
		if err != nil {
			t.Fatal(err)
		}
		toxic.Toxic.(*commitToxic).tap = tap
	}
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return tap, proxy.Listen
}
