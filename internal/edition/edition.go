// Package edition says which version of ocl this is. Start at [Release].
package edition

// Release is the version of ocl. It is the only place that says it.
const Release = "0.1.0"
