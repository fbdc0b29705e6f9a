package core50

import "slices"

// niSessions are the ten official orders of the scenario NI (new instances): a training session a task.
var niSessions = [][]int{
	{11, 4, 2, 9, 1, 6, 5, 8},
	{2, 9, 1, 8, 4, 5, 11, 6},
	{8, 2, 6, 5, 4, 1, 9, 11},
	{1, 9, 2, 8, 6, 11, 5, 4},
	{5, 1, 4, 8, 11, 9, 6, 2},
	{4, 5, 11, 8, 2, 1, 9, 6},
	{8, 11, 1, 9, 2, 4, 6, 5},
	{6, 2, 5, 8, 11, 1, 9, 4},
	{4, 5, 6, 11, 2, 1, 9, 8},
	{1, 8, 9, 4, 6, 2, 11, 5},
}

// ncGroups are the objects that the scenario NC (new classes) never separates: a group a task.
var ncGroups = [][]int{
	{1, 6, 11, 16, 21, 26, 31, 36, 41, 46},
	{2, 7, 12, 17, 22},
	{27, 32, 37, 42, 47},
	{3, 8, 13, 18, 23},
	{28, 33, 38, 43, 48},
	{4, 9, 14, 19, 24},
	{29, 34, 39, 44, 49},
	{5, 10, 15, 20, 25},
	{30, 35, 40, 45, 50},
}

// ncOrders are the ten official orders of the groups. The large group always comes first.
var ncOrders = [][]int{
	{0, 8, 3, 2, 7, 1, 5, 4, 6},
	{0, 2, 7, 1, 6, 3, 4, 8, 5},
	{0, 6, 2, 5, 4, 3, 1, 7, 8},
	{0, 1, 7, 2, 6, 5, 8, 4, 3},
	{0, 4, 1, 3, 6, 8, 7, 5, 2},
	{0, 3, 4, 8, 6, 2, 1, 7, 5},
	{0, 6, 8, 1, 7, 2, 3, 5, 4},
	{0, 5, 2, 4, 6, 8, 1, 7, 3},
	{0, 3, 4, 5, 8, 2, 1, 7, 6},
	{0, 1, 6, 7, 3, 5, 2, 8, 4},
}

// Runs is the number of official orders of each scenario.
const Runs = 10

// NIOrders are the official orders of NI: [run][task] the session.
func NIOrders() [][]int {
	orders := make([][]int, Runs)
	for run, sessions := range niSessions {
		orders[run] = slices.Clone(sessions)
	}
	return orders
}

// NCOrders are the official orders of NC: [run] all objects in the order in which tasks take them. [NCSizes] cuts it
// into tasks.
func NCOrders() [][]int {
	orders := make([][]int, Runs)
	for run := range orders {
		for task := range ncOrders[run] {
			orders[run] = append(orders[run], ncObjects(run, task)...)
		}
	}
	return orders
}

// NCSizes are the numbers of objects of the tasks of NC: 10, then 5 in each of eight.
func NCSizes() []int {
	sizes := make([]int, len(ncGroups))
	for task := range sizes {
		sizes[task] = len(ncObjects(0, task))
	}
	return sizes
}

// ncObjects are the objects of a task of NC.
func ncObjects(run, task int) []int { return ncGroups[ncOrders[run][task]] }
