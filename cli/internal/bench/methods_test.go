package bench

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"ocl/learn/method"
)

// TestMethods measures a method of each kind: with and without memory, with a teacher, with candidates, with gradients
// of single images, and one that trains before an evaluation.
func TestMethods(t *testing.T) {
	names := []string{"mir", "gdumb"}
	if os.Getenv("OCL_LONG") != "" {
		names = []string{"finetune", "icarl", "mir", "gss", "gdumb", "lwf"}
	}
	filled := map[string]int{}
	rep, err := Methods(context.Background(), MethodOptions{Methods: names, Memory: 60, Workers: 2, Rounds: 1,
		Progress: func(p MethodProgress) { filled[p.Method] = max(filled[p.Method], p.Filled) }})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Memory != 60 || rep.Workers != 2 || rep.Kernel == "" || rep.Convolution == "" {
		t.Errorf("report %+v", rep)
	}
	var measured []string
	for _, m := range rep.Methods {
		measured = append(measured, m.Method)
		if (m.Ratio > 0) != (m.Method != "gdumb") || (m.Counted > 0) != (m.Method != "gdumb") {
			t.Errorf("%s: %v times ER, %v by its passes", m.Method, m.Ratio, m.Counted)
		}
		if !(m.MS > 0 && m.PassesMS > 0) || m.Overhead != m.MS/m.PassesMS-1 || len(m.Passes) == 0 {
			t.Errorf("%+v", m)
		}
		if (m.StoreMS > 0) != (m.Method == "gdumb") {
			t.Errorf("%s: stores in %v ms", m.Method, m.StoreMS)
		}
		info, err := method.Lookup(m.Method)
		if err != nil {
			t.Fatal(err)
		}
		if want := 60; info.UsesMemory && filled[m.Method] != want {
			t.Errorf("%s: %d samples in memory, want %d", m.Method, filled[m.Method], want)
		}
	}
	if !slices.Equal(measured, names) {
		t.Errorf("measured %v, want %v", measured, names)
	}
}

func TestMethodsEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	rep, err := Methods(ctx, MethodOptions{Methods: []string{"finetune", "er"}, Memory: 60, Workers: 1, Rounds: 1,
		Progress: func(p MethodProgress) {
			if p.Method == "er" {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) || rep == nil || len(rep.Methods) != 1 || !(rep.PeakGFLOPS > 0) {
		t.Errorf("report %+v, error %v; want Finetune's cost and %v", rep, err, context.Canceled)
	}
	if _, err := Methods(context.Background(), MethodOptions{Methods: []string{"et"}, Memory: 60}); err == nil {
		t.Error("an unknown method: no error")
	}
}

// TestMethodsOfAllKinds: a method of sums on random features has its own network and no passes, settings change the
// passes, and a method that makes networks is refused.
func TestMethodsOfAllKinds(t *testing.T) {
	o := MethodOptions{Methods: []string{"ncm", "er"}, Memory: 60, Workers: 1, Rounds: 1,
		Base: func(string) method.Setup { return method.Setup{ReplayBatch: 20, Iterations: 2} }}
	rep, err := Methods(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ncm, er := rep.Methods[0], rep.Methods[1]
	if len(ncm.Passes) > 0 || ncm.PassesMS != 0 || ncm.Overhead != 0 || !(ncm.Ratio > 0) || ncm.Counted != 0 {
		t.Errorf("%+v", ncm)
	}
	if !slices.Equal(er.Passes, []string{"learn 10 + 20", "learn 10 + 20"}) || er.Counted != 3 {
		t.Errorf("%+v, want two iterations with 20 replayed rows, three times as much as ER", er)
	}
	o.Methods = []string{"cndpm"}
	if _, err := Methods(t.Context(), o); err == nil || !strings.Contains(err.Error(), "cndpm trains networks of its own in pauses") {
		t.Errorf("%v", err)
	}
}
