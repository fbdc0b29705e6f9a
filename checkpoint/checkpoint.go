// Package checkpoint is the container that saved state lives in: named sections, each with a CRC, in a versioned file
// that appears atomically (docs/format/checkpoint.md). It knows nothing of what the sections mean.
//
// What has a state lists its [Parts]; saving to an [Encoder] and loading from a [Decoder] both follow from that list. A
// [Container] holds the state in memory, [Container.WriteTo] and [Parse] are its form in a file, a [Dir] keeps the
// newest file and the one before it, and a [Writer] writes into a Dir in the background. [WriteFileAtomic] and
// [MakeFolder] are for all other files: none is ever seen half written, none is lost by a power cut.
package checkpoint
