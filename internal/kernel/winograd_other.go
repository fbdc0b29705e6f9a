//go:build !amd64 || purego

package kernel

func (s *Set) winogradRowsInput(a *WinogradRows)             { winogradRowsInputGeneric(a) }
func (s *Set) winogradRowsGradient(a *WinogradRows)          { winogradRowsGradientGeneric(a) }
func (s *Set) winogradRowsOutput(a *WinogradRows, f *Finish) { winogradRowsOutputGeneric(a, f) }
func (s *Set) winogradPlanesInput(a *WinogradPlanes)         { winogradPlanesInputGeneric(s, a) }
func (s *Set) winogradPlanesGradient(a *WinogradPlanes)      { winogradPlanesGradientGeneric(s, a) }
func (s *Set) winogradPlanesOutput(a *WinogradPlanes, f *Finish) {
	winogradPlanesOutputGeneric(s, a, f)
}
func (s *Set) winogradWeights(a *WinogradWeights)     { winogradWeightsGeneric(a) }
func (s *Set) winogradWeightsGrad(a *WinogradWeights) { winogradWeightsGradGeneric(a) }
func (s *Set) winogradWeightsAhead(*WinogradWeights)  {}
