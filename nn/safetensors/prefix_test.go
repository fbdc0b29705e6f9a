package safetensors

import (
	"bytes"
	"strings"
	"testing"
)

// TestLeaveOutPrefix: names of a network that is a part of another one are found, if it is clear which one.
func TestLeaveOutPrefix(t *testing.T) {
	wanted := []string{"conv1.weight", "bn1.weight", "bn1.bias", "fc.weight"}
	for _, c := range []struct{ names, prefix, after string }{
		{"conv1.weight bn1.weight bn1.bias fc.weight", "", ""},
		{"module.conv1.weight module.bn1.weight module.bn1.bias module.fc.weight module.bn1.num_batches_tracked", "module.",
			"conv1.weight bn1.weight bn1.bias fc.weight bn1.num_batches_tracked"},
		{"_orig_mod.model.conv1.weight _orig_mod.model.bn1.weight _orig_mod.model.bn1.bias", "_orig_mod.model.",
			"conv1.weight bn1.weight bn1.bias"},
		{"backbone.conv1.weight backbone.bn1.weight backbone.bn1.bias fc.weight other", "backbone.",
			"conv1.weight bn1.weight bn1.bias fc.weight other"},
		{"student.conv1.weight student.bn1.weight student.bn1.bias teacher.conv1.weight teacher.bn1.weight teacher.bn1.bias",
			"", ""},
		{"x.conv1.weight y z", "", ""},
		{"xconv1.weight xbn1.weight xbn1.bias xfc.weight", "", ""},
		{"conv1.weight bn1.weight m.bn1.bias m.fc.weight m.conv1.weight m.bn1.weight", "", ""},
	} {
		f := &Reader{}
		for _, name := range strings.Fields(c.names) {
			f.Tensors = append(f.Tensors, Info{Name: name})
		}
		if c.after == "" {
			c.after = c.names
		}
		prefix := f.LeaveOutPrefix(wanted)
		var got []string
		for _, i := range f.Tensors {
			got = append(got, i.Name)
		}
		if prefix != c.prefix || strings.Join(got, " ") != c.after {
			t.Errorf("%s: left out %q, names %q", c.names, prefix, got)
		}
	}
}

// TestForeign: files of other formats are called what they are, wherever a zip archive names its entries.
func TestForeign(t *testing.T) {
	for begin, want := range map[string]string{
		"PK\x03\x04\x00\x00resnet18/data.pkl":                                                      Torch,
		"PK\x03\x04\x00\x00model/version" + strings.Repeat("x", 1000) + "PK\x01\x02model/data.pkl": Torch,
		"PK\x03\x04\x00\x00hidden.0.weight.npy":                                                    NumPy, "PK\x03\x04notes.txt": "",
		"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.": OldTorch, "\x80\x04\x95\x00": OldTorch,
		"OCLCKPT\n\x01": Checkpoint, "\x89HDF\r\n\x1a\n": HDF5, "GGUF\x03": GGUF, "\x08\x08\x12\x03ocl": ONNX, "": "",
		"{}": "", "\x08": "",
	} {
		if got := Foreign(strings.NewReader(begin), int64(len(begin))); got != want {
			t.Errorf("%q: %q, wanted %q", begin, got, want)
		}
		if _, err := NewReader(bytes.NewReader([]byte(begin)), int64(len(begin))); err == nil {
			t.Errorf("%q is read", begin)
		}
	}
}
