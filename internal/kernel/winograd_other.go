//go:build !amd64 || purego

package kernel

func (s *Set) winogradChannelLastInput(a *WinogradChannelLast) { winogradChannelLastInputGeneric(a) }
func (s *Set) winogradChannelLastGradient(a *WinogradChannelLast) {
	winogradChannelLastGradientGeneric(a)
}
func (s *Set) winogradChannelLastOutput(a *WinogradChannelLast, f *Finish) {
	winogradChannelLastOutputGeneric(a, f)
}
func (s *Set) winogradPlanesInput(a *WinogradPlanes)    { winogradPlanesInputGeneric(s, a) }
func (s *Set) winogradPlanesGradient(a *WinogradPlanes) { winogradPlanesGradientGeneric(s, a) }
func (s *Set) winogradPlanesOutput(a *WinogradPlanes, f *Finish) {
	winogradPlanesOutputGeneric(s, a, f)
}
func (s *Set) winogradWeights(a *WinogradWeights)     { winogradWeightsGeneric(a) }
func (s *Set) winogradWeightsGrad(a *WinogradWeights) { winogradWeightsGradGeneric(a) }
func (s *Set) winogradWeightsAhead(*WinogradWeights)  {}
