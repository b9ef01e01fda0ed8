package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A Binder knows which number of the page stands for which one that came back.
type Binder struct {
	actual, page map[string]string
}

// NewBinder gives one that knows nothing yet.
func NewBinder() *Binder { return &Binder{actual: map[string]string{}, page: map[string]string{}} }

// varying finds what is another one in each run: a version, a transaction id, a time.
var varying = regexp.MustCompile(`"(?:version)": ?[1-9]\d*` +
	`|"xid": ?"\d+"` +
	`|\b(?:version|token|kv_once_end_v1)=[1-9]\d*` +
	`|\b20[012]\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d)`)

// Same tells whether two texts agree, and binds what varies in them.
func (b *Binder) Same(page, actual string) error {
	pageParts, actualParts := varying.Split(page, -1), varying.Split(actual, -1)
	pageNumbers, actualNumbers := varying.FindAllString(page, -1), varying.FindAllString(actual, -1)
	if len(pageParts) != len(actualParts) {
		return fmt.Errorf("the page says\n%s\nand this came back\n%s", page, actual)
	}
	for i := range pageParts {
		if pageParts[i] != actualParts[i] {
			return fmt.Errorf("the page says\n%s\nand this came back\n%s", page, actual)
		}
	}
	for i := range pageNumbers {
		if err := b.bind(digits(pageNumbers[i]), digits(actualNumbers[i])); err != nil {
			return err
		}
	}
	return nil
}

var label = regexp.MustCompile(`^[a-z_0-9]+=|^"[a-z]+": ?`)

// digits takes the name away, so that a version in JSON and in a table are one.
func digits(s string) string { return label.ReplaceAllString(s, "") }

func (b *Binder) bind(page, actual string) error {
	knownActual, bound := b.actual[page]
	knownPage, taken := b.page[actual]
	switch {
	case bound && knownActual != actual:
		return fmt.Errorf("the page shows %s where %s came back, and showed it for %s before", page, actual, knownActual)
	case taken && knownPage != page:
		return fmt.Errorf("%s came back where the page shows %s, and showed %s before", actual, page, knownPage)
	}
	b.actual[page], b.page[actual] = actual, page
	return nil
}

// FlatJSON gives JSON without layout and with sorted names; numbers stay as written.
func FlatJSON(text string) (string, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("not JSON: %w", err)
	}
	if d.More() {
		return "", fmt.Errorf("more than one JSON value")
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return out.String(), err
}

var rule = regexp.MustCompile(`^-[-+]*$`)

// FlatText gives psql's output without its layout: each cell as name=cell, ERROR and DETAIL
// lines as they are.
func FlatText(text string) string {
	var out []string
	var columns []string
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " ")
		switch {
		case i+1 < len(lines) && rule.MatchString(strings.TrimSpace(lines[i+1])):
			columns = cells(line)
			out = append(out, strings.Join(columns, " | "))
		case rule.MatchString(line), line == "":
		case columns != nil && strings.HasPrefix(line, " "):
			row := cells(line)
			for j := range row {
				if j < len(columns) {
					row[j] = columns[j] + "=" + row[j]
				}
			}
			out = append(out, strings.Join(row, " | "))
		default: // (2 rows), ERROR, DETAIL
			columns = nil
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func cells(line string) []string {
	out := strings.Split(line, "|")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}
