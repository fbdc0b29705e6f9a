package report

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"strings"
	"testing"

	"ocl/run/result"
)

// mixed is a study of one run of CN-DPM with two experts.
func mixed(t *testing.T) *study {
	t.Helper()
	r := fake{method: "cndpm", title: "CN-DPM", memory: 100, seed: 3, tasks: 3, perTask: 2, level: 0.5, decay: 0.5}.make()
	pixels := make([]byte, 2*1*2*4*4*3)
	for i := range pixels {
		pixels[i] = byte(i)
	}
	r.Experts = &result.Experts{
		List: []result.Expert{{Step: 9, Task: 0, Stored: 100, Count: 101, Parameters: 1_625_603},
			{Step: 1234, Task: 2, Stored: 100, Count: 401.4, Parameters: 738_987}},
		Pictures: &result.Pictures{Experts: []int{0, 1}, Images: 1, Height: 4, Width: 4,
			Pixels: base64.StdEncoding.EncodeToString(pixels)},
	}
	return studyOf([]*run{newRun(r, "")}, nil)
}

// TestExpertsFigure: a bar for each expert, and the numbers behind it.
func TestExpertsFigure(t *testing.T) {
	blocks := mixed(t).settings[0].experts()
	if len(blocks) != 2 || blocks[0].Figure == nil || blocks[1].Picture == nil {
		t.Fatalf("%d blocks, want a figure and a picture", len(blocks))
	}
	f := blocks[0].Figure
	if !strings.Contains(f.Caption, "seed 3") || !strings.Contains(f.Caption, "2,364,590 parameters") {
		t.Errorf("caption %q", f.Caption)
	}
	want := "method,memory,protocol,expert,step,task,stored,later,parameters\n" +
		"cndpm,100,standard,1,9,1,100,0,1625603\ncndpm,100,standard,2,1234,3,100,300.4,738987\n"
	if got := string(f.Data.csvBytes()); got != want {
		t.Errorf("table %q, want %q", got, want)
	}
	if bar := f.Bars.Bars[1]; bar.Label != "expert 2" ||
		bar.Text != "from task 3, step 1,234: 100 samples stored, 300 learned later" || bar.Parts[1] < 300 {
		t.Errorf("second bar %+v", bar)
	}
}

// TestExpertsPicture is a PNG file with the pixels of the result.
func TestExpertsPicture(t *testing.T) {
	p := mixed(t).settings[0].experts()[1].Picture
	text, ok := strings.CutPrefix(string(p.Source), "data:image/png;base64,")
	file, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !ok {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != 14 || b.Dy() != 14 || p.Width != 28 {
		t.Errorf("%v, shown %d wide", b, p.Width)
	}
	// the second image of the second line, its second line and third pixel
	at := ((3*4+1)*4 + 2) * 3
	if r, g, b, _ := img.At(2+6+2, 2+6+1).RGBA(); r>>8 != uint32(at) || g>>8 != uint32(at+1) || b>>8 != uint32(at+2) {
		t.Errorf("pixel %d %d %d, want %d and the next two", r>>8, g>>8, b>>8, at)
	}
	if !strings.Contains(p.Caption, "the experts 1 and 2") {
		t.Errorf("caption %q", p.Caption)
	}
}

// TestExpertsOnThePage: the page has both, and a page of other methods has no such section.
func TestExpertsOnThePage(t *testing.T) {
	for _, s := range mixed(t).sections() {
		if s.ID == "experts" && len(s.Blocks) == 2 {
			return
		}
	}
	t.Error("no section of experts")
}
