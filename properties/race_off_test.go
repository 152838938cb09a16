//go:build !race

package properties

const raceDetector = false
