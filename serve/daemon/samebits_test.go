package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/data"
	_ "ocl/data/gofonts" // the typefaces of glyphs
	"ocl/live"
	"ocl/run/build"
	"ocl/run/experiment"
	"ocl/run/trained"
)

// TestStreamOfARun: the stream of a run of `ocl run`, sent in pieces to a daemon that knows its classes and holds
// nothing out, ends in the run's very parameters, also with a start in its middle.
func TestStreamOfARun(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Data = config.Data{Name: "glyphs", Size: 8, TrainPerClass: 6, TestPerClass: 2}
	c.Stream.Tasks, c.Memory, c.Methods = 5, 30, []string{"er"}
	c.Network = config.Network{Name: "mlp", Width: 20, Hidden: []int{16}}
	folder := filepath.Join(t.TempDir(), "run")
	if _, err := experiment.Run(context.Background(), c,
		experiment.Options{Out: folder, KeepCheckpoint: true}); err != nil {
		t.Fatal(err)
	}
	m, err := trained.Open(t.Context(), folder, trained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	set, err := data.Open(t.Context(), build.Data(m.Config))
	if err != nil {
		t.Fatal(err)
	}
	s, err := build.NewStream(set, m.Config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := Options{Live: live.Options{Memory: 30, Size: 8, Capacity: m.Info.Classes,
		Set: []string{"network.name=mlp", "network.hidden=16"}}, Batch: 10, Age: -1}
	d := open(t, dir, o)
	for k := range m.Info.Classes {
		if err := d.AddClass(t.Context(), fmt.Sprint(k), "x"); err != nil {
			t.Fatal(err)
		}
	}
	var list []Sample
	send := func(least int) {
		for len(list) > least {
			n := min(7, len(list)) // which is no batch
			learn(t, d, list[:n])
			list = list[n:]
		}
	}
	for task := range s.Info().Tasks {
		for b, err := range s.Train(task) {
			if err != nil {
				t.Fatal(err)
			}
			size := len(b.Pixels) / len(b.Y)
			for i, y := range b.Y {
				list = append(list, Sample{Label: fmt.Sprint(y), Pixels: bytes.Clone(b.Pixels[i*size:][:size])})
			}
			send(7)
		}
		send(0)
		if err := d.Boundary(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		applied(t, d)
		if task == 2 {
			d = again(t, d, dir, o)
		}
	}
	var state *checkpoint.Container
	between(d, func() { state, err = d.trainer.Weights() })
	if err != nil {
		t.Fatal(err)
	}
	got, err := state.Decoder().Bytes("learner/net/params")
	if err != nil {
		t.Fatal(err)
	}
	want, err := binary.Append(nil, binary.LittleEndian, m.Net.Params())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the stream of a run ends in other parameters than the run's (%v)", err)
	}
}
