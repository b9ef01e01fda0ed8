package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A Case is one case of a file: calls that prepare, one call, and what must come of it.
type Case struct {
	Name    string            `json:"name"`
	Tags    []string          `json:"tags"`
	Setup   []call            `json:"setup"`
	Session map[string]string `json:"session"`
	Follow  bool              `json:"follow"`
	Expect  expectation       `json:"expect"`
	call

	// writeExpiry: the results of writes hold expiresAt, and it is compared.
	writeExpiry bool
}

// call is the arguments of one call of queen.kv_apply_v1.
type call struct {
	Now    *string         `json:"now"`
	InWire *bool           `json:"in_wire"`
	Tenant string          `json:"tenant"` // "A" when empty, "B", or "null"
	Ops    any             `json:"ops"`
	OpsRaw json.RawMessage `json:"ops_raw"` // in place of Ops: the exact text, or null
}

type expectation struct {
	Results any            `json:"results"`
	Error   map[string]any `json:"error"`
	State   map[string]any `json:"state"`
}

// Load reads a file of testdata by its name.
func Load(name string) ([]Case, error) {
	path := filepath.Join("..", "testdata", name)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Format      string `json:"format"`
		WriteExpiry bool   `json:"write_expiry"`
		Cases       []Case `json:"cases"`
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if file.Format != "kv-corpus/1" {
		return nil, fmt.Errorf("%s: format %q is not known", path, file.Format)
	}
	seen := map[string]bool{}
	for i := range file.Cases {
		c := &file.Cases[i]
		c.writeExpiry = file.WriteExpiry
		if c.Name == "" || seen[c.Name] || (c.Expect.Error == nil) == (c.Expect.Results == nil) {
			return nil, fmt.Errorf("%s: case %d (%q) needs a name of its own, and results or an error", path, i, c.Name)
		}
		seen[c.Name] = true
	}
	return file.Cases, nil
}
