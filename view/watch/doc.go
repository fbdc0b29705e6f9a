// Package watch shows runs while they are at work. It reads what they write into their folders, makes the page that
// `ocl report` would write of it, with a strip at the top that says how far each run is, and serves the page to
// browsers on this machine. It changes nothing in the folders and trains nothing. Start at [New] and [Watcher.Serve];
// what a folder says is in folder.go, and the page and its addresses are in server.go.
package watch
