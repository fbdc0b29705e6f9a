package data

import (
	"context"
	"os"
	"runtime"
	"testing"
)

// Open leaves one cache, which is listed with the data set and its folder, and CleanCaches removes it if it is wanted
// so.
func TestCachesOfADataSet(t *testing.T) {
	dir := withPictures(t)
	if _, err := Open(context.Background(), Spec{Name: "pictures", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	list, err := Caches()
	if err != nil || len(list) != 1 || list[0].Name != "pictures" || list[0].Source != dir || list[0].Images != 6 {
		t.Fatalf("%+v (%v)", list, err)
	}
	if at, err := CacheDir(); err != nil || at != os.Getenv("OCL_CACHE") {
		t.Errorf("the folder is %s (%v)", at, err)
	}
	if gone, err := CleanCaches(func(f CacheFile) bool { return f.Name == "others" }); len(gone) != 0 || err != nil {
		t.Errorf("removed %+v (%v), want none", gone, err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("Windows removes no file that is open")
	}
	gone, err := CleanCaches(func(f CacheFile) bool { return f.Name == "pictures" })
	if err != nil || len(gone) != 1 || gone[0].Path != list[0].Path {
		t.Errorf("removed %+v (%v), want %+v", gone, err, list)
	}
}
