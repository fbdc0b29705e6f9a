package core50

import (
	"slices"
	"strings"
	"testing"
)

// Count is how many frames some cells have.
func Count(cells []Cell) int {
	n := 0
	for _, c := range cells {
		n += Frames - c.First()
	}
	return n
}

// TestCounts: the tables have the frames that CORe50 says it has.
func TestCounts(t *testing.T) {
	if n := Count(All()); n != Total {
		t.Errorf("%d frames, want %d", n, Total)
	}
	if n := Count(Cells(TestSessions, upTo(Objects))); n != Tests {
		t.Errorf("%d frames for testing, want %d", n, Tests)
	}
	if n := Count(Cells(TrainSessions, upTo(Objects))); n != Total-Tests {
		t.Errorf("%d frames for training, want %d", n, Total-Tests)
	}
	test := 0
	for _, c := range All() {
		if c.Test() {
			test += Count([]Cell{c})
		}
	}
	if test != Tests {
		t.Errorf("%d frames of cells for testing, want %d", test, Tests)
	}
}

// tests are the numbers of test images of each task of NC.
func tests(run int) []int {
	counts := make([]int, len(ncGroups))
	for task := range counts {
		counts[task] = Count(Cells(TestSessions, ncObjects(run, task)))
	}
	return counts
}

// near says whether a number differs from the survey's (tab:dataset) by 0.2 %, rounded, or less. Session 5 lacks most: 34 of
// 15,000 images.
func near(n, survey int) bool { return 400*max(n-survey, survey-n) < survey }

// TestSizesAreThoseOfTheSurvey compares the lists of every run with the survey (tab:dataset): NC has 12,000 to 24,000 training and 4,500 to
// 9,000 test images a task, 10 + 8×5 classes; NI has 15,000 training images a task, and 44,972 test images.
func TestSizesAreThoseOfTheSurvey(t *testing.T) {
	if sizes := NCSizes(); !slices.Equal(sizes, []int{10, 5, 5, 5, 5, 5, 5, 5, 5}) {
		t.Errorf("the tasks of NC have %v classes, want 10 and eight times 5", sizes)
	}
	if n := len(Lists()); n != 10*(9+1)+10*(8+1) {
		t.Errorf("%d lists, want 10 runs of 9 and of 8 tasks, each with a list of test images", n)
	}
	for _, l := range Lists() {
		n := Count(l.Cells())
		switch {
		case l.Task == TestTask && n != Tests, l.Scenario == NI && l.Task != TestTask && !near(n, 15000),
			l.Scenario == NC && l.Task == 0 && !near(n, 24000), l.Scenario == NC && l.Task > 0 && !near(n, 12000):
			t.Errorf("%s has %d images", l.Path(), n)
		}
	}
	for run := range Runs {
		for task, n := range tests(run) {
			if want := []int{9000, 4500}[min(task, 1)]; !near(n, want) {
				t.Errorf("NC, run %d, task %d: %d test images, want about %d", run, task, n, want)
			}
		}
	}
}

// TestExactSizes pins the sizes of the first run, which were counted in the official lists, and the sums of all runs.
func TestExactSizes(t *testing.T) {
	sizes := map[string][]int{}
	for _, l := range Lists() {
		if l.Run == 0 && l.Task != TestTask {
			sizes[l.Scenario] = append(sizes[l.Scenario], Count(l.Cells()))
		}
	}
	if want := []int{23980, 11993, 11990, 11993, 11989, 11979, 11990, 11987, 11993}; !slices.Equal(sizes[NC], want) {
		t.Errorf("NC: %v, want %v", sizes[NC], want)
	}
	if want := []int{14991, 14995, 14986, 14994, 14989, 14989, 14966, 14984}; !slices.Equal(sizes[NI], want) {
		t.Errorf("NI: %v, want %v", sizes[NI], want)
	}
	if got, want := tests(0), []int{8993, 4495, 4500, 4493, 4500, 4500, 4495, 4496, 4500}; !slices.Equal(got, want) {
		t.Errorf("test images of NC: %v, want %v", got, want)
	}
	for _, scenario := range []string{NC, NI} {
		for run := range Runs {
			sum := 0
			for task := range tasksOf(scenario) {
				sum += Count(List{scenario, run, task}.Cells())
			}
			if sum != Total-Tests {
				t.Errorf("%s, run %d has %d training images, want %d", scenario, run, sum, Total-Tests)
			}
		}
	}
}

// TestOrdersArePermutations: every run takes every object, or every training session, once, and no two runs are equal.
func TestOrdersArePermutations(t *testing.T) {
	for name, c := range map[string]struct {
		orders [][]int
		of     []int
	}{NC: {NCOrders(), upTo(Objects)}, NI: {NIOrders(), TrainSessions}} {
		for run, order := range c.orders {
			if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, c.of) {
				t.Errorf("%s, run %d takes %v", name, run, got)
			}
			for before := range run {
				if slices.Equal(order, c.orders[before]) {
					t.Errorf("%s: runs %d and %d are equal", name, before, run)
				}
			}
		}
	}
}

// TestNames: five objects of each category have names.
func TestNames(t *testing.T) {
	names := Names()
	if len(names) != Objects || names[0] != "plug_adapter1" || names[7] != "mobile_phone3" || names[49] != "remote_control5" {
		t.Errorf("%q", names)
	}
	if slices.Sort(names); len(slices.Compact(names)) != Objects {
		t.Error("two objects have one name")
	}
}

// TestOrderOfCells: folders come in the order of their names, as in the official lists.
func TestOrderOfCells(t *testing.T) {
	var words []string
	for _, c := range Cells([]int{11, 2}, []int{1, 2, 9, 10, 30, 3}) {
		words = append(words, c.Folder())
	}
	const want = "s11/o1 s11/o10 s11/o2 s11/o3 s11/o30 s11/o9 s2/o1 s2/o10 s2/o2 s2/o3 s2/o30 s2/o9"
	if got := strings.Join(words, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := (Cell{11, 8}).Name((Cell{11, 8}).First()); got != "C_11_08_003.png" {
		t.Errorf("the first frame of object 8 in session 11 is %s", got)
	}
}
