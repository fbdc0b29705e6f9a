package cli

import (
	"strings"
	"testing"
)

func TestBenchSettings(t *testing.T) {
	base, err := benchSettings([]string{"replay.batch=100", "replay.from=memory", "method.mir.candidates=70"})
	if err != nil {
		t.Fatal(err)
	}
	if s := base("mir"); s.ReplayBatch != 100 || !s.MemoryAlone || s.Options["candidates"] != 70 || s.Iterations != 1 {
		t.Errorf("%+v", s)
	}
	for _, arg := range []string{"memory=3", "replay.batch", "replay.passes=6", "replay.batch=many"} {
		if _, err := benchSettings([]string{arg}); err == nil || !strings.Contains(err.Error(), strings.Split(arg, "=")[0]) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
