package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"ocl/internal/count"
	"ocl/internal/input"
	"ocl/internal/limit"
	"ocl/run/metric"
	"ocl/survey/paper"
)

// Shift says whether ER comes nearer to the paper if each run is tuned by itself.
func (p *page) Shift() string {
	s := p.shift
	if s == nil {
		return "Tuned runs are compared when all five are there, and the five of the confirmation."
	}
	t := tableOf("seed", "tuned, %", "one setting for all, %", "chosen")
	for i, seed := range s.Seeds {
		t.row(fmt.Sprint(seed), count.Fixed(s.Tuned[i], 1), count.Fixed(s.Untuned[i], 1), "`"+s.Chosen[i]+"`")
	}
	moves := "That tuning moves the mean is not shown"
	if s.Moves() {
		moves = "Tuning moves the mean"
	}
	spread := func(s paper.Spread) string {
		return fmt.Sprintf("%s (%s to %s)", count.Fixed(s.Deviation, 1), count.Fixed(s.Low, 1), count.Fixed(s.High, 1))
	}
	return t.String() + fmt.Sprintf("\n\n%s: tuned less untuned is %s, paired by seed (p = %s). "+
		"The tuned mean less the published one is %s. "+
		"Standard deviations of runs, with 95 %% intervals: tuned %s, untuned %s, published %s.", moves, points(s.Moved),
		count.Chance(s.Moved.P()), points(s.Above), spread(s.TunedSpread), spread(s.UntunedSpread), spread(s.PublishedSpread))
}

// Torch says whether ER in PyTorch reaches what ours reaches with the same orders of classes, of some seeds.
func (p *page) Torch(first, last uint64) string { return peerText(p.study.Peer(p.torch, first, last)) }

// Anchors sets ER with its fifteen seeds beside the paper, and the seeds of the confirmation beside the later ones.
func (p *page) Anchors() string {
	rows := p.study.AnchorRows()
	if rows == nil {
		return "Its table is here when all of these runs are there."
	}
	t := tableOf("stored samples", "ocl", "the paper", "ocl less the paper, points", "p", "seeds 4 to 8", "seeds 9 to 18",
		"the former less the latter")
	with := func(e metric.Estimate) string { return count.Fixed(e.Mean, 1) + " ± " + count.Fixed(e.Half, 1) }
	for _, r := range rows {
		name := "mean of the three"
		if r.Memory > 0 {
			name = count.Number(r.Memory)
		}
		t.row(name, with(r.Ours), with(r.Published), signed(r.Excess), count.Chance(r.Excess.P()), with(r.Confirmation),
			with(r.Later), signed(r.Luck))
	}
	return t.String()
}

func peerText(x *paper.Peer) string {
	if x == nil {
		return "They are compared when all of these runs are there."
	}
	t := tableOf("seed", "PyTorch, %", "ocl, %")
	for i, seed := range x.Seeds {
		t.row(fmt.Sprint(seed), count.Fixed(x.Theirs[i], 1), count.Fixed(x.Ours[i], 1))
	}
	verdict := map[paper.Verdict]string{paper.Differs: "The programs differ",
		paper.Agrees: "The programs are less than two points apart", paper.Undecided: "Whether the programs differ is open"}
	return t.String() + fmt.Sprintf("\n\n%s: PyTorch less ocl is %s (p = %s).", verdict[x.Verdict], points(x.Difference),
		count.Chance(x.Difference.P()))
}

// points is a difference with its 95 % interval.
func points(d metric.Difference) string { return signed(d) + " points" }

func signed(d metric.Difference) string {
	return count.Signed(d.Mean, 1) + " ± " + count.Fixed(d.Half(0.975), 1)
}

// peerHead is the first line of a file of another program's accuracies.
const peerHead = "seed,average_accuracy,torch"

// readPeer reads the average accuracies of another program, in per cent by seed, from a file that torch_er.py has made.
func readPeer(path string) (map[uint64]float64, error) {
	f, _, err := input.Open(path, input.Want{Most: limit.Config})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = 3
	records, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(records) == 0 || strings.Join(records[0], ",") != peerHead {
		return nil, fmt.Errorf("%s: the first line is not %s", path, peerHead)
	}
	values := map[uint64]float64{}
	for i, record := range records[1:] {
		seed, err := strconv.ParseUint(record[0], 10, 64)
		value, second := strconv.ParseFloat(record[1], 64)
		if cmp.Or(err, second) != nil || !(value >= 0 && value <= 1) {
			return nil, fmt.Errorf("%s: line %d is %q. Want a seed, an accuracy from 0 to 1 and the version", path, i+2, record)
		}
		if seed < paper.FirstPeer || seed > paper.LastPeer {
			return nil, fmt.Errorf("%s: line %d has seed %d. Want one of those that are compared, %d to %d",
				path, i+2, seed, paper.FirstPeer, paper.LastPeer)
		}
		if _, ok := values[seed]; ok {
			return nil, fmt.Errorf("%s: line %d has seed %d again. Delete one of both", path, i+2, seed)
		}
		values[seed] = 100 * value
	}
	return values, nil
}
