package page

// Script is the script of the page.
func Script() string { return script() }
