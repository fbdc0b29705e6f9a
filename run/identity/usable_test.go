package identity

import (
	"errors"
	"strings"
	"testing"

	"ocl/run/result"
)

// TestWanted: each field of Want holds for results of other programs too, and a message has all keys that are wanted.
func TestWanted(t *testing.T) {
	foreign := &result.Foreign{Program: "other"}
	stopped := &result.Result{Foreign: foreign, Outcome: result.Outcome{State: result.Interrupted}}
	if err := (Want{Foreign: true, Ended: true}).refuses(nil, stopped); !errors.Is(err, ErrStopped) {
		t.Errorf("an interrupted run of another program: %v", err)
	}
	for says, tt := range map[string]struct {
		want Want
		r    *result.Result
	}{
		"it has no key, and the key 00000000 is wanted": {Want{Keys: []string{"000000001"}},
			&result.Result{Foreign: foreign}},
		"it has the key 22222222, and the key 00000000 or 11111111 is wanted": {
			Want{Keys: []string{"000000001", "111111112"}}, &result.Result{Foreign: foreign, Key: "222222223"}},
		"it has no key, and the key 33333333 is wanted": {Want{Keys: []string{"333333334"}, Tuned: true},
			&result.Result{Foreign: foreign, Key: "333333334"}},
		"it has the key 44444444, and no key is wanted": {Want{Keys: []string{}},
			&result.Result{Foreign: foreign, Key: "444444445"}},
	} {
		if err := tt.want.refuses(nil, tt.r); !errors.Is(err, ErrOther) || !strings.HasSuffix(err.Error(), says) {
			t.Errorf("%v, want the end %q", err, says)
		}
	}
	if err := (Want{Foreign: true}).refuses(nil, stopped); err != nil {
		t.Errorf("any use: %v", err)
	}
}
