package nearest

import "testing"

func TestWord(t *testing.T) {
	names := []string{"agem", "er", "ewc++", "finetune", "mir", "preview"}
	flags := []string{"--method", "--memory", "--momentum", "--lr", "--data"}
	keys := []string{"memory", "optimizer.name", "optimizer.lr", "optimizer.momentum"}
	for _, c := range []struct {
		word       string
		candidates []string
		want       string
	}{
		{"finetun", names, "finetune"}, {"fintune", names, "finetune"}, {"Finetuning", names, "finetune"}, {"re", names, "er"},
		{"err", names, "er"}, {"ER", names, "er"}, {"ewc", names, "ewc++"}, {"a-gem", names, "agem"}, {"AGEM", names, "agem"},
		{"prev", names, "preview"}, {"PREV", names, "preview"}, {"replay", names, ""}, {"x", names, ""}, {"", names, ""},
		{"--mehtod", flags, "--method"}, {"--memroy", flags, "--memory"}, {"--mem", flags, "--memory"}, {"--rl", flags, "--lr"},
		{"--learning-rate", flags, ""},
		{"--datadir", []string{"--data", "--data-dir"}, "--data-dir"}, {"optimizer.lrate", keys, "optimizer.lr"},
		{"optimizer.learning", keys, "optimizer.lr"}, {"seed", keys, ""},
		{"cand", []string{"Candidates"}, "Candidates"}, {"a", nil, ""},
	} {
		if got := Word(c.word, c.candidates); got != c.want {
			t.Errorf("Word(%q, %q) is %q, want %q", c.word, c.candidates, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"ca", "abc", 3}} {
		if got, back := distance(c.a, c.b), distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("distance of %q and %q is %d, back %d; want %d", c.a, c.b, got, back, c.want)
		}
	}
}

func TestHint(t *testing.T) {
	for word, want := range map[string]string{"fintune": "did you mean finetune?", "replay": "choose one of er, finetune"} {
		if got := Hint(word, []string{"er", "finetune"}); got != want {
			t.Errorf("Hint(%q) is %q, want %q", word, got, want)
		}
	}
}
