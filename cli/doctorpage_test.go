package cli

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ocl/data"
	"ocl/doctor"
	"ocl/internal/browsertest"
)

// TestDoctorPageInABrowser: Chromium shows the page with findings of all kinds as it should, on a phone and on a
// screen, also where names are long or would be code.
func TestDoctorPageInABrowser(t *testing.T) {
	b := browsertest.Start(t)
	t.Setenv("OCL_CACHE", t.TempDir())
	dir := t.TempDir()
	for i := range 4 {
		m := image.NewRGBA(image.Rect(0, 0, 40, 30))
		for p := range 1200 {
			m.Set(p%40, p/40, color.RGBA{uint8(p * i), uint8(p / 5), uint8(60 * i), 255})
		}
		class := filepath.Join(dir, []string{"<b>cat&amp;", strings.Repeat("a_very_long_name_", 6)}[i%2])
		if err := os.MkdirAll(class, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(class, fmt.Sprintf("%d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, m); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	set, err := data.Open(t.Context(), data.Spec{Name: "folder", Dir: dir, Size: pageSide, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	found := &doctor.Findings{Data: "folder", Images: 4, Classes: 2, Features: "pixels", Accuracy: 0.9, Looked: true,
		Notes: []string{"a note"}}
	for n, kind := range doctor.Kinds {
		one := doctor.Finding{Kind: kind, Near: n%2 == 0, Classes: set.ClassNames, Suggested: set.ClassNames[1],
			Probability: 0.01, Text: "3 images for training"}
		for i := range 2 + 8*(n%2) {
			at := i % 4
			one.Images = append(one.Images, doctor.Image{File: set.File(set.Train, at), Index: at,
				Label: set.ClassName(int(set.Train.Y[at]))})
		}
		found.List = append(found.List, one)
	}
	page, err := doctorPage(dir, set, found)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) }))
	t.Cleanup(server.Close)
	for _, size := range browsertest.Screens() {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			ctx := b.Visit(t, server.URL+"/", size[0], size[1])
			browsertest.Shoot(t, ctx, fmt.Sprintf("doctor-%d", size[0]))
			browsertest.Accessible(t, ctx)
			for _, holds := range []string{
				"document.documentElement.scrollWidth<=innerWidth",
				"document.querySelectorAll('section').length==8",
				"[...document.images].every(i=>i.complete&&i.naturalWidth>0&&i.alt)",
				"document.querySelector('#wrong-label').textContent.includes('label: <b>cat&amp;')",
			} {
				var is bool
				if err := chromedp.Run(ctx, chromedp.Evaluate(holds, &is)); err != nil || !is {
					t.Errorf("%s: %v, %v", holds, is, err)
				}
			}
		})
	}
}
