package pickle

import (
	"io"
)

// CORe50 has the lists of LUP.pkl or labels.pkl: for each scenario ('ni', 'nc', 'nic', …) runs, and for each run its
// batches, of which the last is the test set. LUP has indices of images in paths.pkl, labels the labels of the same images.
type CORe50 struct{ root Value }

// ReadCORe50 reads LUP.pkl or labels.pkl, which has size bytes.
func ReadCORe50(r io.Reader, size int64) (*CORe50, error) {
	root, err := Read(r, size)
	if err != nil {
		return nil, err
	}
	if _, err := root.Keys(); err != nil {
		return nil, err
	}
	return &CORe50{root}, nil
}

// Scenarios are the names of the scenarios, in the order of the file.
func (c *CORe50) Scenarios() []string {
	names, _ := c.root.Keys() // ReadCORe50 has read them
	return names
}

// Runs is the number of runs of a scenario.
func (c *CORe50) Runs(scenario string) (int, error) {
	at, err := c.root.Key(scenario)
	if err != nil {
		return 0, err
	}
	return at.Len()
}

// Batches are the batches of a run, counted from 0: integers in [0, end). The caller must not change them: a batch that
// the file uses twice is there once.
func (c *CORe50) Batches(scenario string, run int, end int64) ([][]int64, error) {
	at, err := c.root.run(scenario, run)
	if err != nil {
		return nil, err
	}
	n, err := at.Len()
	if err != nil {
		return nil, err
	}
	batches, total := make([][]int64, n), int64(0)
	for i := range batches {
		batch, err := at.Item(i)
		if err != nil {
			return nil, err
		}
		ints, err := batch.Ints()
		if err != nil {
			return nil, err
		}
		// An integer takes a byte or more, so only a list that is used again and again comes to more.
		if total += int64(len(ints)); total > at.size {
			return nil, at.errorf("found more integers than the file has bytes (%d)", at.size)
		}
		if err := batch.within(ints, end); err != nil {
			return nil, err
		}
		batches[i] = ints
	}
	return batches, nil
}

// run is a run of a scenario.
func (v Value) run(scenario string, run int) (Value, error) {
	at, err := v.Key(scenario)
	if err != nil {
		return Value{}, err
	}
	return at.Item(run)
}

// ReadCORe50Paths reads paths.pkl, which has size bytes: for each image its file, such as "s1/o1/C_01_01_000.png".
func ReadCORe50Paths(r io.Reader, size int64) ([]string, error) {
	root, err := Read(r, size)
	if err != nil {
		return nil, err
	}
	return root.Texts()
}

// CORe50Names has the names of labels, from labels2names.pkl: for each scenario runs, and for each run a dictionary.
type CORe50Names struct{ root Value }

// ReadCORe50Names reads labels2names.pkl, which has size bytes.
func ReadCORe50Names(r io.Reader, size int64) (*CORe50Names, error) {
	root, err := Read(r, size)
	if err != nil {
		return nil, err
	}
	if _, err := root.Keys(); err != nil {
		return nil, err
	}
	return &CORe50Names{root}, nil
}

// Names are the names of a run, counted from 0: element i is the name of label i.
func (c *CORe50Names) Names(scenario string, run int) ([]string, error) {
	at, err := c.root.run(scenario, run)
	if err != nil {
		return nil, err
	}
	d, is := at.v.ref.(*dict)
	if !is {
		return nil, at.wrong("a dictionary from labels to names")
	}
	names := &list{items: make([]value, len(d.entries))} // as a list, the names have the same paths
	for i := range names.items {
		name, found, _ := at.find(key{n: int64(i)}) // it is a dictionary
		if !found {
			return nil, at.errorf("found %s, wanted the labels 0 to %d", keysOf(d), len(names.items)-1)
		}
		names.items[i] = name.v
	}
	return Value{path: at.path, v: value{ref: names}, size: at.size}.Texts()
}
