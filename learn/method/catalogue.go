package method

// catalogue is sorted by name. A new method is a file with its entry and one line here.
var catalogue = []Info{
	agem,
	cndpm,
	er,
	ewc,
	finetune,
	gdumb,
	gss,
	icarl,
	lwf,
	mir,
	ncm,
	offline,
	ranpac,
	slda,
}
