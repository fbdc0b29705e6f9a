// Package checkpoint is the container that saved state lives in: named sections, each with a CRC, in a versioned file
// that appears atomically. It knows nothing of what the sections mean. Start at [Encoder] and [Decoder].
package checkpoint
