package client

import (
	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// observeWith has the core tell Options.Observer, beside CoreOptions.Observe.
func observeWith(o *Options) {
	tell, also := o.Observer, o.Core.Observe
	if tell == nil {
		return
	}
	o.Core.Observe = func(step *fsm.Step, refused *fsm.RefusedError) {
		if also != nil {
			also(step, refused)
		}
		if seen, ok := observed(step, refused); ok {
			tell(seen)
		}
	}
}

// observed says in the words that both ends share what an observer of the core
// was told. It leaves out the two moves that every event makes.
func observed(step *fsm.Step, refused *fsm.RefusedError) (spec.Observed, bool) {
	if refused != nil {
		return spec.Observed{Row: refused.Row, Machine: refused.Machine, Trigger: refused.Trigger,
			From: refused.State, To: refused.State, Refused: true, Reason: refused.Reason}, true
	}
	trigger := step.Row.Trigger
	if (trigger == spec.EventArrives || trigger == spec.StreamCommitted) && (step.To == spec.Committing || step.To == spec.Streaming) {
		return spec.Observed{}, false
	}
	machine := "clientstream"
	if step.Row.ID[:2] == "EP" {
		machine = "epoch"
	}
	return spec.Observed{Row: step.Row.ID, Machine: machine, Trigger: trigger, From: step.From, To: step.To}, true
}
