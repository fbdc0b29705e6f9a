package backbone

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"ocl/nn"
)

// TestMemory: what a backbone says that it takes is what it takes, and less than that is refused.
func TestMemory(t *testing.T) {
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, name := range []string{"efficientnet-lite0", "torchvision-resnet18", "torchvision-resnet50", "dinov2-vits14"} {
		b, err := decode(drawn(name, 224, 10, 1).text(t), nn.DefaultEngine())
		if err != nil {
			t.Fatal(err)
		}
		for _, batch := range []int{1, 4} {
			_, maps := b.Memory(1, 1, batch)
			before := live()
			w := b.NewWorkspace(1, batch)
			// Beside maps there are tables of the kernels, and Winograd's tiles.
			if got := live() - before; maps > got || got > maps+maps/4 {
				t.Errorf("%s, %d pictures: %d bytes were taken, and %d are said", name, batch, got, maps)
			}
			w.Close()
		}
		one, _ := b.Memory(1, 1, 1)
		if weights, maps := b.Memory(3, 1, 1); weights != one || maps%3 != 0 || maps == 0 {
			t.Errorf("%s: %d and %d bytes", name, weights, maps)
		}
	}
	b, err := decode(drawn(architectures[0].name, 64, 10, 1).text(t), nn.DefaultEngine())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.CheckMemory(2, 1, 1); err != nil {
		t.Error(err)
	}
	t.Setenv("GOMEMLIMIT", "5MiB")
	if err := b.CheckMemory(2, 1, 1); !errors.Is(err, nn.ErrMemory) ||
		!strings.Contains(err.Error(), "maps of 2 pictures at once") || !strings.Contains(err.Error(), "may use 5.2 MB") {
		t.Errorf("too little: %v", err)
	}
}
