// Package tune chooses hyperparameters as the survey does (alg:tune): every point of a grid learns the first two tasks,
// several times if wanted, and the point with the highest mean accuracy on the test sets of these tasks is chosen. Each
// trial is an ordinary run of package experiment with the protocol "tuning", in a folder of its own: it is locked,
// continues after an interruption with the same bits, and is never made twice. Package experiment knows nothing of
// tuning.
//
// Start at [Open] and [Tuner.Run], or at [OpenTuned] to run an experiment with the chosen values afterwards. A [Grid]
// comes from the catalogue of methods ([Named]) or from a file ([ParseGrid]); what was tried and chosen is a [Record].
package tune
