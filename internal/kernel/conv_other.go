//go:build !amd64 || purego

package kernel

func (s *Set) planes(a *Planes)                       { planesGeneric(s, a) }
func (s *Set) planesGrad(a *PlanesGrad)               { planesGradGeneric(s, a) }
func (s *Set) channelLast(a *ChannelLast)             { channelLastGeneric(s, a) }
func (s *Set) channelLastNarrow(a *ChannelLastNarrow) { channelLastNarrowGeneric(s, a) }
func (s *Set) channelLastGrad(a *ChannelLastGrad)     { channelLastGradGeneric(s, a) }
func (s *Set) fmaPeak(int) int64                      { return 0 }
