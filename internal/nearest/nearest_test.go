package nearest

import (
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	names := []string{"agem", "er", "ewc++", "finetune", "mir", "preview"}
	flags := []string{"--method", "--memory", "--momentum", "--lr", "--data"}
	keys := []string{"memory", "optimizer.name", "optimizer.lr", "optimizer.momentum"}
	for _, c := range []struct {
		word       string
		candidates []string
		want       string
	}{
		{"finetun", names, "finetune"}, {"fintune", names, "finetune"}, {"Finetuning", names, "finetune"},
		{"re", names, "er"},
		{"err", names, "er"}, {"ER", names, "er"}, {"ewc", names, "ewc++"}, {"a-gem", names, "agem"}, {"AGEM", names, "agem"},
		{"prev", names, "preview"}, {"PREV", names, "preview"}, {"replay", names, ""}, {"x", names, ""}, {"", names, ""},
		{"--mehtod", flags, "--method"}, {"--memroy", flags, "--memory"}, {"--mem", flags, "--memory"},
		{"--rl", flags, "--lr"},
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
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1},
		{"ca", "abc", 3}} {
		if got, back := distance(c.a, c.b), distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("distance of %q and %q is %d, back %d; want %d", c.a, c.b, got, back, c.want)
		}
	}
}

func TestNear(t *testing.T) {
	meaning := func(name string) string {
		return map[string]string{"--lr": "learning rate", "--batch": "samples in an incoming batch",
			"--runs": "runs of each method",
			"er":     "Experience replay", "gdumb": "Greedy sampler", "optimizer.lr": "learning rate"}[name]
	}
	names := Names{List: []string{"--lr", "--batch", "--runs", "--batch-size", "er", "gdumb", "optimizer.name",
		"optimizer.lr", "optimizer.momentum",
		"stream.a", "stream.b", "stream.c", "stream.d", "stream.e", "stream.f"}, Meaning: meaning}
	for word, want := range map[string]string{
		"--learning-rate": "--lr,optimizer.lr", "experience-replay": "er", "replay": "er",
		"optimizer.learning_rate": "optimizer.lr",
		"optimizer.bound":         "optimizer.name,optimizer.lr", "optimizer.nesterov": "optimizer.name", "--batch": "--batch",
		"stream.x": "stream.a,stream.b,stream.c,stream.d,stream.e", "--bacth": "--batch",
		"stream.z": "stream.a,stream.b,stream.c,stream.d,stream.e", "colour": "", "": "", "--sampler-of-everything": "",
		strings.Repeat("stream.", 1_000_000): "stream.a,stream.e,stream.b,stream.c,stream.d",
	} {
		if got := strings.Join(names.Near(word), ","); got != want {
			t.Errorf("Near(%.40q) is %q, want %q", word, got, want)
		}
	}
}

// TestAliases: a name is also found by a shorter form, if no name of its own is as near.
func TestAliases(t *testing.T) {
	names := Names{List: []string{"memory", "seeds.memory", "optimizer.lr", "stream.batch", "replay.batch"},
		Aliases: func(name string) []string { return []string{name[strings.Index(name, ".")+1:]} }}
	for word, want := range map[string]string{
		"lr": "optimizer.lr", "memory2": "memory", "seed.memory": "seeds.memory", "batch_size": "stream.batch,replay.batch",
		"nothing": "",
	} {
		if got := strings.Join(names.Near(word), ","); got != want {
			t.Errorf("Near(%q) is %q, want %q", word, got, want)
		}
	}
}

func TestHint(t *testing.T) {
	many := []string{"apple", "banana", "cherry", "damson", "elderberry", "fig"}
	for _, c := range []struct {
		word  string
		names Names
		want  string
	}{
		{"fintune", Names{List: []string{"er", "finetune"}}, "Did you mean finetune?"},
		{"replay", Names{List: []string{"er", "finetune"}}, "Use er or finetune"},
		{"replay", Names{List: []string{"er"}, All: "See there"}, "Use er. See there"},
		{"bananas", Names{List: many, All: "See there"}, "Did you mean banana? See there"},
		{"quince", Names{List: many, All: "See there"}, "See there"},
		{"quince", Names{List: many}, "The nearest names are apple, fig, banana, cherry or damson"},
	} {
		if got := c.names.Hint(c.word); got != c.want {
			t.Errorf("Hint(%q) is %q, want %q", c.word, got, c.want)
		}
	}
	if got, want := Hint("x", []string{"a", "b", "c"}), "Use a, b or c"; got != want {
		t.Errorf("Hint is %q, want %q", got, want)
	}
}
