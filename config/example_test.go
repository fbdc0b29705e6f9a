package config_test

import (
	"fmt"

	"ocl/config"
	"ocl/run/experiment"
)

// A config has fields, and keys with the names that the command line uses. What differs from the default is written
// down.
func Example() {
	c := config.Default()
	c.Methods, c.Memory = []string{"er", "mir"}, 1000
	schema := experiment.Schema()
	if err := schema.Set(&c, "method.mir.candidates", "25"); err != nil {
		fmt.Println(err)
	}
	if err := schema.Validate(c); err != nil {
		fmt.Println(err)
	}
	text, err := c.YAML()
	read, err2 := schema.Parse("exp.yaml", text)
	fmt.Println(read.Methods, read.Memory, read.Method["mir"]["candidates"], err, err2)
	// Output: [er mir] 1000 25 <nil> <nil>
}
