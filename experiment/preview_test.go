package experiment

import (
	"errors"
	"testing"

	"ocl/config"
	"ocl/stream"
)

// A sheet has a row for each task of a stream, and streams stand side by side. What does not fit the data is ErrUnfit, and
// a config that is not valid is refused before the data are opened.
func TestPreviewDrawsStreamsSideBySide(t *testing.T) {
	size := func(samples int, configs ...config.Config) (w, h int) {
		t.Helper()
		sheet, err := Preview(t.Context(), configs, stream.PreviewOptions{Samples: samples}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return sheet.Bounds().Dx(), sheet.Bounds().Dy()
	}
	c := tiny()
	w, h := size(3, c)
	wider, same := size(4, c)
	const image, gap = 40, 4 // images of 8 pixels, enlarged
	if wider-w != image+gap || same != h {
		t.Errorf("sheets of %d×%d and %d×%d for 3 and 4 images", w, h, wider, same)
	}
	c.Protocol = config.ProtocolSurvey
	if _, fewer := size(3, c); h-fewer != 2*(image+gap) {
		t.Errorf("heights %d and %d, want two rows less without the first two of 5 tasks", h, fewer)
	}
	c.Protocol, c.Stream.Tasks = config.ProtocolStandard, 0
	c.Stream.Shift.Kind = "noise"
	one, tall := size(3, c)
	if two, as := size(3, c, c); two != 2*one || as != tall {
		t.Errorf("%d×%d for one stream, %d×%d for two", one, tall, two, as)
	}

	c = tiny()
	c.Stream.Kind, c.Stream.Tasks = "tasks", 0
	if _, err := Preview(t.Context(), []config.Config{c}, stream.PreviewOptions{Samples: 1}, nil); !errors.Is(err, ErrUnfit) {
		t.Errorf("tasks that the data do not give: %v", err)
	}
	c.Data.Name = "glyfs"
	if _, err := Preview(t.Context(), []config.Config{c}, stream.PreviewOptions{Samples: 1}, nil); err == nil || errors.Is(err, ErrUnfit) {
		t.Errorf("a data set that there is not: %v", err)
	}
}
