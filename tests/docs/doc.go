// Package docs proves that the examples in the documentation are true.
//
// TestExamples runs the examples of README.md and docs/*.md against a database of their own,
// one for each page, top to bottom, in one session. An example is a block fenced as sql, with
// what psql -q prints in a block fenced as text or json right below it:
//
//   - No block below: the statements must succeed; their rows are not compared.
//   - json: the one value that comes back, compared as JSON, however it is laid out.
//   - text: psql's tables, or its ERROR and DETAIL lines with the SQLSTATE (\set VERBOSITY
//     verbose), without CONTEXT and LOCATION. Widths of columns don't matter.
//   - \gset at the end of a statement keeps its columns as psql variables, used as :name.
//   - app_role in a page stands for a role that the test makes.
//
// Versions, transaction ids and times are other ones in each run. A number in the page is bound
// to the one that came back, both ways: where the page shows the same version twice it must
// come back twice, and another one must be another. A time in the year 2030 is one that the
// example passed as p_now, or follows from it, and is compared as it stands.
//
// TestNames and TestCodes compare the names of functions and codes with the schema.
//
// Package page reads the pages. The examples in other languages are run by tests/snippets, which
// also has the real psql run those of docs/other-languages.md in SQL.
//
// TestGoPage compiles the Go blocks of docs/go.md, runs them, and compares what they print.
//
// TestReadmeGo builds the Go example of the README and runs it twice with one key.
package docs
