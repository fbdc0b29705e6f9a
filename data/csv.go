package data

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"ocl/internal/cause"
	"ocl/internal/count"
	"ocl/internal/limit"
)

// csvName is the data set that is a list alone, and no folder.
const csvName = "csv"

var csvInfo = Info{
	Name: csvName, Title: "your own image files, listed in a CSV file",
	Summary: "Your own image files in any folders, with labels, halves and tasks of your choice from a CSV file.",
	Shape:   "3×64×64 (any side from 8 to 512 with data.size)", Colour: true, Size: ownSize, NeedsDir: true,
	Endings: []string{".csv"},
	Layout: "--data-dir is the .csv file, whose first line names its columns, in any order:\n" +
		"path (or filename, file_name, image): an image file (JPEG, PNG, GIF, WebP, BMP, TIFF), relative to the folder of the .csv file\n" +
		"label (or class, category): the class, a name or a whole number; data.reading=list:COLUMN takes another column\n" +
		"task (may be absent): a name, or a number from 0 or 1 on; test rows without one are for all tasks\n" +
		"split (may be absent): train, test or val; otherwise a fifth of each class is for testing\n" +
		"Of each image the shorter side is scaled to data.size, and the middle is cut out.",
	Source: "your own", Licence: "yours", Citation: "none",
	Example: "ocl run --data csv --data-dir photos.csv",
	MinSize: ownMinSize, MaxSize: ownMaxSize,
	Readings: []string{ReadList, ReadList + ":COLUMN"},
	list:     listOwn,
}

var errRow = fmt.Errorf("a row has more than %s bytes", count.Number(limit.ImageListRow))

// fewRows refuses a list of more than so many rows. It only counts them, as the rows up to the limit take half a minute
// to check.
func fewRows(ctx context.Context, r io.Reader, most int) error {
	part := make([]byte, 1<<16)
	rows, quoted, empty := -1, false, true // without the names of the columns
	for ctx.Err() == nil {
		n, err := r.Read(part)
		for _, b := range part[:n] {
			switch {
			case b == '"':
				quoted, empty = !quoted, false
			case b == '\n' && !quoted:
				if !empty {
					rows++
				}
				empty = true
			case b != '\r':
				empty = false
			}
		}
		if rows > most {
			return tooManyRows(most)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w. Check the file", cause.Of(err))
		}
	}
	return ctx.Err()
}

func tooManyRows(most int) error {
	return fmt.Errorf("there are more than %s, which is the limit. Use a part of them", count.Of(most, "row"))
}

// readCSV reads a list of at most so many rows, whose columns have usual names, and checks each row by itself.
func readCSV(ctx context.Context, r io.Reader, most int) (ownRows, error) {
	t, err := tableOfCSV(r)
	if err != nil {
		return nil, err
	}
	rows, _, err := t.read(ctx, "", most)
	return rows, err
}

// tableOfCSV reads the first line of a list.
func tableOfCSV(r io.Reader) (*table, error) {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(len(mark))
	}
	separator, err := csvBegin(in)
	if err != nil {
		return nil, err
	}
	row := &bounded{in, limit.ImageListRow, errRow} // package csv keeps whole rows in memory
	lines := csv.NewReader(row)
	lines.Comma = separator
	lines.TrimLeadingSpace, lines.ReuseRecord = true, true
	head, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty. The first line names the columns, such as path,label")
	}
	if err != nil {
		return nil, csvFault(err, 1)
	}
	line := 1
	next := func() ([]string, int, error) {
		row.left = limit.ImageListRow
		fields, err := lines.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, line, io.EOF
		case err != nil:
			return nil, line, csvFault(err, line+1)
		}
		line, _ = lines.FieldPos(0)
		return fields, line, nil
	}
	return &table{columns: slices.Clone(head), next: next}, nil
}

// csvBegin tells the separator from the first line: a comma, or a semicolon or a tab, as spreadsheets write it where a
// comma is in numbers. Other ways to write text than UTF-8 are errors.
func csvBegin(in *bufio.Reader) (separator rune, err error) {
	begin, _ := in.Peek(512)
	const save = "Save the list as CSV UTF-8"
	if mark := begin[:min(2, len(begin))]; string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff" {
		return 0, errors.New("the file is UTF-16. " + save)
	}
	first, _, whole := bytes.Cut(begin, []byte("\n"))
	if bytes.ContainsRune(bytes.TrimSuffix(first, []byte("\r")), '\r') && (whole || len(begin) < 512) {
		return 0, errors.New("line 1: its end is a carriage return alone, which is no end of a line. " + save)
	}
	for _, other := range ";\t" {
		if !bytes.ContainsRune(first, ',') && bytes.ContainsRune(first, other) {
			return other, nil
		}
	}
	return ',', nil
}

// csvFault turns an error of package csv into a message of this program. line is where a row without a line begins.
func csvFault(err error, line int) error {
	var p *csv.ParseError
	if errors.Is(err, errRow) {
		return fmt.Errorf("line %d: %w, which is the limit. Close the quotes, or check that the file is a list of images",
			line, err)
	}
	if !errors.As(err, &p) {
		return fmt.Errorf("%w. Check the file", cause.Of(err))
	}
	switch {
	case errors.Is(p.Err, csv.ErrFieldCount):
		return fmt.Errorf("line %d: the number of fields is not that of the first line. Put fields with commas into quotes",
			p.Line)
	case errors.Is(p.Err, csv.ErrQuote), errors.Is(p.Err, csv.ErrBareQuote):
		return fmt.Errorf("line %d, column %d: a quote stands within a field or is not closed. Write the whole field in quotes, and a quote in it twice",
			p.Line, p.Column)
	}
	return fmt.Errorf("line %d: %w. Check the line", p.Line, p.Err)
}
