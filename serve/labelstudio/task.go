package labelstudio

import (
	"encoding/json"
	"fmt"
	"time"
)

// Task is a picture for people to annotate.
type Task struct {
	ID          int64                      `json:"id"`
	Data        map[string]json.RawMessage `json:"data"`
	Annotations []Annotation               `json:"annotations"`
}

// Annotation is what one person has said of a task.
type Annotation struct {
	Result  json.RawMessage `json:"result"` // a list of what each control says
	Skipped bool            `json:"was_cancelled"`
	Updated time.Time       `json:"updated_at"`
}

// chosen is the class that an annotation says; "" is none.
func (c Config) chosen(a Annotation) string {
	var list []struct {
		From  string `json:"from_name"`
		Type  string `json:"type"`
		Value struct {
			Choices []string `json:"choices"`
		} `json:"value"`
	}
	if a.Skipped || json.Unmarshal(a.Result, &list) != nil { // of another config
		return ""
	}
	for _, r := range list {
		if r.From == c.Control && r.Type == "choices" && len(r.Value.Choices) == 1 {
			return r.Value.Choices[0]
		}
	}
	return ""
}

// label is the class of a task: that of the annotation that was changed last, of those that say one; "" is none.
func (c Config) label(t Task) (label string) {
	var last time.Time
	for _, a := range t.Annotations {
		if name := c.chosen(a); name != "" && (label == "" || !a.Updated.Before(last)) {
			label, last = name, a.Updated
		}
	}
	return label
}

// Webhook is what Label Studio says of something that has happened.
type Webhook struct {
	Project int64   // 0 where none is named
	Tasks   []int64 // none where it does not say which
}

// ParseWebhook reads the body of a webhook. Which action it is of does not matter.
func ParseWebhook(text []byte) (w Webhook, err error) {
	var in struct {
		Project numbered `json:"project"`
		Task    numbered `json:"task"`  // of an annotation; of several annotations a list
		Tasks   numbered `json:"tasks"` // that came or went
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return w, fmt.Errorf("labelstudio: the webhook cannot be read: %w", err)
	}
	if len(in.Project) == 1 {
		w.Project = in.Project[0]
	}
	w.Tasks = append(in.Task, in.Tasks...)
	return w, nil
}

// numbered are the ids of an object, or of a list of them.
type numbered []int64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *numbered) UnmarshalJSON(text []byte) error {
	type object struct {
		ID int64 `json:"id"`
	}
	var list []object
	if err := json.Unmarshal(text, &list); err != nil {
		var one object
		if err := json.Unmarshal(text, &one); err != nil {
			return err
		}
		list = []object{one}
	}
	*n = nil
	for _, o := range list {
		if o.ID > 0 {
			*n = append(*n, o.ID)
		}
	}
	return nil
}
