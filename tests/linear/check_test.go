package linear

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkLimit bounds the search for one key, which takes some milliseconds when there is an order to find.
const checkLimit = 2 * time.Minute

// A fault is the history of a key that has no order, and what is wrong with it.
type fault struct {
	key  string
	text string
	info porcupine.LinearizationInfo
}

// check looks for an order of each key's calls, and gives the first key without one, or nil.
func (r *round) check() (*fault, error) {
	if f := r.versionTwice(); f != nil {
		return f, nil
	}
	for _, key := range slices.Sorted(maps.Keys(r.history)) {
		result, info := porcupine.CheckOperationsVerbose(model, r.history[key], checkLimit)
		switch result {
		case porcupine.Ok:
		case porcupine.Illegal:
			return &fault{key: key, text: explain(r.history[key], info), info: info}, nil
		default:
			return nil, fmt.Errorf("%s: no order found, and none excluded, in %v", key, checkLimit)
		}
	}
	return nil, nil
}

// versionTwice looks for a version that two writes of a key were given.
func (r *round) versionTwice() *fault {
	for key, history := range r.history {
		by := map[int64]porcupine.Operation{}
		for _, op := range history {
			c, a := op.Input.(call), op.Output.(answer)
			if !a.applied || c.op != "put" && c.op != "putIfAbsent" && c.op != "incr" {
				continue
			}
			if other, ok := by[a.row.version]; ok {
				_, info := porcupine.CheckOperationsVerbose(model, history, checkLimit)
				return &fault{key: key, text: "one version of two writes:\n" + line(other) + line(op), info: info}
			}
			by[a.row.version] = op
		}
	}
	return nil
}

// explain shows where the longest order found ends: what the key then holds, and the calls of which one would have to come
// next, none of which the contract allows there.
func explain(history []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	holds := row{}
	type who struct {
		client int
		called int64
	}
	placed := map[who]bool{}
	for _, op := range longest {
		_, holds = step(holds, op.Input.(call), op.Output.(answer))
		placed[who{op.ClientId, op.Call}] = true
	}
	var left []porcupine.Operation
	firstReturn := int64(0)
	for _, op := range history {
		if !placed[who{op.ClientId, op.Call}] {
			left = append(left, op)
			if firstReturn == 0 || op.Return < firstReturn {
				firstReturn = op.Return
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls, of which %d have an order, ending with\n", len(history), len(longest))
	for _, op := range longest[max(0, len(longest)-5):] {
		b.WriteString(line(op))
	}
	fmt.Fprintf(&b, "  so that the key holds %v;\nthen one of these would come, and none can:\n", holds)
	for _, op := range left {
		if op.Call <= firstReturn {
			b.WriteString(line(op))
		}
	}
	return b.String()
}

func line(op porcupine.Operation) string {
	return fmt.Sprintf("  %9.3f..%9.3f ms client %2d: %s\n", float64(op.Call)/1e6, float64(op.Return)/1e6, op.ClientId,
		model.DescribeOperation(op.Input, op.Output))
}

// picture writes the history as a page for a browser, and gives its path.
func (f *fault) picture() string {
	file, err := os.CreateTemp("", "queenkv-linear-*.html")
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if err := porcupine.Visualize(model, f.info, file); err != nil {
		return err.Error()
	}
	return file.Name()
}
