package daemon

import (
	"testing"

	"ocl/checkpoint"
	"ocl/live"
	"ocl/serve/journal"
)

// FuzzEvents: events of any bodies are applied or refused, in any order.
func FuzzEvents(f *testing.F) {
	kinds := []string{kindClass, kindSample, kindRemember, kindLabel, kindCut, kindBoundary, kindForget, kindErased,
		kindVersion, kindRollback, kindBounds, kindSkip, "other", kindUnlabel, kindMark, kindUndo, kindRename, kindMerge,
		kindRemove, kindSplit}
	f.Add([]byte{0, 1, 4, 6, 7}, `{"v":1,"label":"cat","n":3,"ids":["a","b"]}`, "a", true)
	f.Add([]byte{2, 3, 4, 9, 10}, `{"v":1,"label":"cat","n":1,"number":4,"bounds":{"count":0,"ids":0}}`, "a", true)
	f.Add([]byte{1, 4, 13, 14, 3, 4, 13}, `{"v":1,"label":"cat","n":3,"undoes":"all","digest":"sha256:1"}`, "a", true)
	f.Add([]byte{1, 1, 11, 4, 8}, `{"v":1,"label":"cat","held":true,"n":-1}`, "", false)
	o := small()
	f.Fuzz(func(t *testing.T, which []byte, text, id string, picture bool) {
		trainer, err := live.NewTrainer(o.Live)
		if err != nil {
			t.Fatal(err)
		}
		defer trainer.Close()
		s := newState(trainer, o.complete(), journal.Versions(t.TempDir()))
		var pixels []byte
		if picture {
			pixels = make([]byte, 3*side*side)
		}
		for i, k := range which {
			if i == 20 {
				break
			}
			e := journal.Event{Number: s.book.last + 1, Kind: kinds[int(k)%len(kinds)], ID: id, Body: []byte(text),
				Pixels: pixels}
			if i%2 == 1 {
				e.ID += "x"
			}
			if _, err := s.enter(e, nil); err == nil && s.drain(t.Context()) != nil {
				return
			}
		}
		if _, _, err := s.container(); err != nil && trainer.Err() == nil {
			t.Error(err)
		}
	})
}

// FuzzTables: a snapshot whose tables are any text is loaded or refused.
func FuzzTables(f *testing.F) {
	o := small()
	trainer, err := live.NewTrainer(o.Live)
	if err != nil {
		f.Fatal(err)
	}
	defer trainer.Close()
	f.Add(`{"v":1,"samples":[{"id":"a","state":"remembered","size":192}],"waiting":["a"],"bounds":{"count":1,"bytes":1000,"age":1,"ids":1}}`,
		192)
	f.Add(`{"v":1,"samples":[{"id":"a","state":"waiting","size":192},{"id":"b","state":"learned","places":[1,2]}],"queue":["a"]}`,
		192)
	f.Add(`{"v":1,"samples":[null]}`, 0)
	f.Fuzz(func(t *testing.T, text string, bytes int) {
		if bytes < 0 || bytes > 10_000 {
			return
		}
		c, raw, pixels := checkpoint.NewContainer(), []byte(text), make([]byte, bytes)
		e := c.Encoder()
		e.Bytes(tablesSection, raw)
		e.Bytes(pixelsSection, pixels)
		if err := (checkpoint.Parts{checkpoint.Sub(trainerSection, trainer)}).SaveState(e); err != nil {
			t.Fatal(err)
		}
		x := newState(trainer, o.complete(), nil)
		if x.load(c) != nil {
			return
		}
		x.expire()
		if _, _, err := x.container(); err != nil {
			t.Error(err)
		}
	})
}
