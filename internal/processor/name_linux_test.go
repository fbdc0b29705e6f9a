package processor

import "testing"

func TestName(t *testing.T) {
	for cpuinfo, want := range map[string]string{
		"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC \nmodel\t\t: 17\n":                   "AMD EPYC",
		"processor\t: 0\nCPU part\t: 0xd0b\n\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 5 Model B Rev 1.0\n": "Raspberry Pi 5 Model B Rev 1.0",
		"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n":                                          "Neoverse V1",
		"processor\t: 0\nCPU part\t: 0x999\n":                                                                   "",
		"":                                                                                                      "",
	} {
		if got := nameIn(cpuinfo); got != want {
			t.Errorf("%q is called %q, want %q", cpuinfo, got, want)
		}
	}
	if Name() == "" {
		t.Error("the processor of this machine has no name")
	}
}
