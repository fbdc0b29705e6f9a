package served

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ocl/internal/input"
	"ocl/run/progress"
)

// FuzzJoinFile: a join file is refused with what to do, or says the same again when it is written again.
func FuzzJoinFile(f *testing.F) {
	good, _ := json.Marshal(ticket{Format: joinFormat, Version: 1, Servers: []string{"tls://host:4222"}, Study: "abcdefgh",
		Name: "s", Secret: "x",
		SHA256: strings.Repeat("0a", 32), Holder: strings.Repeat("0a", 32)})
	f.Add(good)
	f.Add([]byte(`{"format":"ocl-join","version":2}`))
	f.Add([]byte(`{"format":"ocl-join","version":1,"servers":["nats://a"],"study":"abcd","holder":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseJoin(text)
		if err != nil {
			if !strings.Contains(err.Error(), ". Copy it again") && !strings.Contains(err.Error(), ". Use the same ocl") {
				t.Errorf("%v does not say what to do", err)
			}
			return
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := parseJoin(again); err != nil || !reflect.DeepEqual(same, got) {
			t.Errorf("%+v became %+v, error %v", got, same, err)
		}
	})
}

// FuzzUnpack: an archive writes below its folder and within its limit, whatever it says.
func FuzzUnpack(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("x"), 0o644); err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := pack(&b, dir, []string{"config.yaml"}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:20])
	// larger than is allowed below
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), make([]byte, 2000), 0o644); err != nil {
		f.Fatal(err)
	}
	var large bytes.Buffer
	if err := pack(&large, dir, []string{"config.yaml"}); err != nil {
		f.Fatal(err)
	}
	f.Add(large.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		root := t.TempDir()
		_ = unpack(bytes.NewReader(data), filepath.Join(root, "in"), 1000)
		var size int64
		err := input.Walk(root, func(path string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				size += info.Size()
			} else if err == nil && !info.IsDir() {
				t.Errorf("%s is %v", path, info.Mode())
			}
			return nil
		})
		entries, _ := os.ReadDir(root)
		if err != nil || size > 1000 || len(entries) > 1 {
			t.Errorf("%d bytes, %d entries, error %v", size, len(entries), err)
		}
	})
}

// FuzzMessages: what the buckets have is read without harm, and a phase that is unknown is no job that is done.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"phase":"done","attempt":1,"outcome":"finished"}`))
	f.Add([]byte(`{"word":"a","parts":1,"size":1,"sha256":"` + strings.Repeat("0", 64) + `","step":1}`))
	f.Add([]byte(`{"worker":"w","host":"h","step":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := recordOf(data)
		switch st := r.state(); st.Phase {
		case progress.Done, progress.Failed, progress.Running, progress.Waiting, progress.Begun:
			if st.Phase == progress.Done && r.Phase != progress.Done || st.Progress.Step < 0 || st.Attempt < 0 {
				t.Errorf("%s is %+v", data, st)
			}
		default:
			t.Errorf("%s is %+v", data, st)
		}
		heldOf(data)
		if m, err := manifestOf(data); err == nil && (m.Size > int64(m.Parts)*partBytes || m.most() <= 0) {
			t.Errorf("%s is %+v", data, m)
		}
	})
}
