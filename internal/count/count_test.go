package count

import (
	"math"
	"strings"
	"testing"
)

// One thing has the noun as it is given, and any other number its plural.
func TestNumbersAreWrittenWithTheirNouns(t *testing.T) {
	for _, c := range [][2]string{
		{Of(1, "image"), "1 image"}, {Of(0, "run"), "0 runs"}, {Of(-1, "step"), "-1 steps"},
		{Of(2000, "class"), "2,000 classes"},
		{Of(2, "entry"), "2 entries"}, {Of(1, "entry"), "1 entry"}, {Of(2, "day"), "2 days"}, {Of(2, "box"), "2 boxes"},
		{Of(3, "batch"), "3 batches"}, {Of(70, "epoch"), "70 epochs"}, {Of(int64(5), "training image"), "5 training images"},
		{Of(1, "class"), "1 class"},
		{Some([]string{"a", "b"}), "a, b"}, {Some(strings.Split("a b c d e", " ")), "a, b, c, d, e"},
		{Some(strings.Split("a b c d e f g", " ")), "a, b, c, d, e, and 2 more"}, {Some(nil), ""},
		{Some([]string{"tench, Tinca tinca", "goldfish"}), "tench, Tinca tinca; goldfish"},
		{First(1, []string{"a, b", "c", "d"}), "a, b; and 2 more"},
		{Range(1, 5), "1 to 5"}, {Range(3, 3), "3"}, {Range(1, 10_000), "1 to 10000"},
		{Number(0), "0"}, {Number(999), "999"}, {Number(1430), "1,430"}, {Number(-12345678), "-12,345,678"},
		{Number(-123), "-123"},
		{Number(uint64(math.MaxUint64)), "18,446,744,073,709,551,615"},
		{Number(int64(math.MinInt64)), "-9,223,372,036,854,775,808"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}
