package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// TestDryRunInterrupted: no plan is printed where the trial was cut off, before it or in it.
func TestDryRunInterrupted(t *testing.T) {
	for _, after := range []time.Duration{0, 300 * time.Millisecond} { // the trial takes a second
		for _, more := range [][]string{nil, {"--json"}} {
			ctx, cancel := context.WithCancel(context.Background())
			if after == 0 {
				cancel()
			}
			timer := time.AfterFunc(after, cancel)
			var out, errs bytes.Buffer
			args := append([]string{"run", "--dry-run", "--method", "finetune", "--train-per-class", "30", "--test-per-class", "1"}, more...)
			code := execute(ctx, args, &out, &errs)
			timer.Stop()
			cancel()
			if code != exitInterrupted || out.Len() > 0 || !strings.Contains(errs.String(), "interrupted before the plan was ready.\n") {
				t.Errorf("%v %v: exit code %d, %q, %q", after, more, code, out.String(), errs.String())
			}
		}
	}
}
