// Package limit holds the limits on what comes from outside: how large files, lists and numbers may be. docs/limits.md
// is written from the comments here, which have one form: what is bounded, its unit, the reason, and what changes the
// limit. The ranges of the keys of a config are in config/keys.go.
package limit

// Texts that people write.
const (
	// Config is the size of a config or of a study file, in bytes. A usual one has a hundredth of a percent of it. Key:
	// none.
	Config = 1 << 20
	// Names is the length of a list of names in a config, in names. Names are compared with each other, and there are far
	// fewer. Key: none.
	Names = 1000
	// Faults is how many errors of a config or of a study are printed, in errors. A file that is no config has one in each
	// line. Key: none.
	Faults = 20
	// Grid is the size of a grid file, in bytes. A usual one has less than a kilobyte. Key: none.
	Grid = 1 << 16
	// GridValues is how many values a key of a grid may have, in values. Each is tried with all values of the other keys.
	// Key: none.
	GridValues = 1000
	// GridPoints is how many points a grid or a random search may have, in points. Each is trained several times. Key:
	// none.
	GridPoints = 10_000
	// Repeats is how often each point of a grid may be tried, in repetitions. The survey has 15 runs of each method. Key:
	// none.
	Repeats = 1000
	// StudyRuns is how many runs a study may have without a word of its author, in runs. A slip in a list multiplies all
	// others. Key: `--yes`.
	StudyRuns = 10_000
	// StudyRunsConfirmed is how many runs a study or an experiment may have at all, in runs. Each has a folder and some
	// kilobytes of memory in each process; the largest that was tried has as many. Key: none; divide the study.
	StudyRunsConfirmed = 100_000
	// Layers is the number of hidden layers of an MLP, in layers. The deepest that learns something has some ten. Key:
	// none.
	Layers = 1000
	// Labels is the length of a list of numbers in a config, in numbers. It is the number of classes that a result may
	// have. Key: none.
	Labels = 100_000
)

// Folders.
const (
	// FolderEntries is the number of entries of a folder, in entries. A study may have a folder with a folder for each
	// run. Key: none.
	FolderEntries = 2_000_000
	// TreeEntries is the number of entries below a folder in which results or images are looked for, in entries. The
	// largest known set of images has as many. Key: none.
	TreeEntries = 20_000_000
)

// Numbers of flags.
const (
	// Workers is the number of threads that train one network, in threads. Each has its own activations, so that a slip
	// such as 99999 would fill the memory. Key: none.
	Workers = 256
	// Concurrency is the number of runs at the same time, in runs. No machine has more cores. Key: none.
	Concurrency = 4096
	// BenchMemory is `--memory` of `ocl bench methods`, in images. The memory is filled image by image before the
	// measurement, which takes hours for more. Key: none.
	BenchMemory = 100_000
	// BenchSteps is `--steps` of `ocl bench methods`, in steps. Far fewer tell the same. Key: none.
	BenchSteps = 100_000
	// BenchRate is `--predictions` and `--labels` of `ocl bench serve`, in requests. One loopback carries fewer. Key:
	// none.
	BenchRate = 100_000
)

// Files that the program writes and reads again.
const (
	// Result is the size of a result.json after unpacking, in bytes. The largest of the committed results has a fiftieth
	// of it. Key: none.
	Result = 64 << 20
	// ResultTasks is the number of tasks in a result, in tasks. It is the range of stream.tasks. Key: none.
	ResultTasks = 10_000
	// ResultClasses is the number of classes in a result, in classes. No known set of images has as many. Key: none.
	ResultClasses = 100_000
	// ResultCount is each number of images and of steps in a result, in units. Sums of them fit into an integer. Key:
	// none.
	ResultCount = 1_000_000_000
	// Events is the size of an events.jsonl, in bytes. It has some 100 bytes for each step, and is read line by line. Key:
	// none.
	Events = 64 << 30
	// EventLine is the length of a line of events.jsonl, in bytes. The longest have a number for each class and test set.
	// Key: none.
	EventLine = 1 << 20
	// TuneRecord is the size of a tuning.json, in bytes. It has a few numbers for each trial. Key: none.
	TuneRecord = 64 << 20
	// StudyJobs is the size of the list of the jobs of a study, in bytes. It has some 500 bytes for each. Key: none.
	StudyJobs = 1 << 30
	// StudyNote is the size of the note that a job is done, in bytes. It has one line. Key: none.
	StudyNote = 1 << 16
	// StudyLine is the length of a line in the list of a study, in bytes. The name of a method may be long. Key: none.
	StudyLine = 1 << 20
	// StudyFailure is the size of a failed.json, in bytes. It has the text of one error. Key: none.
	StudyFailure = 1 << 20
	// ServedJoin is the size of a join file, in bytes. A usual one has less than a kilobyte. Key: none.
	ServedJoin = 1 << 16
	// ServedAddresses is the number of addresses in a join file, in addresses. A machine has a few. Key: none.
	ServedAddresses = 32
	// ServedFiles is the number of files that a worker elsewhere hands over at once, in files. A tuned run has some for
	// each trial. Key: none.
	ServedFiles = 100_000
	// ServedResult is the size of what a worker elsewhere hands over with a result and after unpacking, in bytes. A usual
	// one has less than a megabyte. Key: none.
	ServedResult = 1 << 30
	// ServedWaiting is the size of the results that wait until the process that serves a study takes them in, in bytes.
	// Workers keep what does not fit until there is room. Key: none.
	ServedWaiting = 8 << 30
	// ServedBundles is the size of the saved work, the large results and the lent data of a served study on its server, in
	// bytes. It is less where the jobs of the study need less. Workers keep what does not fit until there is room. Key:
	// none.
	ServedBundles = 1 << 40
	// ServedRecord is the size of what a worker elsewhere writes about a job, in bytes. It has the place and the steps.
	// Key: none.
	ServedRecord = 1 << 12
	// ServedError is the length of the error of a job from elsewhere, in bytes. The rest is cut. Key: none.
	ServedError = 1 << 12
	// ServedHost is the length of the name of a machine, in bytes. DNS has no longer one. Key: none.
	ServedHost = 255
	// ServedAside is the number of results from elsewhere that are kept because they could not be used, in files. They are
	// there for a person to look at. Key: none; remove them.
	ServedAside = 100
	// Checkpoint is the size of a checkpoint, in bytes. It is read as a whole, so that the memory of the process is a
	// limit too. Key: none; use less `--memory`.
	Checkpoint = 64 << 30
	// Weights is the size of a file of weights, in bytes. The header says which length the file must have. Key: none.
	Weights = 64 << 30
	// Backbone is the size of a file of a pretrained network, in bytes. It is read as a whole, and the largest known one,
	// CLIP's ViT-B/32 with its text tower, has 605 MB. Key: none.
	Backbone = 1 << 30
	// BackboneSide is the side of the pictures of a pretrained network, in pixels. The maps of one picture take 400 MB of
	// memory then. Key: none.
	BackboneSide = 1024
	// BackboneTensors is the number of tensors of a file of a pretrained network that says no architecture, in units. CLIP
	// with its text tower has 302, and each name is compared with those of every library. Key: none.
	BackboneTensors = 1 << 12
	// BackboneLeastSide is the smallest side of the pictures of a pretrained network, in pixels. The last maps have a
	// pixel then. Key: none.
	BackboneLeastSide = 32
	// SectionName is the length of the name of a section of a checkpoint, in bytes. The longest has a hundred. Key: none.
	SectionName = 1 << 12
	// KnownSide is each side of the images and the number of classes that a checkpoint tells, in units. Their products fit
	// into an integer. Key: none.
	KnownSide = 1 << 20
	// KnownChannels is the number of channels of the images of a checkpoint, in channels. A network is made before its
	// parameters are read. Key: none.
	KnownChannels = 16
	// KnownValues is the number of values of an image of a checkpoint, in values. A network is made before its parameters
	// are read. Key: none.
	KnownValues = 1 << 22
	// KnownClasses is the number of classes of a network and of its checkpoint, in classes. A network is made before its
	// parameters are read. Key: none; use data with fewer classes.
	KnownClasses = 1 << 16
	// UnsavedParameters is the size of a network that is made for a checkpoint without parameters, in parameters. A small
	// file must not take a large memory. Key: none.
	UnsavedParameters = 1 << 26
	// Experts is the number of experts in a checkpoint of cndpm, in networks. No stream makes a hundredth of them. Key:
	// none.
	Experts = 1 << 16
	// Seen is how many samples a memory may have seen, in samples. It is far above any stream and below what an integer
	// holds. Key: none.
	Seen = 1 << 50
)

// The process.
const (
	// Addresses is the least address space that a shell must allow, in bytes. The Go runtime reserves a part of it at
	// once, and ends with a trace where it cannot. Key: ulimit -v.
	Addresses = 2_000_000_000
	// OpenFiles is the least number of open files that a shell must allow, in files. The Go runtime opens some itself.
	// Key: ulimit -n.
	OpenFiles = 16
)

// Learners in programs (package live).
const (
	// LiveLabel is the length of the name of a class, in bytes. Names stand in messages and tables. Key: none.
	LiveLabel = 256
	// LiveBatch is the number of images in a batch, in images. Each is in memory as the network's maps. Key: none.
	LiveBatch = 10_000
	// LiveQueue is the number of images that may wait to be learned, in images. They are in memory, and a saved file has
	// them. Key: none.
	LiveQueue = 1_000_000
)

// The folder of `ocl serve`.
const (
	// ServeFormat is the size of an ocl-serve.json, in bytes. It has one line. Key: none.
	ServeFormat = 1 << 16
	// JournalEvent is the size of an event in a journal, in bytes. A picture as the network sees it has a few kilobytes,
	// and a large one some megabytes. Key: none; send smaller pictures.
	JournalEvent = 64 << 20
	// Journal is the size of a journal, in bytes. It is read event by event. Key: none; serve without `retain`.
	Journal = 1 << 42
)

// Images and sets of them.
const (
	// Picture is the size of an image file, in bytes. A photograph of 100 megapixels has about 50 MB. Key: none.
	Picture = 256 << 20
	// PictureFiles is the size of all image files that are decoded at the same time, in bytes. Two whole files a core
	// would otherwise take all memory; it is at most a quarter of that of the process, and a larger file is decoded alone.
	// Key: none.
	PictureFiles = 512 << 20
	// PicturePixels is the number of pixels of an image, in pixels. Usual photographs have a fifth of it; no decoder here
	// reads a larger JPEG scaled. Key: none; make the image smaller.
	PicturePixels = 100_000_000
	// PictureSide is each side of an image, in pixels. JPEG and GIF cannot have more. Key: none.
	PictureSide = 1<<16 - 1
	// PictureFree is the number of pixels that any image file may have, whatever its size, in pixels. A small file must
	// not take a large memory. Key: none.
	PictureFree = 4_000_000
	// PixelsOfByte is how many pixels there may be beyond these for each byte of the file, in pixels. A JPEG of one colour
	// has 170 to 512, a photograph 10. Key: none.
	PixelsOfByte = 1000
	// LentData is the size of the images of a data set that is lent to other machines, in bytes. They are in memory there.
	// Key: none; copy the data.
	LentData = 4 << 30
	// Cache is the size of a cache of decoded images, in bytes. It is read image by image. Key: none.
	Cache = 1 << 42
	// PictureMemory is the memory that one image may take while it is decoded, in bytes. A small file can otherwise take
	// 2.4 GB, and several are decoded at the same time; all of them share as much, or 256 MiB for each core where that is
	// more, and at most half of the memory of the process. Key: none; make the image smaller, or save a JPEG without
	// progressive.
	PictureMemory = 1_000_000_000
	// PictureMemoryOfCore is the memory for each core that images share while they are decoded, in bytes. A usual
	// photograph of 57 megapixels takes as much. Key: none.
	PictureMemoryOfCore = 256 << 20
	// PictureScans is how many scans a progressive JPEG may have, in scans. Each goes over the whole image, whatever bytes
	// of the file it has, and programs write 10 to 64. Key: none; save the image again.
	PictureScans = 100
	// CachedImage is the size of an image in a cache of decoded images, in bytes. It fits an integer of 32 bits. Key:
	// none.
	CachedImage = 1 << 30
	// CacheHeader is the size of the header of a cache of decoded images, in bytes. It has up to 450 for each image that
	// was left out. Key: none.
	CacheHeader = 64 << 20
	// DataFile is the size of a file of a data set, in bytes. Each reader has a limit of its own on what it keeps of it.
	// Key: none.
	DataFile = 1 << 40
	// ImageList is the size of a list of images as CSV or JSON lines, in bytes. It has room for ten million images. Key:
	// none.
	ImageList = 1 << 30
	// ImageListWhole is the size of a list of Tiny-ImageNet, CUB-200-2011 or Roboflow, or of an export of Label Studio as
	// JSON, in bytes. Such a list is read as a whole, and takes several times its size of memory. Key: none.
	ImageListWhole = 256 << 20
	// SetImages is the number of a user's own images in a list or in folders, in images. Each takes 400 bytes of memory
	// beside its pixels. Key: none.
	SetImages = 5_000_000
	// SetFolders is the number of folders that are walked for a user's own images, in folders. A folder counts each time
	// that a link leads to it, and few links can lead to folders without end. Key: none.
	SetFolders = 200_000
	// SetDepth is how deep a folder of a user's own images may lie below a class, in folders. Nobody finds an image deeper
	// down. Key: none.
	SetDepth = 100
	// ImageListRow is the length of a row in a list of images, in bytes. It has room for four fields of the largest
	// length, and a quote that is not closed makes a row of the rest of the file. Key: none.
	ImageListRow = 1 << 16
	// ImageListField is the length of a field in a CSV list of images, in bytes. It is the longest path of Linux. Key:
	// none.
	ImageListField = 4096
	// DoctorImages is how many images are examined at once, in images. Each is compared with every other one. Key:
	// `data.train_per_class`.
	DoctorImages = 1 << 19
	// DoctorScores is the number of images times that of classes of an examination, in numbers. All probabilities stand in
	// memory, with 4 bytes each. Key: `data.train_per_class`.
	DoctorScores = 1 << 29
	// DoctorCrops is among how many images copies that were cropped are looked for, in images. The features of each are
	// compared with those of every other one, which takes minutes. Key: `data.train_per_class`.
	DoctorCrops = 10_000
	// Set is how much memory the images of an npz file or of drawn glyphs may take, in bytes. More would not fit beside a
	// network on usual machines. Key: none.
	Set = 16 << 30
	// SetFree is how much memory the images of any npz file may take, whatever its size, in bytes. A small file must not
	// take a large memory. Key: none.
	SetFree = 256 << 20
	// SetRatio is how much memory there may be for each byte of an npz file, in bytes. Black drawings on white are
	// compressed thirty times, zeros a thousand times. Key: none.
	SetRatio = 32
	// NPYHeader is the length of the header of an array in an npz file, in bytes. It is the limit of NumPy. Key: none.
	NPYHeader = 10_000
	// Archive is the size of all files of an archive of CIFAR together, in bytes. The official ones have 186 MB. Key:
	// none; unpack the archive.
	Archive = 1 << 30
	// PickleSteps is the number of instructions in a pickle, in instructions. CIFAR-100 has 250,000, and each may make a
	// value that takes up to 150 bytes of memory. Key: none.
	PickleSteps = 1 << 19
	// PickleTexts is the size of all texts of a pickle together that have less than 1 MiB, in bytes. They are held in
	// memory, and the names of files in CIFAR-100 have 1 MB. Key: none.
	PickleTexts = 16 << 20
	// PickleText is the length of a key or name in a pickle, in bytes. A file may use one text many times. Key: none.
	PickleText = 256
	// PickleAxes is the number of axes of an array in a pickle, in axes. Images have four. Key: none.
	PickleAxes = 8
	// Download is the size of a file of `ocl data fetch` that neither its authors nor the server state, in bytes. The
	// largest known one, CORe50, has 4 GB. Key: none; get the file by hand.
	Download = 32 << 30
	// DownloadSilenceSeconds is how long a server may send nothing, in seconds. After it, `ocl data fetch` asks again.
	// Key: none.
	DownloadSilenceSeconds = 30
	// ClassNames is the size of a file of class names, in bytes. The longest of the published ones has 50 kB. Key: none.
	ClassNames = 1 << 20
	// CIFARNames is the size of the file of class names of CIFAR, in bytes. The longest has about 2 kB. Key: none.
	CIFARNames = 1 << 16
	// MiniImageNetList is the size of a list of Mini-ImageNet, in bytes. The longest of the published ones has 1.2 MB.
	// Key: none.
	MiniImageNetList = 8 << 20
)

// Files of other programs.
const (
	// Foreign is the size of a table of accuracies of another program, in bytes. It has room for all numbers of the most
	// tasks. Key: none.
	Foreign = 32 << 20
	// ForeignTasks is the number of tasks in a table of accuracies of another program, in tasks. A matrix has its square.
	// Key: none.
	ForeignTasks = 1000
	// ForeignName is the length of a name for results of another program, in characters. It stands in tables and figures.
	// Key: none.
	ForeignName = 60
	// SafetensorsHeader is the size of the header of a safetensors file, in bytes. It has room for 100,000 tensors, each
	// of which takes time and memory, and large networks have a thousand. Key: none.
	SafetensorsHeader = 10_000_000
	// SafetensorsAxes is the number of axes of an array in a safetensors file, in axes. It is the limit of PyTorch. Key:
	// none.
	SafetensorsAxes = 64
)

// Pages of `ocl watch`.
const (
	// WatchConnections is how many connections of browsers are open at once, in connections. A browser has six for a page;
	// a further one ends the oldest on which nothing is asked. Key: none.
	WatchConnections = 256
	// WatchStreams is how many open pages are told of news at once, in pages. Further ones ask by themselves every few
	// seconds. Key: none.
	WatchStreams = 64
)

// Requests to `ocl serve`.
const (
	// ServeBody is the size of the body of a request, in bytes. It has room for a photograph of 50 megapixels, also as
	// base64. Key: none; send less at once.
	ServeBody = 40_000_000
	// ServeSmallBody is the size of a body that has a name, a number or a token alone, in bytes. The longest name has
	// 1,536 where every character is escaped. Key: none.
	ServeSmallBody = 4096
	// ServeBodies is the size of what all requests hold, bodies and the pictures in them, in bytes. Further ones wait; two
	// requests of the largest size always fit. Key: none.
	ServeBodies = 200_000_000
	// ServePixels is the number of pixels of a picture in a request, in pixels. Telephones make pictures of 50 million.
	// Key: none; make the picture smaller.
	ServePixels = 65_000_000
	// ServeManyPixels is the number of pixels above which pictures in requests are decoded one at a time, in pixels. Each
	// takes a core for a tenth of a second and more, and smaller ones must not wait for them. Key: none.
	ServeManyPixels = 4_000_000
	// ServePictures is the number of pictures in a request, in pictures. Predictions of others wait meanwhile. Key: none;
	// send several requests.
	ServePictures = 1000
	// ServeGuesses is the number of guesses for a picture, in guesses. Nobody reads more. Key: none.
	ServeGuesses = 1000
	// ServeID is the length of the id of a sample, in bytes. A UUID has 36. Key: none.
	ServeID = 128
	// ServeForget is the number of ids in one request to forget, in ids. All of them are erased at once. Key: none; send
	// several requests.
	ServeForget = 10_000
	// ServeModel is the size of a model that a replica fetches, in bytes. It is in memory twice for a moment. Key: none.
	ServeModel = 2 << 30
	// ServeLooks is the size of what the daemon keeps of the remembered pictures that people are shown, such as their
	// embeddings, in bytes. An embedding of EfficientNet-Lite0 has 2,560. Key: none; pictures beyond it come last and are
	// like no other.
	ServeLooks = 64 << 20
	// ServeHistory is the number of deeds in one answer, in deeds. Nobody reads more at once. Key: none; ask for those
	// before.
	ServeHistory = 1000
	// ServeStreams is the number of open streams of events, in streams. Further ones are refused. Key: none.
	ServeStreams = 64
	// ServeStatistics is the size of a statistics.json, in bytes. With 100,000 classes it has some megabytes. Key: none;
	// remove it.
	ServeStatistics = 64 << 20
	// ServeConnections is the number of open connections, in connections. A further one ends the oldest on which nothing
	// is asked. Key: none.
	ServeConnections = 512
	// ServeStrangers is how many of them have not shown a token, in connections. A further one ends the oldest of the
	// address that has most. Key: none.
	ServeStrangers = 128
	// ServeRequests is the number of requests that are answered at the same time, in requests. Further ones are refused;
	// /livez, /readyz and /metrics are not counted. Key: none.
	ServeRequests = ServeConnections - ServeStrangers
	// ServeTokens is the number of tokens, in tokens. Each request is compared with all of them. Key: none.
	ServeTokens = 10_000
	// ServeKeyFile is the size of a file of tokens or of a certificate, in bytes. A line of a token has about a hundred.
	// Key: none.
	ServeKeyFile = 4 << 20
	// LabelStudioPage is the size of an answer of Label Studio that is no picture, in bytes. A hundred tasks have a
	// hundredth of it. Key: none.
	LabelStudioPage = 16 << 20
	// LabelStudioTasks is the number of tasks of a project of Label Studio, in tasks. The daemon knows the ids of as many
	// samples. Key: none; divide the project.
	LabelStudioTasks = 50_000
	// LabelStudioHeard is how many tasks of Label Studio wait to be looked at one by one, in tasks. With more, all of the
	// project are. Key: none.
	LabelStudioHeard = 1000
)

// Waiting.
const (
	// SignalMillis is how long a command may take to end after the first Ctrl-C or SIGTERM, in milliseconds. Then it is
	// ended, so that it is gone after two seconds even if a disk does not answer. Key: none.
	SignalMillis = 1500
	// SilenceSeconds is how long nothing may come on standard input, in seconds. A command in a script must not wait for
	// ever. Key: none.
	SilenceSeconds = 30
)
