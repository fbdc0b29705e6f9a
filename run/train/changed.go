package train

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ocl"
	"ocl/checkpoint"
	"ocl/internal/atomicfile"
	"ocl/run/result"
)

// WriteChanged makes the folder of a run whose learner is that of a checkpoint with other classes, s.Known.Changes. It
// has the config and the identity of s, and no result, as nothing was measured. same says that the learner answers as
// before but for names, so that the calibration of its network still holds. The checkpoint comes last: a folder that a
// crash has left has none.
func WriteChanged(folder string, s Saved, from checkpoint.Loaded, learner ocl.State, same bool) error {
	if err := atomicfile.MakeFolder(folder); err != nil {
		return fmt.Errorf("%w. Use --out to choose a folder that can be written", err)
	}
	c := checkpoint.NewContainer()
	d, e := from.Decoder(), c.Encoder()
	made, known := s.Identity, s.Known
	parts := checkpoint.Parts{checkpoint.Sub("identity", identityParts(&made)), checkpoint.JSON(knownSection, &known),
		checkpoint.Sub("learner", learner)}
	if err := parts.SaveState(e); err != nil {
		return err
	}
	for _, name := range from.Names() {
		first, rest, _ := strings.Cut(name, "/")
		written := first == "identity" || first == knownSection || first == "learner"
		if written || !same && first == "record" && strings.HasPrefix(rest, "calibration/") {
			continue
		}
		b, err := d.Bytes(name)
		if err != nil {
			return err
		}
		e.Bytes(name, b)
	}
	text, err := made.Config.YAML()
	if err != nil {
		return err
	}
	first, err := json.Marshal(result.Event{Time: time.Now().UTC().Format(time.RFC3339), Event: result.EventRun,
		Format: result.EventsFormat, Version: result.EventsVersion, Key: made.Key(), DataDigest: made.Data,
		Numbers: made.Numbers, Kernel: made.Kernel, Convolution: made.Convolution, Registered: made.Registered})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{ConfigFile: text, EventsFile: append(first, '\n')} {
		if err := atomicfile.WriteBytes(filepath.Join(folder, name), content); err != nil {
			return fmt.Errorf("%w. %s", err, makeRoom)
		}
	}
	dir, err := checkpoint.OpenDir(filepath.Join(folder, CheckpointDir))
	if err == nil {
		_, err = dir.Save(s.At.Step, c)
	}
	return saveError(err)
}
