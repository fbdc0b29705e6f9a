package fetch

import "slices"

// The addresses and checksums of the table below are those that the data sets' authors, or for MNIST, EMNIST and CORe50
// the libraries torchvision and Avalanche, publish. None of the addresses was tested: the machine on which this was
// written reaches none of them. The sizes are what several public projects report. What could be checked was: the four
// files of MNIST, packed again by gzip from their known contents, have the sizes given here.
//
// MNIST and Fashion-MNIST have files of the same names, so each of them has a folder below the data folder.
var files = map[string][]File{
	"cifar10": {{
		URL:  "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
		Name: "cifar-10-binary.tar.gz", Bytes: 170_052_171, MD5: "c32a1d4ab5d03f1284b67883e8d87530",
	}},
	"cifar100": {{
		URL:  "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
		Name: "cifar-100-binary.tar.gz", Bytes: 168_513_733, MD5: "03b5dce01913d631647c71ecec9e9cb8",
	}},
	"core50": {{ // no https address is known; nobody can make another file of this MD5
		URL:  "http://bias.csr.unibo.it/maltoni/download/core50/core50_128x128.zip",
		Name: "core50/core50_128x128.zip", MD5: "745f3373fed08d69343f1058ee559e13",
	}},
	"emnist": {{
		URL:  "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
		Name: "emnist/gzip.zip", Bytes: 561_753_746, MD5: "58c8d27c78d21e728a6bc7b3cc06412e",
	}},
	// The address that the authors give is that of a web site, which Amazon serves without https. This one is of the same
	// files.
	"fashion-mnist": idx("https://fashion-mnist.s3.eu-central-1.amazonaws.com/", "fashion-mnist/", [4]File{
		{Bytes: 26_421_880, MD5: "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
		{Bytes: 29_515, MD5: "25c81989df183df01b3e8a0aad5dffbe"},
		{Bytes: 4_422_102, MD5: "bef4ecab320f06d8554ea6380940ec79"},
		{Bytes: 5_148, MD5: "bb300cfdad3c16e7a12a480ee83cd310"},
	}),
	// The authors' own host, yann.lecun.com, refuses downloads; torchvision's mirror has their files.
	"mnist": idx("https://ossci-datasets.s3.amazonaws.com/mnist/", "mnist/", [4]File{
		{Bytes: 9_912_422, MD5: "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
		{Bytes: 28_881, MD5: "d53e105ee54ea40749a09fcbcd1e9432"},
		{Bytes: 1_648_877, MD5: "9fb629c4189551a2d022fa330f9573f3"},
		{Bytes: 4_542, MD5: "ec29112dd5afa0611ce80d1b7f02629c"},
	}),
}

// idx names the four files of a data set in MNIST's format: images and labels for training, then for testing.
func idx(address, folder string, four [4]File) []File {
	for i, name := range []string{
		"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz",
	} {
		four[i].URL, four[i].Name = address+name, folder+name
	}
	return four[:]
}

// Files returns the files of the data set called name, for [Get]. It returns false if no address of the data set is
// known; [HowTo] may then say how to obtain it.
func Files(name string) ([]File, bool) {
	list, ok := files[name]
	return slices.Clone(list), ok
}

// HowTo returns what a person has to do to obtain the data set called name, or what remains to be done after [Get]:
// lines of at most 100 columns, ending with a newline. It returns "" if nothing is to be done, or name is unknown.
func HowTo(name string) string { return howTo[name] }

var howTo = map[string]string{
	"core50": `Unpack the archive in its folder:

  cd DATA-DIR/core50
  unzip core50_128x128.zip

The images then lie in core50_128x128/s1/o1 and so on.
`,
	"mini-imagenet": `Mini-ImageNet has no official address, as its images belong to ImageNet. There are two ways:

1. The images as three pickle files, from Kaggle, with an account:

     https://www.kaggle.com/whitemoon/miniimagenet

   The files are mini-imagenet-cache-train.pkl, mini-imagenet-cache-val.pkl and
   mini-imagenet-cache-test.pkl. Save all three in one folder.

2. From ImageNet itself (ILSVRC 2012, with an account at https://image-net.org). The lists of Ravi
   and Larochelle name 100 classes with 600 images each.

     https://github.com/twitter-research/meta-learning-lstm

   Its folder data/miniImagenet has train.csv, val.csv and test.csv. Make one folder for each class,
   such as n01532829, that holds the images of this class in the lists. The number of an image in
   the lists is its place in ImageNet's folder of the class, and not its number there; the program
   at https://github.com/yaoyao-liu/mini-imagenet-tools copies the right ones.
`,
}
