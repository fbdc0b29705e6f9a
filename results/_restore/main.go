// Command restore writes results and tuning records that programs before 0.2.0 wrote again in today's form, and proves of each that nothing
// but the config and the key has changed. Run it in the root of the repository; the path of this file is behind `go run`:
//
//	go run ./results/_restore results ROOT           all results and tuning records below ROOT/results, in their place
//	go run ./results/_restore study STUDYDIR NEWDIR  a copy of a study's list of jobs and results, for `go run ./results store NEWDIR`
//	go run ./results/_restore file IN NEW            one result
//
// A key that the config of an old file lacks gets the value that it had before there was the key. A key that is no more must have the value
// that every run has now. The numbers of a run do not depend on what its method does not read; such keys get their defaults.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"ocl/config"
	"ocl/experiment"
	"ocl/experiment/identity"
	"ocl/experiment/result"
	"ocl/study"
	"ocl/tune"
)

func main() {
	if err := do(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "restore:", err)
		os.Exit(1)
	}
}

func do(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "results":
		return results(filepath.Join(args[1], "results"))
	case len(args) == 3 && args[0] == "study":
		return studyCopy(args[1], args[2])
	case len(args) == 3 && args[0] == "file":
		text, err := os.ReadFile(args[1])
		if err == nil && strings.HasSuffix(args[1], result.Packed) {
			text, err = unpacked(text)
		}
		if err != nil {
			return err
		}
		r, err := restored(text)
		if err == nil {
			text, err = result.Encode(r)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(args[2], text, 0o644)
	}
	return errors.New("the arguments are none of: results ROOT, study STUDYDIR NEWDIR, file IN NEW")
}

// before are the values of keys before there were the keys, where they are not today's defaults.
var before = map[string]any{"stream.kind": "classes", "stream.tasks": 10.0, "stream.class_order": "random", "stream.held_out": false, "replay.teacher": "evaluation"}

// gone are keys that are no more, with the values that mean what every run does now.
var gone = map[string][]any{"stream.augment": {false}, "stream.shift.pixels": {"", "uint8"}}

// today is a config of an old file with the keys of today.
func today(old map[string]any) (map[string]any, error) {
	c := copied(old).(map[string]any)
	for name, values := range gone {
		if v, there := get(c, name); there && !slices.Contains(values, v) {
			return nil, fmt.Errorf("%s is %v", name, v)
		}
		remove(c, name)
	}
	for name, v := range before {
		if _, there := get(c, name); !there {
			set(c, name, v)
		}
	}
	if methods, _ := get(c, "methods"); reflect.DeepEqual(methods, []any{"gss"}) {
		if _, there := get(c, "method.gss.gate"); !there {
			set(c, "method.gss.gate", "sample")
		}
	}
	c["version"] = config.Version
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	schema := experiment.Schema()
	read, err := schema.Parse("config", text)
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(read); err != nil && !strings.Contains(err.Error(), "data.dir") && !strings.Contains(err.Error(), "data-dir") {
		return nil, err
	}
	runs := schema.Runs(read)
	if len(runs) != 1 {
		return nil, fmt.Errorf("the config has %d runs", len(runs))
	}
	one := runs[0]
	for _, v := range schema.Values(one) { // what a run reads is what it read
		was, there := get(c, v.Name)
		now, _ := one.Text(v.Name)
		then, _ := read.Text(v.Name)
		if there && now != then && identityReads(one, v.Name) && !same(v.Name, then, now, one) {
			return nil, fmt.Errorf("%s was %v and is %s", v.Name, was, now)
		}
	}
	if text, err = json.Marshal(one); err != nil {
		return nil, err
	}
	var v map[string]any
	err = decode(text, &v)
	return v, err
}

// identityReads says whether the numbers of a run depend on a key.
func identityReads(c config.Config, key string) bool {
	return slices.Contains(identity.New(experiment.Schema(), c).Learned().Keys(), key)
}

// same says whether two texts of a key mean the same.
func same(key, then, now string, c config.Config) bool {
	short := map[string]string{"data.unreadable": config.UnreadableFail, "stream.shift.occlusion": config.OcclusionPerTask, "stream.shift.blur": config.BlurPerImage}
	if now == "" && short[key] == then {
		return true
	}
	return key == "data.size" || key == "data.domains" || key == "stream.class_order" || key == "tricks" // settled or ordered by the schema
}

// restored is the result of an old text, with its new key.
func restored(text []byte) (*result.Result, error) {
	var old map[string]any
	if err := decode(text, &old); err != nil {
		return nil, err
	}
	c, err := today(old["config"].(map[string]any))
	if err != nil {
		return nil, err
	}
	changed := maps.Clone(old)
	changed["config"], changed["key"] = c, strings.Repeat("0", 64)
	again, err := json.Marshal(changed)
	if err != nil {
		return nil, err
	}
	r, err := result.Parse(again)
	if err != nil {
		return nil, err
	}
	r.Key = experiment.Key(r)
	again, err = result.Encode(r)
	if err != nil {
		return nil, err
	}
	var now map[string]any
	if err := decode(again, &now); err != nil {
		return nil, err
	}
	for _, list := range []map[string]any{old, now} { // the proof
		delete(list, "config")
		delete(list, "key")
	}
	if !reflect.DeepEqual(old, now) {
		for k := range old {
			if !reflect.DeepEqual(old[k], now[k]) {
				return nil, fmt.Errorf("%s has changed", k)
			}
		}
		return nil, errors.New("there are other keys than before")
	}
	return r, nil
}

// record is a tuning record of an old text, with its new keys. Trials of a search that begins with fewer images keep the keys that they had.
func record(text []byte) ([]byte, error) {
	var old map[string]any
	if err := decode(text, &old); err != nil {
		return nil, err
	}
	c, err := today(old["config"].(map[string]any))
	if err != nil {
		return nil, err
	}
	changed := maps.Clone(old)
	changed["config"] = c
	again, err := json.Marshal(changed)
	if err != nil {
		return nil, err
	}
	r, err := tune.Parse(again)
	if err != nil {
		return nil, err
	}
	schema := experiment.Schema()
	key := func(c config.Config) string {
		id := identity.New(schema, schema.Runs(c)[0])
		id.Data, id.Numbers, id.Kernel, id.Convolution = r.DataDigest, r.Numbers, r.Kernel, r.Convolution
		return id.Key()
	}
	search := fmt.Sprintf("%s %d %d", r.Search.Name, r.Search.Points, r.Search.Seed)
	r.Key = identity.TuningKey(key(r.Config), r.Grid.Digest, search, r.Repeats)
	trials := 0
	for i, p := range r.Points {
		for j, one := range p.Trials {
			if one.Share != 1 {
				continue
			}
			c := r.Config.Clone()
			for k, a := range r.Grid.Axes {
				if err := schema.Set(&c, a.Key, p.Values[k]); err != nil {
					return nil, err
				}
			}
			if one.Repeat > 0 {
				seed := c.InitSeed() + uint64(one.Repeat*1000)
				c.Seeds.Init = &seed
			}
			r.Points[i].Trials[j].Key = key(c)
			trials++
		}
	}
	if text, err = r.Encode(); err != nil {
		return nil, err
	}
	var now map[string]any
	if err := decode(text, &now); err != nil {
		return nil, err
	}
	strip(old)
	strip(now)
	if !reflect.DeepEqual(old, now) {
		return nil, errors.New("more than config and keys has changed")
	}
	return text, nil
}

// strip removes the config and all keys of runs from a record.
func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		if k, is := v["key"].(string); is && len(k) == 64 {
			delete(v, "key")
		}
		delete(v, "config")
		for _, x := range v {
			strip(x)
		}
	case []any:
		for _, x := range v {
			strip(x)
		}
	}
}

// results writes all files below a folder again.
func results(folder string) error {
	n, records := 0, 0
	keys := map[string]string{}
	var faults []error
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(path, result.Packed):
			if text, err = unpacked(text); err != nil {
				return err
			}
			r, err := restored(text)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", path, err))
				return nil
			}
			n++
			keys[path] = r.Key
			packed, err := pack(r)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, packed, 0o644); err != nil {
				return err
			}
			again, err := result.Read(path) // what is there is what was proved
			if err != nil {
				return err
			}
			if difference, same := result.Same(r, again); !same || again.Key != r.Key {
				return fmt.Errorf("%s is read as another result: %s", path, difference)
			}
			return experiment.Intact(again)
		case strings.HasSuffix(path, ".json"):
			if text, err = record(text); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", path, err))
				return nil
			}
			records++
			return os.WriteFile(path, text, 0o644)
		}
		return nil
	})
	fmt.Printf("%d results and %d tuning records are written again: but for config and key, each says what it said\n", n, records)
	return errors.Join(append(faults, err)...)
}

// studyCopy copies the list of jobs and the results of a study, with new keys.
func studyCopy(from, to string) error {
	entries, err := study.ReadJobs(from)
	if err != nil {
		return err
	}
	n := 0
	var kept []study.Entry
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(from, e.Folder, experiment.ResultFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		r, err := restored(text)
		if err == nil {
			text, err = result.Encode(r)
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(to, e.Folder), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, e.Folder, experiment.ResultFile), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Folder, err)
		}
		if e.Key, e.Also = r.Key, nil; e.Tuned {
			return fmt.Errorf("%s: tuned jobs are not restored", e.Folder)
		}
		kept = append(kept, e)
		n++
	}
	fmt.Printf("%d of %d jobs have results; %s has them\n", n, len(entries), to)
	return study.WriteJobs(to, kept)
}

func unpacked(text []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// pack is a result as results/store.go keeps it.
func pack(r *result.Result) ([]byte, error) {
	text, err := result.Encode(r)
	if err != nil {
		return nil, err
	}
	var line, b bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return nil, err
	}
	line.WriteByte('\n')
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(line.Bytes())
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// decode reads JSON with its numbers as they are written, but for whole ones, which may have a point.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	return d.Decode(into)
}

func get(v map[string]any, name string) (any, bool) {
	first, rest, deeper := strings.Cut(name, ".")
	x, there := v[first]
	if !deeper || !there {
		return x, there
	}
	below, is := x.(map[string]any)
	if !is {
		return nil, false
	}
	return get(below, rest)
}

func set(v map[string]any, name string, to any) {
	first, rest, deeper := strings.Cut(name, ".")
	if !deeper {
		v[first] = to
		return
	}
	if _, is := v[first].(map[string]any); !is {
		v[first] = map[string]any{}
	}
	set(v[first].(map[string]any), rest, to)
}

func remove(v map[string]any, name string) {
	first, rest, deeper := strings.Cut(name, ".")
	if !deeper {
		delete(v, first)
		return
	}
	if below, is := v[first].(map[string]any); is {
		remove(below, rest)
	}
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for k, x := range v {
			c[k] = copied(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			c[i] = copied(x)
		}
		return c
	}
	return v
}
