package daemon

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// TestADWIN: drift is found where river 0.26.1 finds it (testdata/adwin.py), with the same windows.
func TestADWIN(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/adwin.json")
	if err != nil {
		t.Fatal(err)
	}
	var streams []struct {
		Seed    uint64
		Found   []int
		Windows [][2]float64
	}
	if err := json.Unmarshal(text, &streams); err != nil {
		t.Fatal(err)
	}
	for _, s := range streams {
		var a adwin
		var found []int
		x := s.Seed
		for i := range 6000 {
			x = x*6364136223846793005 + 1442695040888963407
			share := []float64{.2, .5, .5, .3, .9, .88}[i/1000]
			error := 0.0
			if float64(x>>40)/(1<<24) < share {
				error = 1
			}
			if a.add(error) {
				found = append(found, i)
			}
			if (i+1)%500 == 0 {
				if want := s.Windows[i/500]; a.N != int(want[0]) || math.Abs(a.Sum/float64(a.N)-want[1]) > 1e-9 {
					t.Errorf("seed %d: after %d numbers a window of %d with the mean %v; river has %v", s.Seed, i+1, a.N,
						a.Sum/float64(a.N), want)
				}
			}
		}
		if !slices.Equal(found, s.Found) {
			t.Errorf("seed %d: changes at %v; river has %v", s.Seed, found, s.Found)
		}
	}
	if len(streams) == 0 {
		t.Error("there is no stream")
	}
}
