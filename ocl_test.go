package ocl_test

import (
	"testing"

	"ocl"
)

func TestTestSets(t *testing.T) {
	own := ocl.StreamInfo{Tasks: make([]ocl.TaskInfo, 5)}
	common := own
	common.CommonTest = true
	if own.TestSets() != 5 || common.TestSets() != 1 {
		t.Errorf("5 tasks have %d test sets of their own, %d in common; want 5 and 1", own.TestSets(), common.TestSets())
	}
}
