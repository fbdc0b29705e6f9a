package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"ocl/internal/count"
	"ocl/internal/limit"
)

// format is one kind of file. All fields are set.
type format struct {
	name       string
	extensions []string
	is         func(file []byte) bool
	config     func(io.Reader) (image.Config, error)
	decode     func(io.Reader) (image.Image, error)
	memory     func(file []byte, c image.Config) int64 // bytes that decode allocates
	exif       func(file []byte) []byte                // the TIFF block of the EXIF data; nil where the file has none
	matrix     matrix                                  // what its YCbCr colours mean
}

var formats = []*format{
	{"JPEG", []string{".jpg", ".jpeg", ".jpe", ".jfif", ".pjpeg", ".pjp"}, begins("\xff\xd8\xff"), jpeg.DecodeConfig,
		jpeg.Decode, memoryOfJPEG, exifOfJPEG, fullRange},
	{"PNG", []string{".png"}, begins("\x89PNG\r\n\x1a\n"), png.DecodeConfig, png.Decode, memoryOfPNG, exifOfPNG,
		fullRange},
	{"GIF", []string{".gif"}, begins("GIF8"), gif.DecodeConfig, gif.Decode, memoryOfGIF, noEXIF, fullRange},
	{"WebP", []string{".webp"}, isWebP, webp.DecodeConfig, webp.Decode, memoryOfWebP, exifOfWebP, videoRange},
	{"BMP", []string{".bmp"}, begins("BM"), bmp.DecodeConfig, bmp.Decode, memoryOfBMP, noEXIF, fullRange},
	{"TIFF", []string{".tif", ".tiff"}, isTIFF, tiff.DecodeConfig, tiff.Decode, memoryOfTIFF, itself, fullRange},
}

func begins(magic string) func([]byte) bool {
	return func(file []byte) bool { return bytes.HasPrefix(file, []byte(magic)) }
}

func isWebP(file []byte) bool {
	return len(file) >= 12 && string(file[:4]) == "RIFF" && string(file[8:12]) == "WEBP"
}

func isTIFF(file []byte) bool { return begins("II*\x00")(file) || begins("MM\x00*")(file) }

// itself is a TIFF file, which says of itself what EXIF says of others.
func itself(file []byte) []byte { return file }

func noEXIF([]byte) []byte { return nil }

// header is the format of a file, and the size and kind of its image as stored. It refuses images that Decode should
// not read.
func header(file []byte) (f *format, c image.Config, err error) {
	if f, err = formatOf(file); err != nil {
		return nil, c, err
	}
	if c, err = f.config(bytes.NewReader(file)); err != nil {
		return nil, c, f.problem(file, err)
	}
	w, h := c.Width, c.Height
	switch pixels := int64(w) * int64(h); {
	case w < 1 || h < 1:
		err = fmt.Errorf("the %s image has no pixels (%d×%d). Remove the file", f.name, w, h)
	case w > limit.PictureSide || h > limit.PictureSide || pixels > limit.PicturePixels:
		err = fmt.Errorf("the %s image is %d×%d pixels; at most %d megapixels, and %d on a side, are read. Make it smaller",
			f.name, w, h, limit.PicturePixels/1_000_000, limit.PictureSide)
	case pixels > max(limit.PictureFree, limit.PixelsOfByte*int64(len(file))):
		err = fmt.Errorf("the %s image is %d×%d pixels, but its file has %s. Remove the file, or make the image smaller",
			f.name, w, h, count.Of(len(file), "byte"))
	case f.name == "JPEG" && frameOfJPEG(file).scans > limit.PictureScans:
		err = fmt.Errorf("the JPEG image has more than %d scans, which is the limit. Save it again, or remove it",
			limit.PictureScans)
	}
	if err == nil && f.name == "TIFF" {
		err = checkTIFF(file)
	}
	return f, c, err
}

// formatOf tells the format from the first bytes: the ending of a name may lie.
func formatOf(file []byte) (*format, error) {
	if len(file) == 0 {
		return nil, errors.New("the file is empty. Copy it again, or remove it")
	}
	for _, f := range formats {
		if f.is(file) {
			return f, nil
		}
	}
	if u := UnreadFile(file); u != nil {
		return nil, u.fault()
	}
	return nil, fmt.Errorf("this is no JPEG, PNG, GIF, WebP, BMP or TIFF image (it begins with %+q). Convert it to one of these, or remove it",
		file[:min(len(file), 8)])
}

// problem says what a decoder's error means for the owner of the file.
func (f *format) problem(file []byte, err error) error {
	var unsupportedJPEG jpeg.UnsupportedError
	var unsupportedPNG png.UnsupportedError
	var unsupportedTIFF tiff.UnsupportedError
	switch {
	case animated(file):
		return fmt.Errorf("the %s image is animated, which is not read. Save its first frame as PNG", f.name)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fmt.Errorf("the %s image is cut off: its file ends after %s. Copy the file again", f.name,
			count.Of(len(file), "byte"))
	case errors.As(err, &unsupportedJPEG) || errors.As(err, &unsupportedPNG) || errors.As(err, &unsupportedTIFF) ||
		errors.Is(err, bmp.ErrUnsupported):
		return fmt.Errorf("the %s image is of a kind that is not read (%w). Convert it to PNG with 8 bits per channel",
			f.name, err)
	}
	return fmt.Errorf("the %s image is damaged (%w). Copy the file again", f.name, err)
}
