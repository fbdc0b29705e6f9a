// Command results writes what follows from the committed results, and keeps further ones. Run it in the root of the
// repository:
//
//	go run ./survey/results                                   # write what follows from the results
//	go run ./survey/results store STUDYDIR                    # keep the results of the done jobs of a study
//	go run ./survey/results store RESULT.json FILE.json.gz    # keep one result under a name of your own
//
// The first one writes CSV files of runs, cells and claims, docs/reproduction.md, the pages below docs/reproduction,
// docs/findings.md, survey/reproduce/references.json, and charts. The second one gives each result its name below
// results/.
//
// A kept result is compressed and names no places. What is there already stays: the same result is passed over, another
// one is refused. Write the derived files again whenever a file below results/ has changed; a test says so.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ocl/internal/atomicfile"
	"ocl/survey"
)

func main() {
	if err := do(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// do does what the words of the command line say.
func do(args []string, out io.Writer) error {
	switch {
	case len(args) == 0:
		return write(".")
	case args[0] == "store" && len(args) == 2:
		return storeStudy(".", args[1], out)
	case args[0] == "store" && len(args) == 3:
		return storeFile(args[1], args[2])
	}
	return errors.New("the arguments are none of: (nothing), store STUDYDIR, store RESULT.json FILE.json.gz")
}

// write writes the files below the root of the repository.
func write(root string) error {
	runs, err := readRuns(filepath.Join(root, "survey", "results"))
	if err != nil {
		return err
	}
	p, err := openPage(root, runs)
	if err != nil {
		return err
	}
	files, err := p.derived()
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(root, f.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), atomicfile.WriteBytes(path, f.text)); err != nil {
			return err
		}
	}
	return nil
}

// file is a file that follows from others, by its path below the root.
type file struct {
	name string
	text []byte
}

// derived makes all files that follow from the committed ones.
func (p *page) derived() ([]file, error) {
	references, err := references(p.runs)
	if err != nil {
		return nil, err
	}
	methods, err := methodsChart(p.cells[survey.ClassIncremental])
	if err != nil {
		return nil, err
	}
	steps, err := stepChart(filepath.Join(p.root, "survey", "results", "benchmarks", "step.csv"))
	if err != nil {
		return nil, err
	}
	pages, err := p.pages()
	return append([]file{{"survey/results/runs.csv", index(p.runs)}, {"survey/reproduce/references.json", references},
		{"docs/images/methods.svg", methods},
		{"docs/images/step.svg", steps}, {"docs/images/agreement.svg", agreementChart(p)}}, pages...), err
}
