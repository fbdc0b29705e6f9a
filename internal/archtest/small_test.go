package archtest

import "testing"

// TestSmallPrograms: a program that only predicts, learns images one at a time or measures carries no typefaces, and no
// linear algebra of other authors, of which one distribution once brought all.
func TestSmallPrograms(t *testing.T) {
	checked := 0
	for _, p := range packages(t) {
		switch short(p.ImportPath) {
		case "predict", "live", "run/metric":
		default:
			continue
		}
		checked++
		for _, path := range p.Deps {
			for _, large := range []string{"gonum.org/v1/gonum/lapack", "gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/mat",
				"golang.org/x/image/font/gofont", "golang.org/x/image/font/opentype"} {
				if covers(large, path) {
					t.Errorf("%s depends on %s. Use a smaller package, or move what needs it", short(p.ImportPath), path)
				}
			}
		}
	}
	if checked != 3 {
		t.Errorf("%d packages were looked at, want 3", checked)
	}
}
