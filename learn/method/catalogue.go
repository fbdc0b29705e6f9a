package method

import "ocl/internal/origin"

// catalogue is sorted by name. A new method is a file with its entry and one line here.
var catalogue = origin.NewCatalogue(origin.Kind[Info]{What: "method", File: "learn/method/catalogue.go", Plain: plain,
	Of: func(i *Info) (string, *origin.Origin) { return i.Name, &i.origin }, Fault: (*Info).fault},
	agem,
	aser,
	clib,
	cndpm,
	derpp,
	er,
	erACE,
	ewc,
	finetune,
	gdumb,
	gss,
	icarl,
	lwf,
	mir,
	ncm,
	offline,
	pcr,
	randumb,
	ranpac,
	scr,
	slda,
)
