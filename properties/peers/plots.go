package main

import (
	"io"
	"time"
)

func drawPlots(string, time.Duration, io.Writer) error { return nil }
