package labelstudio

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ocl/internal/escape"
	"ocl/internal/limit"
	"ocl/serve/client"
)

// TestConfigsOfOneChoice: which labelling configs have one choice of one class for a picture.
func TestConfigsOfOneChoice(t *testing.T) {
	const image = `<Image name="img" value="$photo"/>`
	for text, want := range map[string]string{
		`<View>` + image + `<Choices name="c" toName="img"><Choice value="a"/><Choice value="b" alias="B"/></Choices></View>`: "",
		`<View>` + image + `<choices name="c" toname="img" choice="single-radio"/><Rating name="r" toName="img"/></View>`:     "",
		`<View/>`: "has 0 Choices",
		`<View>` + image + `<Taxonomy name="c" toName="img"/></View>`:                                "no Taxonomy in its place",
		`<View>` + image + `<Choices name="c" toName="img"/><Choices name="d" toName="img"/></View>`: "has 2 Choices",
		`<View>` + image + `<Choices name="c" toName="img" choice="multiple"/></View>`:               "several classes (choice=multiple)",
		`<View>` + image + `<Choices name="c" toName="img" perRegion="true"/></View>`:                "Leave out perRegion",
		`<View>` + image + `<Choices name="c" toName="img" allowNested="true"/></View>`:              "and allowNested",
		`<View><Text name="t" value="$t"/><Choices name="c" toName="t"/></View>`:                     "are for t, which is no Image",
		`<View><Image name="img" valueList="$l"/><Choices name="c" toName="img"/></View>`:            "Use one such as $image",
		`<View>`:                            "is no XML",
		strings.Repeat(" ", limit.Config+1): "is too long",
	} {
		c, err := ParseConfig(text)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.200s: %v, want %q", text, err, want)
		case want == "" && (err != nil || c.Control != "c" || c.Object != "img" || c.Field != "photo"):
			t.Errorf("%s: %+v %v", text, c, err)
		case len(c.Classes) > 0 && !slices.Equal(c.Classes, []string{"a", "B"}):
			t.Errorf("%s: the classes are %q", text, c.Classes)
		}
	}
}

// TestWhichTasksAWebhookIsAbout: an annotation has its task, several have a list, and a deleted one does not say.
func TestWhichTasksAWebhookIsAbout(t *testing.T) {
	for text, want := range map[string][]int64{
		`{"project":{"id":3},"task":{"id":7},"annotation":{"id":1}}`:              {7},
		`{"project":{"id":3},"task":[{"id":7},{"id":9}],"annotation":[{"id":1}]}`: {7, 9},
		`{"project":{"id":3},"tasks":[{"id":4}]}`:                                 {4},
		`{"project":{"id":3},"annotations":[{"id":1}]}`:                           nil,
	} {
		if w, err := ParseWebhook([]byte(text)); err != nil || w.Project != 3 || !slices.Equal(w.Tasks, want) {
			t.Errorf("%s: %+v %v, want %v", text, w, err, want)
		}
	}
}

// project is one that asks nobody.
func project(t testing.TB) *Project {
	p, err := New(Options{URL: "https://studio.example/labels/projects/12", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMuchIsHeard: where many tasks wait, all are looked at.
func TestMuchIsHeard(t *testing.T) {
	p := project(t)
	p.all = false
	var ids []int64
	for id := range int64(limit.LabelStudioHeard) {
		ids = append(ids, id+1)
	}
	p.Heard(ids)
	if p.all || len(p.heard) != limit.LabelStudioHeard {
		t.Errorf("%d tasks are heard of, all is %v", len(p.heard), p.all)
	}
	p.Heard([]int64{limit.LabelStudioHeard + 1})
	if !p.all || len(p.heard) != 0 {
		t.Errorf("with one more, %d tasks are heard of, all is %v", len(p.heard), p.all)
	}
}

// TestAPrefixOfAnAddress: Label Studio may lie below one.
func TestAPrefixOfAnAddress(t *testing.T) {
	p := project(t)
	if p.id != 12 || p.base.String() != "https://studio.example/labels/" ||
		p.base.JoinPath("api/tasks/").String() != "https://studio.example/labels/api/tasks/" {
		t.Errorf("project %d at %s", p.id, p.base)
	}
}

// answers is a transport that answers each path with a status and a text.
type answers func(path string) (status int, text string)

// RoundTrip implements [http.RoundTripper].
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	status, text := a(r.URL.Path)
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Header: http.Header{},
		Request: r}, nil
}

// TestFailuresAreTriedAgain: after a second, and later ever more rarely, whatever is heard meanwhile.
func TestFailuresAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), []time.Duration{}
		p, err := New(Options{URL: "http://localhost/projects/1", Token: "t", Transport: answers(func(path string) (int,
			string) {
			switch path {
			case "/api/projects/1/":
				return http.StatusOK, `{"label_config":"<View><Image name='i' value='$image'/><Choices name='c' toName='i'/></View>"}`
			case "/picture":
				asked = append(asked, time.Since(began))
				return http.StatusInternalServerError, ""
			}
			return http.StatusOK, `{"total":1,"tasks":[{"id":1,"data":{"image":"/picture"},"annotations":[{"result":[{"from_name":"c","type":"choices","value":{"choices":["a"]}}]}]}]}`
		})})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New("http://localhost", client.Options{HTTP: &http.Client{Transport: answers(func(string) (int,
			string) {
			return http.StatusNotFound, "" // it knows no sample
		})}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go p.Learn(ctx, c)
		for range 200 {
			time.Sleep(900 * time.Millisecond) // of the bubble
			p.Heard([]int64{2})
		}
		cancel()
		synctest.Wait()
		var want []time.Duration
		for at, wait := time.Duration(0), time.Second; at < 180*time.Second; at, wait = at+wait, min(2*wait, mostWait) {
			want = append(want, at)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("the picture is asked for after %v, want %v", asked, want)
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	f.Add(`<View><Image name="img" value="$photo"/><Choices name="c" toName="img"><Choice value="a"/></Choices></View>`)
	f.Add(`<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig(text)
		if err != nil && (c.Control != "" || len(err.Error()) > 1000 || err.Error() != escape.Line(err.Error())) {
			t.Errorf("%.300q: %+v and %.1000q", text, c, err)
		}
	})
}

func FuzzParseWebhook(f *testing.F) {
	f.Add([]byte(`{"project":{"id":3},"task":[{"id":7},{"id":9}],"tasks":{"id":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := ParseWebhook(text)
		if err != nil {
			return
		}
		for _, id := range append(w.Tasks, max(w.Project, 1)) {
			if id < 1 {
				t.Errorf("%q has the number %d", text, id)
			}
		}
	})
}

// FuzzTask: whatever an annotation has, it says one class of its own, or none.
func FuzzTask(f *testing.F) {
	f.Add([]byte(`{"id":1,"data":{"image":"/x"},"annotations":[{"result":[{"from_name":"c","type":"choices","value":{"choices":["a"]}}],"updated_at":"2026-11-29T14:57:10.8Z"}]}`))
	f.Add([]byte(`{"id":1,"annotations":[{"result":[{"from_name":"c","type":"choices","value":{"choices":[["a","b"]]}}],"was_cancelled":true}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var task Task
		if json.Unmarshal(text, &task) != nil {
			return
		}
		c := Config{Control: "c", Field: "image"}
		label, said := c.label(task), label(task)
		if label != said {
			t.Errorf("%q is %q, want %q", text, label, said)
		}
		if _, err := project(t).Picture(t.Context(), c, Task{Data: map[string]json.RawMessage{"image": json.RawMessage(`"//x/"`)}}); err == nil {
			t.Error("a picture is fetched from elsewhere")
		}
	})
}

// label is Config.label, in another way: the last of the annotations in the order of their times.
func label(task Task) (last string) {
	c := Config{Control: "c"}
	list := slices.Clone(task.Annotations)
	slices.SortStableFunc(list, func(a, b Annotation) int { return time.Time.Compare(a.Updated, b.Updated) })
	for _, a := range list {
		if s := c.chosen(a); s != "" {
			last = s
		}
	}
	return last
}
