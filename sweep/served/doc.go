// Package served lets workers on other machines do the jobs of a study, where nothing is shared but the network. A
// process, the holder, serves the folder of the study by a NATS server, in this process or a team's own. Start at
// [Serve] and [Join]; both have a [study.Store] for a [study.Worker].
//
// # How it works
//
// The server has, under names that begin with a word of the study,
//
//   - a bucket of claims in memory. Creating the key of a job takes it, and updating it by its last revision keeps it.
//     What nobody updates for a minute goes by itself. Only this decides who has a job.
//   - a bucket of jobs: attempts, deaths, and what was handed over. Each process watches it, the claims and the ends,
//     so that asking how far a job is costs nothing.
//   - a bucket of ends: which jobs are done or have failed. Only the holder writes there, what its folder says and with
//     its signature, and itself reads the folder alone.
//   - a stream of results. A message has the files of a run as a compressed archive, or why the job has failed. The
//     holder reads from the start of the stream, checks the result, puts it into the folder, and then removes the
//     message. A second result of a job is dropped. One that cannot be used is put into the folder "aside", and its job
//     is offered again; a worker is refused after three.
//   - a stream of bundles: what is larger than a message, in parts, with a manifest that comes last. They are the saved
//     work of runs, large results, and the files of the study. The holder copies saved work into the folder of its run,
//     and signs its own manifests.
//   - a bucket of settings: the version of the messages, whether the study was cancelled, which workers are refused,
//     and the epoch.
//
// # What may be lost
//
// The folder is the only truth, and a job that is done twice ends with the same result. So all that the server has may
// vanish, at any moment: a message that was acknowledged, a stream, or its whole folder .nats. The holder looks every
// few seconds whether everything is there, and otherwise makes it anew from the folder and begins another epoch.
// Workers that see another epoch read everything again. A worker whose server does not answer says so once, goes on
// with the jobs that it has, and waits with what it has to hand over. A claim that has vanished is taken again, unless
// another process has the job by then. What is lost at most is time: work since it was saved last, or a run whose
// result was on the way.
//
// # Who may do what
//
// Without [ServeOptions.Listen] nothing listens. With it the server speaks TLS 1.3 with a certificate of its own, whose
// digest is in the join file with the secret of the workers. The file is for its owner alone. Workers may keep claims
// and jobs, hand over and ask; they cannot make or remove streams, say how a job has ended, change the study, or read
// the answers to others. What comes by message is checked and moved, and never run.
//
// Each process makes a key when it begins, and shows it with the secret. Its name ends in a digest of the key, so
// nobody has the name of another one. The subjects of its results have another digest, which only the holder and the
// process know: a worker may let the server answer into any subject that it knows, so subjects that others see prove
// nothing. No stream allows direct gets, whose answer would be a message of the worker's choice. What cannot be used
// counts against the key. After three refused workers the secret takes no new one, and those of which a result was good
// go on.
//
// A worker that has the secret can still cost time: it may take jobs and not do them, and cut off what others hold. It
// may also do a job wrongly in a way that fits together, which only doing it again would show. That a job has failed
// counts once two workers of which a result was good say so, or nobody else is there, or nobody takes it for a minute
// in which no job is at work. From a worker without a good result it counts while no other one has any, and the job is
// tried again once there is. Who says so of three jobs that others do is refused. A team's own servers check no names:
// there the team says who may do what, and how much may be kept, and one word that a job has failed is enough. What the
// holder says is proven there, too.
package served
