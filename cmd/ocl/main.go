// Command ocl trains image classifiers by online continual learning, and measures what they learn and forget. It is
// [cli.Main] with the methods, data sets, streams and networks of this module.
package main

import (
	"context"
	"os"

	"ocl/cli"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:]...)) }
