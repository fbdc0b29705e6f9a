package safetensors

import (
	"bytes"
	"io"
	"slices"
)

// Files of weights that are no safetensors files, in words for messages.
const (
	Torch      = "a file of torch.save"
	OldTorch   = "a file of torch.save of PyTorch before 1.6, or another pickle"
	NumPy      = "an archive of NumPy (.npz)"
	Checkpoint = "a checkpoint of a run"
	HDF5       = "an HDF5 file, such as Keras writes"
	GGUF       = "a GGUF file"
	ONNX       = "what looks like an ONNX model"
)

// Foreign says what a file of size bytes is that [NewReader] refuses: one of the constants, or "" where that is not
// known.
func Foreign(r io.ReaderAt, size int64) string {
	var head [256]byte
	n, _ := r.ReadAt(head[:], 0) // a short file has zeros behind
	begin := head[:n]
	switch {
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		tail := make([]byte, min(size, 64<<10)) // where a zip archive lists its entries
		n, _ := r.ReadAt(tail, size-int64(len(tail)))
		text := slices.Concat(begin, tail[:n])
		switch {
		case bytes.Contains(text, []byte(".npy")):
			return NumPy
		case bytes.Contains(text, []byte("data.pkl")):
			return Torch
		}
	case n > 2 && begin[0] == 0x80 && begin[1] >= 2 && begin[1] <= 5: // PROTO, the first instruction of a pickle
		return OldTorch
	case bytes.HasPrefix(begin, []byte("OCLCKPT\n")):
		return Checkpoint
	case bytes.HasPrefix(begin, []byte("\x89HDF\r\n\x1a\n")):
		return HDF5
	case bytes.HasPrefix(begin, []byte("GGUF")):
		return GGUF
	case n > 2 && begin[0] == 0x08 && begin[1] < 0x20 &&
		(begin[2] == 0x12 || begin[2] == 0x1a || begin[2] == 0x3a): // ir_version, then a name or the graph
		return ONNX
	}
	return ""
}
