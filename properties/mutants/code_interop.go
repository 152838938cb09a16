package mutants

// Foreign ids that are a text and a number.

const numberedGo = "impl/client/profile_numbered.go"

var interopMutants = []Mutant{
	edit("numbered-repeat-accepted", "R22 R25", "a number that comes twice is one that comes",
		numberedGo, "case n == last:\n\t\t\t\treturn spec.ReasonEventRepeated", "case n == last:\n\t\t\t\treturn \"\""),
	edit("numbered-order-ignored", "R22", "a number is as good as any other",
		numberedGo, `case at == "" || n > last:`, `case at == "" || n != last:`),
	edit("numbered-prefix-ignored", "R22", "whoever numbers its events is the server that the profile is for",
		numberedGo, `strings.CutPrefix(id, prefix)`, `strings.TrimPrefix(id, prefix), true`),
}
