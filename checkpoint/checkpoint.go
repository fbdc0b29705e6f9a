// Package checkpoint saves and loads states: named sections of bytes, each with a CRC, in one versioned file
// (docs/format/checkpoint.md). It knows nothing of what the sections mean.
//
// What has a state lists its [Parts]; saving to an [Encoder] and loading from a [Decoder] both follow from that list:
//
//	parts := checkpoint.Parts{checkpoint.Values("seen", &seen), checkpoint.Numbers("weights", weights)}
//	state := checkpoint.NewContainer()
//	err := parts.SaveState(state.Encoder())
//	_, err = state.WriteTo(file)
//
//	loaded, err := checkpoint.Parse(bytes)
//	err = parts.LoadState(loaded.Decoder()) // seen and weights are what was saved
//
// A [Container] holds the state in memory, [Container.WriteTo] and [Parse] are its form in a file, a [Dir] keeps the
// newest file and the one before it, and a [Writer] writes into a Dir in the background.
package checkpoint
