// Command outside is ocl with two more methods, ER-ACE and DER++, from a module of its own. Each of them is one
// file, which registers the method.
package main

import (
	"context"
	"os"

	"ocl/cli"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:]...)) }
