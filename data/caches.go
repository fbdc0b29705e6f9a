package data

import "ocl/data/internal/cache"

// ErrCache is wrapped by errors about a file of decoded images whose bytes have changed.
var ErrCache = cache.ErrDamaged

// CacheFile describes a file of decoded images.
type CacheFile = cache.Entry

// CacheDir is the folder of the files of decoded images: $OCL_CACHE, or ocl in the user's cache folder. It may not
// exist.
func CacheDir() (string, error) { return cache.Dir() }

// Caches lists the files of decoded images in [CacheDir].
func Caches() ([]CacheFile, error) { return cache.List() }

// CleanCaches removes those that remove wants, and what killed builds have left; a file that is being built stays. It
// returns what was removed. The error joins those of files that could not be removed.
func CleanCaches(remove func(CacheFile) bool) ([]CacheFile, error) { return cache.Clean(remove) }
