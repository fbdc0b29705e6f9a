package augment

import "strings"

// Compute computes one function of torchvision on an image in [0,1] with given factors instead of drawn ones.
func Compute(row []float32, h, w int, name string, args []float64) bool {
	f := float32(0)
	if len(args) > 0 {
		f = float32(args[0])
	}
	switch name {
	case "brightness":
		brighten(row, f)
	case "contrast":
		stretch(row, 3, f)
	case "saturation":
		saturate(row, 3, f)
	case "sharpness":
		new(RandAugment).sharpen(row, h, w, f)
	case "hue":
		turn(row, 3, f)
	case "grey":
		saturate(row, 3, 0)
	case "crop":
		new(ResizedCrop).enlarge(row, h, w, int(args[0]), int(args[1]), int(args[2]), int(args[3]))
	case "autocontrast":
		autocontrast(row, 3)
	case "equalize":
		equalize(row, 3)
	case "posterize":
		posterize(row, int(f))
	case "solarize":
		solarize(row, f)
	default:
		for i, op := range strings.Fields("Identity ShearX ShearY TranslateX TranslateY Rotate Brightness Color Contrast Sharpness Posterize Solarize") {
			if op == name {
				operations[i].do(new(RandAugment), row, 3, h, w, args[0]/most)
				return true
			}
		}
		return false
	}
	return true
}
