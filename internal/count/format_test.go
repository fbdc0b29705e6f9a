package count

import (
	"math"
	"testing"
)

func TestNumbersForPeople(t *testing.T) {
	nan := math.NaN()
	for _, c := range [][2]string{
		{Percent(0.2136), "21.4"}, {Percent(-0.0001), "0.0"}, {Percent(1), "100.0"}, {Percent(nan), "–"},
		{Fixed(-0.4, 0), "0"}, {Fixed(-1.25, 2), "-1.25"},
		{Signed(1.23, 1), "+1.2"}, {Signed(-0.3, 1), "−0.3"}, {Signed(-0.04, 1), "+0.0"}, {Signed(nan, 1), "–"},
		{PlusMinus(0.175, 0.004, Percent), "17.5 ± 0.4"}, {PlusMinus(0.175, nan, Percent), "17.5"},
		{Significant(0.012345), "0.0123"}, {Significant(nan), "–"},
		{Duration(0), "0.0s"}, {Duration(4.24), "4.2s"}, {Duration(59.4), "59s"}, {Duration(59.6), "1m00s"},
		{Duration(160), "2m40s"}, {Duration(3599.6), "1h00m"},
		{Duration(9000), "2h30m"}, {Duration(nan), "–"},
		{Bytes(999), "999 B"}, {Bytes(1234567890), "1.2 GB"}, {Bytes(312e6), "312 MB"}, {Bytes(999_999), "1.0 MB"},
		{Short(5000), "5k"}, {Short(1500), "1.5k"}, {Short(500), "500"}, {Short(1234), "1,234"},
		{And(nil), ""}, {And([]string{"a"}), "a"}, {And([]string{"a", "b", "c"}), "a, b and c"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}
