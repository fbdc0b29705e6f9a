package bench

import (
	"context"
	"errors"
	"math"
	"os"
	"testing"
)

// TestTricks measures tricks of each kind beside ER, and counts what they cost.
func TestTricks(t *testing.T) {
	rounds := 0
	tricks := [][]string{{"kdc"}, {"lb", "rv"}, {"mi"}, {"ncm"}}
	if os.Getenv("OCL_LONG") == "" {
		tricks = tricks[:2]
	}
	rep, err := Tricks(context.Background(), TrickOptions{
		Method: "er", Tricks: tricks, Memory: 60, Workers: 2, Steps: 3, Rounds: 2,
		Progress: func(p MethodProgress) { rounds = max(rounds, p.Round) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Method != "er" || rep.Memory != 60 || rep.Workers != 2 || rep.Steps != 3 || rep.Rounds != 2 || rounds != 2 ||
		!(rep.MS > 0 && rep.EndMS > 0) {
		t.Errorf("report %+v after %d rounds", rep, rounds)
	}
	want := []struct {
		tricks  string
		counted float64
	}{{"kdc", 4. / 3}, {"lb+rv", (180 + 63 + 180.) / (180 + 63)}, {"mi", 5}, {"ncm", (180 + 63 + 60.) / (180 + 63)}}
	if len(rep.Tricks) != len(tricks) {
		t.Fatalf("%d tricks measured, want %d", len(rep.Tricks), len(tricks))
	}
	for i, w := range want[:len(tricks)] {
		c := rep.Tricks[i]
		if c.Tricks != w.tricks || !(math.Abs(c.Counted-w.counted) <= 1e-12) || !(c.MS > 0 && c.Ratio > 0) ||
			(c.EndMS > 0) != (w.tricks == "lb+rv" || w.tricks == "ncm") {
			t.Errorf("%+v, want %s, counted %v", c, w.tricks, w.counted)
		}
	}
}

func TestTricksEnd(t *testing.T) {
	if _, err := Tricks(context.Background(), TrickOptions{Method: "er", Tricks: [][]string{{"kdc", "kdc*"}},
		Memory: 60}); err == nil {
		t.Error("kdc with kdc*: no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Tricks(ctx, TrickOptions{Method: "er", Memory: 60, Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v, want one that wraps context.Canceled", err)
	}
}
