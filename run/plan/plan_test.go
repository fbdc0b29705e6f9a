package plan

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"ocl/config"
	"ocl/run/experiment"
)

// TestTrialsAreSmall: a dry run tries no network and no batch that takes long or much memory, and leaves usual ones as
// they are.
func TestTrialsAreSmall(t *testing.T) {
	usual := config.Default()
	same := usual.Clone()
	if shrink(&same); !reflect.DeepEqual(same, usual) {
		t.Errorf("the usual config became %v", same)
	}
	large := config.Default()
	large.Stream.Batch, large.Replay.Batch, large.Network.Init = 100000, 100000, "w.safetensors"
	large.Network.Width, large.Network.Hidden = 4096, slices.Repeat([]int{1e6}, 100)
	if shrink(&large); large.Stream.Batch != 100 || large.Replay.Batch != 100 || large.Network.Init != "" ||
		large.Network.Width != 64 ||
		!slices.Equal(large.Network.Hidden, []int{2000, 2000, 2000, 2000}) {
		t.Errorf("a large config became %v", large)
	}
}

// TestBusy: a machine is busy if its cores have other work, on average of the last minute.
func TestBusy(t *testing.T) {
	for _, tt := range []struct {
		loads string
		cores int
		want  string
	}{
		{"5.21 3.10 1.00 7/300 1234\n", 2,
			"This machine is busy: in the last minute 5.2 threads on average shared 2 cores. Without other programs, the runs take less time than this estimate.\n"},
		{"1.60 3.10 1.00 7/300 1234\n", 2,
			"This machine is busy: in the last minute 1.6 threads on average shared 2 cores. Without other programs, the runs take less time than this estimate.\n"},
		{"5.21 3.10 1.00 7/300 1234\n", 16, ""}, {"0.05 3.10", 1, ""}, {"", 2, ""}, {"none", 2, ""},
	} {
		if got := busyText(tt.loads, tt.cores); got != tt.want {
			t.Errorf("%q on %d cores: %q, want %q", tt.loads, tt.cores, got, tt.want)
		}
	}
}

// TestTrialThatDiverges: a method whose first step diverges has no speed, so that no plan says that it takes no time.
func TestTrialThatDiverges(t *testing.T) {
	c := config.Default()
	c.Methods, c.Runs = []string{"er"}, 1
	c.Data = config.Data{Name: "glyphs", Size: 8, TrainPerClass: 2, TestPerClass: 1}
	c.Network.Name, c.Optimizer.LR, c.Replay.Iterations = "linear", 1e38, 3
	x, err := experiment.Open(t.Context(), c, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var timer Timer
	if speed, err := timer.Speed(t.Context(), x, "er"); !errors.Is(err, errDiverged) {
		t.Errorf("the speed %v, %v", speed, err)
	}
}
