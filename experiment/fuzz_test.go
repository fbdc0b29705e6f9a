package experiment

import "testing"

// Whatever a config file holds, reading it does not panic, and what is read without a fault can be written and read
// again as the same experiment.
func FuzzParse(f *testing.F) {
	f.Add([]byte("seed: 1\nmethods: [er]\nstream:\n  class_order: [1, 0]\n  mean: [1e30]\n"))
	f.Add([]byte("{\"format\": \"ocl-result\", \"config\": {\"runs\": 2}}"))
	f.Add([]byte("a: &x 1\nb: *x\n<<: {seed: 2}\n? [1]\n: 2\n"))
	f.Add([]byte("method:\n  er: 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("x.yaml", text)
		if err != nil {
			return
		}
		written, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("x.yaml", written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if c.canonical() != again.canonical() {
			t.Errorf("%s\nbecame\n%s", c.canonical(), again.canonical())
		}
	})
}
