package bench

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// expertsChild is set in the child process of TestExpertsFootprint.
const expertsChild = "OCL_TEST_EXPERTS_FOOTPRINT"

// TestExpertsFootprint: 45 experts for images of 32×32 pixels, with room to wake on 10 images and to sleep and predict
// on 50 at the same time, take at most 2 GB. It measures a process of its own.
func TestExpertsFootprint(t *testing.T) {
	if os.Getenv(expertsChild) != "" {
		e := newExperts(t, 32, 45, 2)
		e.v.Draws = 1 // more draws take time and no memory: a few codes are decoded at once
		steps := []func(){e.wake(), e.sleepVAE(), e.sleepClassifier(), e.predict()}
		for _, step := range steps {
			step()
		}
		if err := printPeak(); err != nil {
			t.Fatal(err)
		}
		for _, net := range e.nets { // in use until here, as the passes are
			clear(net.Net.Grads())
		}
		return
	}
	if os.Getenv("OCL_LONG") == "" {
		t.Skip("OCL_LONG is not set: the test takes 1.6 GB and some seconds")
	}
	const most = 2_000_000_000
	child := exec.Command(os.Args[0], "-test.run=^TestExpertsFootprint$", "-test.v")
	child.Env = append(os.Environ(), expertsChild+"=1")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, rest, found := bytes.Cut(out, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		t.Fatalf("the child printed no VmHWM:\n%s", out)
	}
	kib, err := strconv.Atoi(string(fields[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("at most %d kB", kib)
	if kib<<10 > most {
		t.Errorf("the process took %d bytes, want at most %d", kib<<10, most)
	}
}

// printPeak prints the most memory that the process has had resident.
func printPeak() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(status) {
		if bytes.HasPrefix(line, []byte("VmHWM:")) {
			_, err = os.Stdout.Write(line)
		}
	}
	return err
}
