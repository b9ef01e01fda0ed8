package docs

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// A session does what psql -q does with an example, as far as the pages need it.
type session struct {
	conn *pgx.Conn
	vars map[string]string // set by \gset
}

// An answer is what one statement that returns rows gave.
type answer struct {
	columns []string
	numbers []bool // per column: a type that psql aligns on the right
	rows    [][]string
}

var variable = regexp.MustCompile(`([^:]):([a-z_]+)\b`)

// run executes statements one by one and gives their answers, up to the first error, as psql
// does with ON_ERROR_STOP. The error is PostgreSQL's.
func (s *session) run(ctx context.Context, sql string) ([]answer, *pgconn.PgError, error) {
	var answers []answer
	for _, statement := range statements(sql) {
		text, keep := strings.CutSuffix(statement, `\gset`)
		text = variable.ReplaceAllStringFunc(text, func(m string) string {
			if value, ok := s.vars[m[2:]]; ok {
				return m[:1] + value
			}
			return m
		})
		got, err := s.exec(ctx, text)
		var pg *pgconn.PgError
		switch {
		case errors.As(err, &pg):
			return answers, pg, nil
		case err != nil:
			return nil, nil, err
		case keep:
			if err := s.keep(got); err != nil {
				return nil, nil, err
			}
		default:
			answers = append(answers, got...)
		}
	}
	return answers, nil, nil
}

// boundary is what can end a statement, or hide what would.
var boundary = regexp.MustCompile(`'[^']*'|--[^\n]*|\$\$(?s:.*?)\$\$|;|\\gset`)

// statements splits SQL where psql does: each statement is sent by itself, since several in one
// string would be one transaction.
func statements(sql string) []string {
	var out []string
	start := 0
	for _, at := range boundary.FindAllStringIndex(sql, -1) {
		switch sql[at[0]:at[1]] {
		case ";", `\gset`:
			out = append(out, sql[start:at[1]])
			start = at[1]
		}
	}
	if strings.TrimSpace(sql[start:]) != "" {
		out = append(out, sql[start:])
	}
	return out
}

// exec sends a statement by the simple protocol, as psql does.
func (s *session) exec(ctx context.Context, sql string) ([]answer, error) {
	var answers []answer
	results := s.conn.PgConn().Exec(ctx, sql)
	for results.NextResult() {
		rows := results.ResultReader()
		var a answer
		for _, f := range rows.FieldDescriptions() {
			a.columns = append(a.columns, f.Name)
			a.numbers = append(a.numbers, slices.Contains(numberTypes, f.DataTypeOID))
		}
		for rows.NextRow() {
			var cells []string
			for _, cell := range rows.Values() {
				cells = append(cells, string(cell))
			}
			a.rows = append(a.rows, cells)
		}
		if _, err := rows.Close(); err != nil {
			return answers, errors.Join(err, results.Close())
		}
		if a.columns != nil {
			answers = append(answers, a)
		}
	}
	return answers, results.Close()
}

// keep is \gset.
func (s *session) keep(answers []answer) error {
	if len(answers) != 1 || len(answers[0].rows) != 1 {
		return errors.New(`\gset needs a statement that gives one row`)
	}
	for i, name := range answers[0].columns {
		s.vars[name] = answers[0].rows[0][i]
	}
	return nil
}

// show prints answers and an error the way the pages hold them. The DETAIL of an error that is
// not one of the store's codes is left out: PostgreSQL's own show whole rows.
func show(kind string, answers []answer, raised *pgconn.PgError) string {
	var b strings.Builder
	for _, a := range answers {
		if kind == "json" && len(a.rows) == 1 {
			b.WriteString(a.rows[0][0] + "\n")
			continue
		}
		b.WriteString(a.table())
	}
	if raised != nil {
		fmt.Fprintf(&b, "ERROR:  %s: %s\n", raised.Code, raised.Message)
		if strings.HasPrefix(raised.Message, "kv_") {
			fmt.Fprintf(&b, "DETAIL:  %s\n", raised.Detail)
		}
	}
	return b.String()
}

var numberTypes = []uint32{pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID}

// table lays rows out as psql does, without blanks at the end of a line.
func (a answer) table() string {
	widths := make([]int, len(a.columns))
	for i, name := range a.columns {
		widths[i] = utf8.RuneCountInString(name)
		for _, row := range a.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	line := func(cells []string, left func(i, free int) int) {
		for i, cell := range cells {
			free := widths[i] - utf8.RuneCountInString(cell)
			before := left(i, free)
			cells[i] = " " + strings.Repeat(" ", before) + cell + strings.Repeat(" ", free-before) + " "
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, "|"), " ") + "\n")
	}
	line(slices.Clone(a.columns), func(_, free int) int { return free / 2 })
	rules := make([]string, len(widths))
	for i, w := range widths {
		rules[i] = strings.Repeat("-", w+2)
	}
	b.WriteString(strings.Join(rules, "+") + "\n")
	for _, row := range a.rows {
		line(slices.Clone(row), func(i, free int) int {
			if a.numbers[i] {
				return free
			}
			return 0
		})
	}
	if len(a.rows) == 1 {
		b.WriteString("(1 row)\n")
	} else {
		fmt.Fprintf(&b, "(%d rows)\n", len(a.rows))
	}
	return b.String()
}
