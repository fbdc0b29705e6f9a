package result

import "ocl/config"

// exampleConfig is a config, elsewhereConfig the same with its data in another place and its engine unsaid, otherConfig
// another one.
func exampleConfig() config.Config {
	c := config.Default()
	c.Data.Dir, c.Engine.Kernel, c.Seed = "here", "avx2", 18446744073709551615
	return c
}

func elsewhereConfig() config.Config {
	c := exampleConfig()
	c.Data.Dir, c.Engine.Kernel = "there", ""
	return c
}

func otherConfig() config.Config {
	c := exampleConfig()
	c.Seed--
	return c
}
