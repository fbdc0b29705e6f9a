package nn

// WinogradRounding is for tests outside the package.
const WinogradRounding = winogradRounding
