package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ocl/internal/limit"
	"ocl/live"
	"ocl/serve/daemon"
	"ocl/serve/labelstudio"
)

// The requests of Label Studio, by its protocol for models (ML backends). They are there where the daemon learns from a
// project of it.

// studioTime is how long predictions for Label Studio may take. It waits 100 seconds, and asks again for what it did
// not get.
const studioTime = 80 * time.Second

// studio does what a request of Label Studio asks for, where there is a project.
func (s *server) studio(do does) does {
	return func(to http.ResponseWriter, r *http.Request) (int, any, error) {
		if s.o.LabelStudio == nil {
			return 0, nil, problem(http.StatusNotFound,
				"This daemon learns from no project of Label Studio. Start it with --label-studio and the address of a project.")
		}
		return do(to, r)
	}
}

// studioHealth answers GET /health.
func (s *server) studioHealth(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, map[string]string{"status": "UP", "model_class": s.o.Name}, nil
}

// studioVersion names a version of the model. Label Studio asks for predictions again when the name changes.
func (s *server) studioVersion(version int64) string { return fmt.Sprintf("%s-%d", s.o.Name, version) }

// studioRequest is what setup and predict have in common. What else Label Studio sends is not read.
type studioRequest struct {
	Project string `json:"project"` // its number, a dot, and when it was made
	Schema  string `json:"schema"`  // the labelling config, of setup
	Config  string `json:"label_config"`
	Tasks   []struct {
		ID int64 `json:"id"`
	} `json:"tasks"`
}

// fromStudio reads a request of Label Studio, which is to be of the project from which the daemon learns.
func (s *server) fromStudio(to http.ResponseWriter, r *http.Request) (in studioRequest, err error) {
	body, memory, err := s.readBody(to, r, s.o.Limits.Body)
	if err != nil {
		return in, err
	}
	defer memory.back()
	if err := json.Unmarshal(body, &in); err != nil {
		return in, bad("The JSON of Label Studio cannot be read: %.200s.", err.Error())
	}
	number, _, _ := strings.Cut(in.Project, ".")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return in, bad("The body names no project of Label Studio. Send its number, such as 1.1700000000.")
	}
	return in, s.ofProject(r.Context(), id)
}

// ofProject refuses what is of another project. Label Studio shows the status of an answer alone, so the log says it
// too.
func (s *server) ofProject(ctx context.Context, id int64) error {
	if own := s.o.LabelStudio.ID(); id != own {
		s.log.WarnContext(ctx, "another project of Label Studio asks; start a daemon of its own for it", "project", id,
			"own", own)
		return problem(http.StatusMisdirectedRequest,
			"This daemon learns from project %d of Label Studio, and this is of project %d. Start a daemon of its own for that one.", own,
			id)
	}
	return nil
}

// studioConfig reads a labelling config.
func (s *server) studioConfig(ctx context.Context, text string) (labelstudio.Config, error) {
	c, err := labelstudio.ParseConfig(text)
	if err != nil {
		s.log.WarnContext(ctx, "the project of Label Studio cannot be learned from", "error", sentence(err))
		return c, problem(http.StatusUnprocessableEntity, "%s", sentence(err))
	}
	return c, nil
}

// studioSetup answers POST /setup: whether the project can be learned from, and which version predicts.
func (s *server) studioSetup(to http.ResponseWriter, r *http.Request) (int, any, error) {
	in, err := s.fromStudio(to, r)
	if err == nil {
		_, err = s.studioConfig(r.Context(), in.Schema)
	}
	return http.StatusOK, map[string]string{"model_version": s.studioVersion(s.model.Version())}, err
}

// studioWebhook answers POST /webhook: at once, as Label Studio waits for a second. It changes nothing itself, so that
// nobody has to show a token.
func (s *server) studioWebhook(to http.ResponseWriter, r *http.Request) (int, any, error) {
	body, memory, err := s.readBody(to, r, s.o.Limits.Body)
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		s.o.LabelStudio.Heard(nil) // it may be about any task
	}
	if err != nil {
		return 0, nil, err
	}
	defer memory.back()
	w, err := labelstudio.ParseWebhook(body)
	if err != nil {
		return 0, nil, bad("%s", sentence(err))
	}
	if w.Project != 0 {
		if err := s.ofProject(r.Context(), w.Project); err != nil {
			return 0, nil, err
		}
	}
	s.o.LabelStudio.Heard(w.Tasks)
	return http.StatusAccepted, map[string]bool{"heard": true}, nil
}

// studioPrediction is a prediction as Label Studio has it.
type studioPrediction struct {
	Version string         `json:"model_version"`
	Score   *float64       `json:"score,omitempty"` // the probability, of a method that has one
	Result  []studioResult `json:"result"`
}

type studioResult struct {
	From  string              `json:"from_name"`
	To    string              `json:"to_name"`
	Type  string              `json:"type"`
	Value map[string][]string `json:"value"`
	Score *float64            `json:"score,omitempty"`
}

// studioPredict answers POST /predict with a list for each task: of one prediction, or of none where the picture cannot
// be had or the time is over. Label Studio asks again for a task that has none.
func (s *server) studioPredict(to http.ResponseWriter, r *http.Request) (int, any, error) {
	in, err := s.fromStudio(to, r)
	if err != nil {
		return 0, nil, err
	}
	c, err := s.studioConfig(r.Context(), in.Config)
	if err != nil {
		return 0, nil, err
	}
	var ids []int64
	for _, t := range in.Tasks {
		ids = append(ids, t.ID)
	}
	hurry := unhurried(to)
	defer hurry()
	ctx, cancel := context.WithTimeout(r.Context(), studioTime)
	defer cancel()
	found := map[int64][]studioPrediction{}
	var fault error // of the first picture that has none
	for part := range slices.Chunk(ids, live.MaxPictures) {
		err := s.studioPart(r.WithContext(ctx), c, part, found, &fault)
		switch {
		case ctx.Err() != nil: // what is there is of use
		case err != nil:
			return 0, nil, err
		default:
			continue
		}
		break
	}
	if fault != nil && len(found) == 0 {
		return 0, nil, problem(http.StatusBadGateway, "%s", sentence(fault))
	}
	results := make([][]studioPrediction, len(ids))
	for i, id := range ids {
		results[i] = append([]studioPrediction{}, found[id]...)
	}
	return http.StatusOK, map[string]any{"results": results}, nil
}

// studioPart predicts some tasks, at most live.MaxPictures. fault becomes the error of the first picture that cannot be
// had.
func (s *server) studioPart(r *http.Request, c labelstudio.Config, ids []int64, found map[int64][]studioPrediction,
	fault *error) error {
	tasks, err := s.o.LabelStudio.Tasks(r.Context(), ids)
	if err != nil {
		return problem(http.StatusBadGateway, "%s", sentence(err))
	}
	memory := &held{s: s.memory, who: who(r)}
	defer memory.back()
	var pixels [][]byte
	var of []int64
	for _, t := range tasks {
		one, err := s.studioPixels(r, c, t, memory)
		if err != nil {
			s.log.WarnContext(r.Context(), "a task of Label Studio gets no prediction", "task", t.ID, "error", sentence(err))
			if *fault == nil {
				*fault = err
			}
			continue
		}
		pixels, of = append(pixels, one), append(of, t.ID)
	}
	if len(pixels) == 0 {
		return nil
	}
	a, err := s.ask(r, pixels, limit.ServeGuesses)
	if err != nil {
		return err
	}
	for i, list := range a.Guesses {
		for _, g := range daemon.Guesses(list, s.model.Measure()) {
			if name := c.Choice(g.Class); name != "" { // one that people can choose
				found[of[i]] = []studioPrediction{{s.studioVersion(a.Version), g.Probability, []studioResult{{c.Control, c.Object, "choices",
					map[string][]string{"choices": {name}}, g.Probability}}}}
				break
			}
		}
	}
	return nil
}

// studioPixels fetches the picture of a task, and makes of it what the network sees.
func (s *server) studioPixels(r *http.Request, c labelstudio.Config, t labelstudio.Task, memory *held) ([]byte, error) {
	whole := &held{s: s.memory, who: who(r)}
	defer whole.back()
	if err := whole.take(r.Context(), limit.ServeBody); err != nil { // the most that the picture may have
		return nil, err
	}
	file, err := s.o.LabelStudio.Picture(r.Context(), c, t)
	if err != nil {
		return nil, err
	}
	pixels, err := s.pixels(r, []sent{{file: file}}, memory)
	if err != nil {
		return nil, err
	}
	return pixels[0], nil
}
