package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"ocl/checkpoint"
	"ocl/config"
	"ocl/internal/fuzztest"
	"ocl/internal/lifecycle/lifecycletest"
	"ocl/predict"
)

// TestImagesOfAnyKind: images of other sizes, grey, of 16 bits, paletted and with alpha are learned and predicted, also
// by a learner of grey images, and what is no image is an error that changes nothing.
func TestImagesOfAnyKind(t *testing.T) {
	t.Parallel()
	grey := small("er")
	grey.Channels = 1
	for _, o := range []Options{small("er"), grey} {
		l := made(t, o)
		whole := picture(1, "a", 300)
		r := whole.Rect
		for i, to := range []draw.Image{
			image.NewNRGBA(r), image.NewRGBA(r), image.NewGray(r), image.NewGray16(r), image.NewRGBA64(r), image.NewNRGBA64(r),
			image.NewCMYK(r),
			image.NewPaletted(r, color.Palette{color.Black, color.White, color.Transparent}),
			image.NewNRGBA(image.Rect(-3, -3, 1, 9)), image.NewGray(image.Rect(0, 0, 1, 1)),
			image.NewAlpha(r), image.NewGray(image.Rect(5, 5, 4000, 6)),
		} {
			draw.Draw(to, to.Bounds(), whole, image.Point{}, draw.Src)
			if err := l.Learn(t.Context(), to, "a"); err != nil {
				t.Errorf("%T (%d): %v", to, i, err)
			}
			flush(t, l)
			if got, err := l.Predict(to, 1); err != nil || got[0].Name != "a" {
				t.Errorf("%T (%d): %v, %v", to, i, got, err)
			}
		}
		flush(t, l)
		before := stateOf(t, l)
		for name, x := range map[string]struct {
			img  image.Image
			want string
		}{
			"nil":   {nil, "there is no image (nil). Give one"},
			"empty": {image.NewGray(image.Rect(0, 0, 0, 0)), "the image has no pixels (0×0)"},
			"huge":  {image.NewUniform(color.White), "Make it smaller"},
			"short": {&image.Gray{Rect: image.Rect(0, 0, 9, 9)}, "Give a whole image"},
		} {
			if err := l.Learn(t.Context(), x.img, "b"); err == nil ||
				!strings.Contains(err.Error(), "live: the image is not learned: ") || !strings.Contains(err.Error(), x.want) {
				t.Errorf("learn %s: %v", name, err)
			}
			if got, err := l.Predict(x.img, 1); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("predict %s: %v, %v", name, got, err)
			}
		}
		for _, n := range []int{0, 1, 191, 193, 65} {
			if err := l.LearnPixels(t.Context(), make([]byte, n), "b"); err == nil ||
				!strings.Contains(err.Error(), "bytes for an image of") {
				t.Errorf("%d bytes: %v", n, err)
			}
			if _, err := l.PredictPixels(make([]predict.Guess, 1), make([]byte, n)); err == nil ||
				!strings.Contains(err.Error(), "bytes for an image of") {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		flush(t, l)
		if !stateOf(t, l).Equal(before) || len(l.Classes()) != 1 {
			t.Errorf("images that are none have changed the learner; classes %q", l.Classes())
		}
	}
}

// TestImageIsPreparedLikeAFile: an image is learned as the pixels that `ocl predict` makes of it, and may be changed
// after the call.
func TestImageIsPreparedLikeAFile(t *testing.T) {
	a, b := made(t, small("er")), made(t, small("er"))
	for i := range 20 {
		img := picture(i, "a", 13)
		pixels := make([]byte, 3*8*8)
		if err := a.t.preparation.Easel().Draw(pixels, img); err != nil {
			t.Fatal(err)
		}
		if err := a.LearnPixels(t.Context(), pixels, "a"); err != nil {
			t.Fatal(err)
		}
		if err := b.Learn(t.Context(), img, "a"); err != nil {
			t.Fatal(err)
		}
		clear(pixels)
		clear(img.Pix)
	}
	flush(t, a)
	flush(t, b)
	sameState(t, "pixels and images", a, b)
}

// TestLabels: what cannot name a class is an error that shows no raw bytes, and makes no class.
func TestLabels(t *testing.T) {
	l := made(t, small("er"))
	img := picture(1, "a", 8)
	for _, label := range []string{"", strings.Repeat("x", 10_000), strings.Repeat("ä", 129), "a\nb", "a\x1b[2Jb",
		"\u202eabc", "a\u200bb", "\xff\xfe", " cat", "cat ", "\t", "\x00", "\u2028"} {
		err := l.Learn(t.Context(), img, label)
		if !errors.Is(err, ErrLabel) || len(err.Error()) > 600 ||
			strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%.40q: %q", label, err)
		}
	}
	if n := len(l.Classes()); n != 0 {
		t.Errorf("%d classes", n)
	}
	for _, label := range []string{"cat", strings.Repeat("x", 256), "Größe 9 кот 猫 🐈", "../../etc/passwd", "a b", "0",
		"-1", "\"", "<b>"} {
		if err := l.Learn(t.Context(), img, label); err != nil {
			t.Errorf("%q: %v", label, err)
		}
	}
	if n := len(l.Classes()); n != 9 {
		t.Errorf("%d classes", n)
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	o, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Classes(), l.Classes()) {
		t.Errorf("opened %q", o.Classes())
	}
	closed(t, o)
}

// TestNothingLearned: there is nothing to predict before an image was learned.
func TestNothingLearned(t *testing.T) {
	l := made(t, small("er"))
	if _, err := l.Predict(picture(1, "a", 8), 1); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
	flush(t, l)
	learn(t, l, 0, 3, 1)
	if _, err := l.Predict(picture(1, "a", 8), 1); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	o, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	flush(t, o)
	if got, err := o.Predict(picture(1, "a", 8), 1); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	closed(t, o)
	for _, k := range []int{0, -1} {
		if _, err := l.Predict(picture(1, "a", 8), k); err == nil || !strings.Contains(err.Error(), "Ask for 1 or more") {
			t.Error(err)
		}
	}
	if _, err := l.PredictInto(nil, picture(1, "a", 8)); err == nil ||
		!strings.Contains(err.Error(), "Give room for 1 or more") {
		t.Error(err)
	}
}

// TestLifecycle: every call after Close says so, and those that wait end.
func TestLifecycle(t *testing.T) {
	lifecycletest.Test(t, func(t *testing.T) lifecycletest.Subject {
		o := small("er")
		o.Queue = 10
		l, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		learn(t, l, 0, 10, 1)
		flush(t, l)
		img, pixels, guess := picture(1, "a", 8), make([]byte, 192), make([]predict.Guess, 1)
		folder := t.TempDir()
		t.Cleanup(func() {
			if _, err := os.Stat(filepath.Join(folder, "after")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a closed learner was saved: %v", err)
			}
			l.Stats()
			l.Classes()
		})
		return lifecycletest.Subject{Close: l.Close, Closed: ErrClosed,
			Calls: map[string]func() error{
				"Learn":         func() error { return l.Learn(t.Context(), img, "a") },
				"LearnPixels":   func() error { return l.LearnPixels(t.Context(), pixels, "a") },
				"Predict":       func() error { _, err := l.Predict(img, 1); return err },
				"PredictInto":   func() error { _, err := l.PredictInto(guess, img); return err },
				"PredictPixels": func() error { _, err := l.PredictPixels(guess, pixels); return err },
				"Boundary":      l.Boundary,
				"Flush":         func() error { return l.Flush(t.Context()) },
				"Save": func() error {
					name := "before"
					if l.end.Begun() {
						name = "after"
					}
					return l.Save(filepath.Join(folder, name))
				},
			},
			Hold: func() func() {
				l.step.Lock()
				for len(l.tokens) < o.Queue { // so that the queue is full
					if err := l.Learn(t.Context(), img, "a"); err != nil {
						t.Fatal(err)
					}
				}
				return l.step.Unlock
			},
			Woken: []string{"Flush", "Learn"},
		}
	})
}

// TestCancelled: a ctx that has ended ends Learn and Flush, and nothing is learned twice or lost.
func TestCancelled(t *testing.T) {
	l := made(t, small("er"))
	ctx, cancel := context.WithCancel(t.Context())
	learn(t, l, 0, 3, 1)
	cancel()
	if err := l.Learn(ctx, picture(1, "b", 8), "b"); !errors.Is(err, context.Canceled) || len(l.Classes()) != 1 {
		t.Errorf("%v, classes %q", err, l.Classes())
	}
	if err := l.Flush(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	flush(t, l)
	if s := l.Stats(); s.Images != 3 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

// TestRefusedMethods: methods that cannot learn so are refused with the reason.
func TestRefusedMethods(t *testing.T) {
	for method, want := range map[string]string{
		"gdumb":   "GDumb trains a new network for every prediction",
		"offline": "Offline learns all images together in many epochs",
		"cndpm":   "predicts with the networks that it trains",
		"er+ema":  "predicts by another network than the one that learns",
	} {
		if _, err := New(Options{Method: method}); !errors.Is(err, ErrMethod) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// TestBadOptions: options that cannot be are errors that name their fields or the keys of Set, and no flags, which a
// program does not have.
func TestBadOptions(t *testing.T) {
	set := func(list ...string) Options { return Options{Set: list} }
	for _, c := range []struct {
		want string
		o    Options
	}{
		{`live: Method: unknown method "nothing"`, Options{Method: "nothing"}},
		{`live: Method: unknown trick "nothing"`, Options{Method: "er+nothing"}},
		{"live: Method: icarl with ncm: it already predicts", Options{Method: "icarl+ncm"}},
		{"Channels is 2", Options{Channels: 2}},
		{"a capacity of -1 outputs", Options{Capacity: -1}},
		{"a capacity of 1,000,000", Options{Capacity: 1_000_000}},
		{"Batch is -1", Options{Process: Process{Batch: -1}}},
		{"Queue is 9", Options{Process: Process{Queue: 999_999_999}}},
		{"no room for a batch of 20", Options{Process: Process{Batch: 20, Queue: 10}}},
		{"Workers is 1", Options{Process: Process{Workers: 1_000_000}}},
		{"MaxBytes is -1", Options{Process: Process{MaxBytes: -1}}},
		{"live: Memory: -1 is out of range", Options{Memory: -1}},
		{"live: Memory: 5 is smaller than replay.batch (10). Use Memory: 10 or replay.batch=5", Options{Memory: 5}},
		{"live: Size: 8 is too small for resnet18, which needs images of at least 25 pixels a side. Use a larger Size, or network.name=mlp",
			Options{Size: 8}},

		{"Size is -3. Use 8 to 512", Options{Size: -3}},
		{"Memory: 4611686018427387904 is out of range", Options{Memory: 1 << 62}},
		{"live: optimizer.lr: -1 is out of range", set("optimizer.lr=-1")},
		{`live: network.name: unknown value "transformer"`, set("network.name=transformer")},
		{"network.hidden: 16 is given, but resnet18 does not use it. Use network.name=mlp, or remove it",
			set("network.hidden=16")},
		{"mir.candidates is an option of mir, but mir is not in the list of methods (er). Add it to Method, or remove",
			set("method.mir.candidates=20")},
		{"no setting of a live", set("data.dir=/etc")},
		{"no setting of a live", set("network.init=/etc/passwd")},
		{"no setting of a live", set("replay.batch")},
		{"no setting of a live", set("seedling=1")},
		{"live: option Set: unknown key", set("optimizer.rate=1")},
		{"live: option Set: optimizer.lr cannot be x", set("optimizer.lr=x")},
		{"replay.batch", set("replay.batch=0")},
		{"needs a network of", Options{Process: Process{MaxParameters: 1000}}},
		{"and the memory need", Options{Process: Process{MaxBytes: 1000}}},
	} {
		l, err := New(c.o)
		if err == nil {
			closed(t, l)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "live: ") || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "--") || strings.Contains(err.Error(), "config:") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", c.want, err)
		}
	}
}

// TestNoErrorNamesAFlag: whatever flags errors about configs have, they have none in the words of live.
func TestNoErrorNamesAFlag(t *testing.T) {
	for _, k := range config.Keys() {
		if k.Flag() == "" {
			continue
		}
		text := "config: " + k.Name + " (--" + k.Flag() + "): wrong. Use --" + k.Flag() + " 1, or remove --" + k.Flag() + "."
		if got := inFields(errors.New(text)).Error(); strings.Contains(got, "--") || strings.Contains(got, "config:") ||
			!strings.Contains(got, ": wrong. Use ") {
			t.Errorf("%s became %s", text, got)
		}
	}
	if err := inFields(config.ErrUnknown); !errors.Is(err, config.ErrUnknown) {
		t.Error("the error is not the one that it was any more")
	}
}

// TestZeroLearner: a Learner that was made by no function refuses every call.
func TestZeroLearner(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that a call that waits ends
	img, pixels, guesses := picture(1, "a", 8), make([]byte, 192), make([]predict.Guess, 1)
	for name, f := range map[string]func(l *Learner) error{
		"Learn":         func(l *Learner) error { return l.Learn(ctx, img, "a") },
		"LearnPixels":   func(l *Learner) error { return l.LearnPixels(ctx, pixels, "a") },
		"Predict":       func(l *Learner) error { _, err := l.Predict(img, 1); return err },
		"PredictInto":   func(l *Learner) error { _, err := l.PredictInto(guesses, img); return err },
		"PredictPixels": func(l *Learner) error { _, err := l.PredictPixels(guesses, pixels); return err },
		"Boundary":      (*Learner).Boundary,
		"Flush":         func(l *Learner) error { return l.Flush(ctx) },
		"Save":          func(l *Learner) error { return l.Save(filepath.Join(t.TempDir(), "x")) },
		"Err":           (*Learner).Err,
		"Close":         (*Learner).Close,
	} {
		if err := f(new(Learner)); err == nil || !strings.Contains(err.Error(), "Use New or Open") {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := new(Learner)
	if l.Stats() != (Stats{}) || l.Classes() != nil || l.Notes() != nil || l.Measure() != "" {
		t.Errorf("%+v, %v, %v, %q", l.Stats(), l.Classes(), l.Notes(), l.Measure())
	}
}

// TestNoContext: a ctx that is nil is an error.
func TestNoContext(t *testing.T) {
	l := made(t, small("er"))
	var none context.Context
	for name, f := range map[string]func() error{
		"Learn": func() error { return l.Learn(none, picture(1, "a", 8), "a") },
		"Flush": func() error { return l.Flush(none) },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(),
			"the context is nil. Give one, such as context.Background()") || len(l.Classes()) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBounds: a class beyond a bound is refused, nothing else changes, and the classes that are there go on.
func TestBounds(t *testing.T) {
	parameters := func(l *Learner) int { return l.Stats().Parameters }
	for name, bound := range map[string]func(o *Options, l *Learner){
		"classes":    func(o *Options, _ *Learner) { o.MaxClasses = 8 },
		"parameters": func(o *Options, l *Learner) { o.MaxParameters = parameters(l) + 10 },
		"bytes":      func(o *Options, l *Learner) { o.MaxBytes = l.Stats().Bytes + 100 },
	} {
		o := small("er")
		bound(&o, made(t, o))
		l := made(t, o)
		for i := range 8 {
			if err := l.Learn(t.Context(), picture(i, "a", 8), shapeName(0, 1)+string(rune('a'+i))); err != nil {
				t.Fatalf("%s: class %d: %v", name, i, err)
			}
		}
		for range 2 {
			if err := l.Learn(t.Context(), picture(1, "b", 8), "one more"); !errors.Is(err, ErrBound) ||
				!strings.Contains(err.Error(), `"one more"`) || !strings.Contains(err.Error(), "a larger bound") {
				t.Errorf("%s: %v", name, err)
			}
		}
		learned := l.Classes()
		if err := l.Learn(t.Context(), picture(1, "b", 8), learned[3]); err != nil || len(learned) != 8 {
			t.Errorf("%s: %v, classes %q", name, err, learned)
		}
		flush(t, l)
		path := filepath.Join(t.TempDir(), "x")
		if err := l.Save(path); err != nil {
			t.Fatal(err)
		}
		again, err := OpenWith(path, func(p *Process) { p.AtOnce = o.AtOnce }) // bounds are kept
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Learn(t.Context(), picture(1, "b", 8), "one more"); !errors.Is(err, ErrBound) {
			t.Errorf("%s, opened: %v", name, err)
		}
		closed(t, again)
		again, err = OpenWith(path, func(p *Process) {
			p.MaxClasses, p.MaxParameters, p.MaxBytes, p.Age = 0, 0, 0, time.Hour
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Learn(t.Context(), picture(1, "b", 8), "one more"); err != nil || again.process.Age != time.Hour {
			t.Errorf("%s, opened without: %v", name, err)
		}
		closed(t, again)
	}
}

// savedFile is a file of a learner that has learned some images and has others waiting.
func savedFile(t testing.TB) string {
	t.Helper()
	o := small("er")
	o.Memory = 10
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, l)
	learn(t, l, 0, 20, 3)
	flush(t, l)
	learn(t, l, 20, 23, 3)
	path := filepath.Join(t.TempDir(), "saved.ocl")
	if err := l.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFilesThatCannotBeOpened: truncated, damaged and foreign files are errors that name the file and say what to do.
func TestFilesThatCannotBeOpened(t *testing.T) {
	good, err := os.ReadFile(savedFile(t))
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 4
	newer, err := checkpoint.Parse(slices.Clone(good))
	if err != nil {
		t.Fatal(err)
	}
	foreign := checkpoint.NewContainer()
	foreign.Encoder().Bytes("identity/config", []byte("{}"))
	file := func(c *checkpoint.Container) []byte {
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	dir := t.TempDir()
	for name, x := range map[string]struct {
		content []byte
		want    string
	}{
		"empty": {nil, "the file is empty. Give a file of Save"},
		"text": {[]byte(strings.Repeat("hello ", 10)),
			`this is a file of another kind: it begins with "hello hello hello hello ". Give a file of Save, or the folder of a run`},
		"short":     {[]byte("\x1b[2J"), `it begins with "\x1b[2J". Give`},
		"mangled":   {bytes.Replace(good, []byte("\n"), []byte("\r\n"), 1), "the file is damaged"},
		"truncated": {good[:len(good)-100], "the file is damaged"},
		"half":      {good[:len(good)/2], "the file is damaged"},
		"flipped":   {flipped, "the checksum"},
		"foreign":   {file(foreign), "none of a live learner. Give a file of Save, or the folder of a run"},
		"newer": {file(changedSection(newer, headerSection,
			func(b []byte) []byte { return bytes.Replace(b, []byte(`"version":1`), []byte(`"version":2`), 1) })),
			"has version 2, and this ocl reads 1"},
		"shape": {file(changedSection(newer, headerSection, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"shape":[3,8,8]`), []byte(`"shape":[3,0,8]`), 1)
		})), "images of [3 0 8]"},
		"fewer": {file(changedSection(newer, "learner/net/params", func(b []byte) []byte { return b[:len(b)-4] })),
			"bytes of parameters instead of"},
		"more": {file(changedSection(newer, "learner/net/params", func(b []byte) []byte { return append(b, 0, 0, 0, 0) })),
			"bytes of parameters instead of"},
		"waiting": {file(changedSection(newer, waitingSection, func(b []byte) []byte { return b[1:] })),
			"575 bytes for 3 images of 192"},
		"tasks": {file(changedSection(newer, headerSection, func(b []byte) []byte {
			return regexp.MustCompile(`"waiting":\[`).ReplaceAll(b, []byte(`"waiting":[-1,-1,-1,-1,-1,`))
		})), "576 bytes for 3 images of 192"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, x.content, 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Open(path)
		if err == nil {
			closed(t, l)
		}
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for path, want := range map[string]string{filepath.Join(dir, "absent"): "Give",
		dir: "live: experiment: " + dir + ": there is no run here. Give",
		"":  "live: open: the path is empty. Give a file of Save, or the folder of a run"} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// opened changes the header of a saved file, and opens that.
func opened(t *testing.T, change func(h map[string]any)) (*Learner, error) {
	t.Helper()
	text, err := os.ReadFile(savedFile(t))
	if err != nil {
		t.Fatal(err)
	}
	good, err := checkpoint.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	file := changedSection(good, headerSection, func(b []byte) []byte {
		h := map[string]any{}
		if err := json.Unmarshal(b, &h); err != nil {
			t.Fatal(err)
		}
		change(h)
		if b, err = json.Marshal(h); err != nil {
			t.Fatal(err)
		}
		return b
	})
	return begun(decode(file.Decoder(), nil))
}

// TestEndsOfTasksTakeNoPlaceOfImages: a learner that is opened has the queue that it had, however many tasks end in it.
func TestEndsOfTasksTakeNoPlaceOfImages(t *testing.T) {
	l, err := opened(t, func(h map[string]any) {
		w := h["waiting"].([]any)
		h["batch"], h["queue"], h["waiting"] = 1, 3, []any{-1, w[0], -1, w[1], -1, w[2], -1}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, l)
	flush(t, l)
	if s := l.Stats(); l.process.Queue != 3 || s.Images != 23 || s.Waiting != 0 {
		t.Errorf("a queue of %d, %+v", l.process.Queue, s)
	}
}

// TestFileOfAnotherProgram: a file that needs what a module has registered that this program does not have says which
// one.
func TestFileOfAnotherProgram(t *testing.T) {
	for _, name := range []string{"er-x", "er"} {
		_, err := opened(t, func(h map[string]any) {
			h["registered"] = []config.Registered{{Key: "methods", Name: name, Module: "example.com/x", Version: "v1.2.3"}}
		})
		if !errors.Is(err, config.ErrLacks) || !strings.Contains(err.Error(),
			"does not have the method "+name+" of example.com/x v1.2.3") ||
			!strings.Contains(err.Error(), "imports the package") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSavesFollowEachOther: of two calls of Save the later one leaves the later state.
func TestSavesFollowEachOther(t *testing.T) {
	l := made(t, small("er"))
	learn(t, l, 0, 10, 1)
	flush(t, l)
	path := filepath.Join(t.TempDir(), "x")
	l.saving.Lock() // as a Save does that is still writing
	saved := make(chan error)
	go func() { saved <- l.Save(path) }()
	learn(t, l, 10, 20, 1)
	flush(t, l)
	l.saving.Unlock()
	if err := <-saved; err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, again)
	if s := again.Stats(); s.Images != 20 {
		t.Errorf("%+v", s)
	}
}

// changedSection is a container with one section changed.
func changedSection(c *checkpoint.Container, section string, change func([]byte) []byte) *checkpoint.Container {
	to := checkpoint.NewContainer()
	for _, name := range c.Names() {
		b, err := c.Decoder().Bytes(name)
		if err != nil {
			panic(err)
		}
		if name == section {
			b = change(slices.Clone(b))
		}
		to.Encoder().Bytes(name, b)
	}
	return to
}

// TestSaveFails: where a file cannot be written, the error says so, nothing is left over, and the learner goes on.
func TestSaveFails(t *testing.T) {
	l := made(t, small("er"))
	learn(t, l, 0, 20, 2)
	flush(t, l)
	dir := t.TempDir()
	socket := filepath.Join(t.TempDir(), "s") // replacing a device or a socket would take it from others
	door, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("this system has no sockets in files: ", err)
	}
	defer door.Close()
	for path, want := range map[string]string{
		"": "there is no path", dir: "Give the name of a file", socket: "Give the name of a file",
		filepath.Join(dir, "absent", "x"):            "Save to a folder that exists and has room",
		filepath.Join(dir, strings.Repeat("x", 300)): "Save to a folder that exists and has room",
	} {
		if err := l.Save(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", path, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v are left", err, entries)
	}
	learn(t, l, 20, 40, 2)
	flush(t, l)
	if err := l.Save(filepath.Join(dir, "x")); err != nil {
		t.Error(err)
	}
}

// FuzzOpen changes a section of a good file. Whatever comes out, nothing panics, memory is in proportion, the message
// can be printed, and what is opened predicts, learns, and is saved and opened as the same.
func FuzzOpen(f *testing.F) {
	text, err := os.ReadFile(savedFile(f))
	if err != nil {
		f.Fatal(err)
	}
	good, err := checkpoint.Parse(text)
	if err != nil {
		f.Fatal(err)
	}
	names := good.Names()
	for i := range names {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{20, 0, 5, 1})
		f.Add(uint8(i), []byte{7, 3, 9, 4, 1, 0, 2, 2, 3, 1})
	}
	f.Fuzz(func(t *testing.T, section uint8, changes []byte) {
		name := names[int(section)%len(names)]
		file := changedSection(good, name, func(b []byte) []byte {
			if name == headerSection || name == configSection {
				return fuzztest.JSON(b, fuzztest.Of(changes))
			}
			for c := fuzztest.Of(changes); c.More(); {
				b = fuzztest.Bytes(b, c)
			}
			return b
		})
		var l *Learner
		var err error
		const most = 64 << 20
		if n := fuzztest.Allocated(most, func() {
			if l != nil {
				closed(t, l)
			}
			l, err = begun(decode(file.Decoder(), func(p *Process) { p.Workers, p.AtOnce, p.Age = 1, 1, -1 }))
		}); n > most {
			t.Errorf("%d bytes are allocated (%v)", n, err)
		}
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
				t.Errorf("%q", err)
			}
			return
		}
		defer closed(t, l)
		if c, h, w := l.Shape(); c*h*w < 1<<16 {
			_ = l.Learn(context.Background(), picture(1, "a", 8), "a")
		}
		_ = l.Flush(context.Background()) // learning rates may be any
		if _, err := l.Predict(picture(1, "a", 8), 3); err != nil && l.Err() == nil {
			t.Errorf("no prediction: %v", err)
		}
		state, err := l.state()
		if err != nil {
			return
		}
		again, err := begun(decode(state.Decoder(), func(p *Process) { p.Workers, p.AtOnce, p.Age = 1, 1, -1 }))
		if err != nil {
			t.Fatalf("what was opened cannot be opened again: %v", err)
		}
		defer closed(t, again)
		sameState(t, "opened again", l, again)
	})
}
