package spec

import "strconv"

// nameOf returns names[i], or a visible mark for a value that has no name.
func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) || names[i] == "" {
		return "?" + strconv.Itoa(i)
	}
	return names[i]
}

// indexOf is the inverse of nameOf; it reports false for a name it lacks.
func indexOf(names []string, name string) (int, bool) {
	for i, n := range names {
		if n == name && n != "" {
			return i, true
		}
	}
	return 0, false
}
