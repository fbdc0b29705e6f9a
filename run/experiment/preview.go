package experiment

import (
	"context"
	"image"

	"ocl/config"
	"ocl/data"
	"ocl/data/sheet"
	"ocl/data/stream"
	"ocl/internal/cause"
	"ocl/run/build"
)

// oneBlock is the most tasks that a sheet shows in rows below one another, and not in blocks side by side.
const oneBlock = 25

// Preview draws a sheet of the streams of configs, which have the same data: a row of images for each task. Several
// streams stand side by side. The first seed of each config is used. The configs are checked, and the tasks and order
// are those of a run with them; methods and networks play no part. progress may be nil (see Options.Progress).
func Preview(ctx context.Context, configs []config.Config, o stream.PreviewOptions,
	progress func(what string, done, total int)) (image.Image, error) {
	for _, c := range configs {
		if err := Schema().Validate(c); err != nil {
			return nil, err
		}
	}
	set, err := OpenData(ctx, configs[0], Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	var rows []data.Row
	for _, c := range configs {
		c = Schema().Resolved(c)
		if err := build.CompleteStream(set, &c); err != nil {
			return nil, cause.As(err, ErrUnfit)
		}
		split, err := build.StreamOptions(set, c)
		if err != nil {
			return nil, cause.As(err, ErrUnfit)
		}
		tasks, err := stream.Split(set, split)
		if err != nil {
			return nil, cause.As(err, ErrUnfit)
		}
		more, err := tasks.Preview(o)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	columns := 0
	if len(rows) <= oneBlock*len(configs) {
		columns = len(configs)
	}
	return sheet.Draw(set, rows, columns)
}
