package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"ocl/live"
	"ocl/predict"
	"ocl/serve/daemon"
)

// still is a model that says the same of every picture: the fuzz targets are about what comes before it.
type still struct{}

func (still) Shape() (c, h, w int)     { return 3, 4, 4 }
func (still) Measure() predict.Measure { return predict.Probability }
func (still) Names() []string          { return []string{"a"} }
func (still) Version() int64           { return 1 }
func (still) Status() daemon.Status    { return daemon.Status{Problem: still{}.Problem()} }
func (still) Ready() error             { return nil }
func (still) Problem() string          { return "The disk is full." }
func (still) Model(context.Context, string, io.Writer) (version int64, err error) {
	return 1, nil
}
func (still) Predict(_ context.Context, pixels [][]byte, _ int) (a live.Answer, err error) {
	for _, p := range pixels {
		if len(p) != 48 {
			return a, errors.New("a picture of another size came through")
		}
		a.Guesses = append(a.Guesses, []predict.Guess{{Name: "a", Value: 1}})
	}
	return a, nil
}

// Size implements [Decoder]: the first byte of a file is its side.
func (still) Size(file []byte) (w, h int, err error) {
	if len(file) == 0 {
		return 0, 0, errors.New("empty")
	}
	return int(file[0]), int(file[0]), nil
}

// Decode implements [Decoder].
func (still) Decode(_ context.Context, file, dst []byte) error {
	copy(dst, file)
	return nil
}

// answered holds the answer to a fuzzed request: a success, or a refusal that says why, and never a fault of the
// daemon.
func answered(t *testing.T, r *http.Request) {
	t.Helper()
	w := httptest.NewRecorder()
	r.Host = "localhost"
	NewReplica(still{}, Options{Decoder: still{}}).ServeHTTP(w, r)
	if w.Code != http.StatusOK && (w.Code < 400 || w.Code > 499) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w.Code >= 400 && (w.Header().Get("Content-Type") != "application/problem+json" ||
		!bytes.Contains(w.Body.Bytes(), []byte(`"detail":"`))) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// FuzzBodies sends any body as each of the content types.
func FuzzBodies(f *testing.F) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.SetBoundary("x") // it is one
	for _, name := range []string{"picture", "label", "id"} {
		if part, err := w.CreateFormFile(name, "a"); err == nil {
			_, _ = part.Write([]byte("\x04abc")) // to a buffer
		}
	}
	_ = w.Close() // to a buffer
	f.Add(byte(0), make([]byte, 48))
	f.Add(byte(1), []byte(`{"pictures":[{"data":"BAAA","id":"7","label":"a"},{"raw":"AAAA"}]}`))
	f.Add(byte(2), form.Bytes())
	f.Add(byte(3), []byte("\x04abc"))
	kinds := []string{typeRaw, typeJSON, typeForm + "; boundary=x", ""}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/v1/predictions", bytes.NewReader(body))
		if k := kinds[int(kind)%len(kinds)]; k != "" {
			r.Header.Set("Content-Type", k)
		}
		answered(t, r)
	})
}

// FuzzTensors sends any JSON and binary tensors by the Open Inference Protocol.
func FuzzTensors(f *testing.F) {
	image := `{"parameters":{"k":1},"inputs":[{"name":"image","datatype":"UINT8","shape":[1,3,4,4],"parameters":{"binary_data_size":48}}],"outputs":[{"name":"probability","parameters":{"binary_data":true}}]}`
	f.Add(len(image), append([]byte(image), make([]byte, 48)...))
	file := `{"inputs":[{"name":"file","datatype":"BYTES","shape":[1,1],"parameters":{"binary_data_size":8}}]}`
	f.Add(len(file), append(binary.LittleEndian.AppendUint32([]byte(file), 4), "\x04abc"...))
	f.Add(-1, []byte(`{"inputs":[{"name":"image","datatype":"UINT8","shape":[1,3,4,4],"data":[[[1,2],[255]]]}]}`))
	f.Add(-1, []byte(`{"inputs":[{"name":"file","datatype":"BYTES","shape":[1],"data":["BAAA"]}]}`))
	f.Fuzz(func(t *testing.T, length int, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/v2/models/ocl/infer", bytes.NewReader(body))
		if length >= 0 {
			r.Header.Set(headerLength, strconv.Itoa(length))
		}
		answered(t, r)
	})
}

// FuzzTokens reads any file of tokens.
func FuzzTokens(f *testing.F) {
	token, _, err := NewToken("anna", RoleLabel, 2.5)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("# of the lab\n" + token.Line()))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := ParseTokens(text)
		if err != nil {
			return
		}
		var again []byte
		for _, token := range list {
			again = append(again, token.Line()...)
		}
		back, err := ParseTokens(again)
		if err != nil || len(back) != len(list) || back[0] != list[0] {
			t.Fatalf("%q is read as %+v, and again as %+v: %v", text, list, back, err)
		}
	})
}
