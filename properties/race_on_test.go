//go:build race

package properties

// raceDetector: loops that show a bound over many rounds do fewer of them.
const raceDetector = true
