package mutants

// What is made of a cursor that is gone, for clients of others.

const missGo = "impl/streamhttp/miss.go"

var missMutants = []Mutant{
	edit("miss-answer-has-a-place", "R5 R8", "every event has an id, and this one stands at the cursor",
		missGo, `sse.AppendEvent(nil, "", "", r.body())`, `sse.AppendEvent(nil, r.Cursor, "", r.body())`),
	edit("miss-answer-announces-a-position", "R8 R21", "every stream of status 200 says where it begins",
		missGo, "\th.Set(HeaderSessionID, session)\n", "\th.Set(HeaderSessionID, session)\n\th.Set(HeaderPosition, r.Cursor)\n"),
	edit("miss-answer-names-no-session", "R8 R21", "the error says enough",
		missGo, "\th.Set(HeaderSessionID, session)\n", ""),
	edit("miss-of-another-session-answers", "R1 R5", "a stream's number is enough to find its call",
		missGo, "\tif cursor.Tag != s.core.Tag() {\n\t\treturn nil\n\t}\n", ""),
	edit("miss-of-no-call-is-answered", "R5", "what is no call's is nobody's: the stream just ends",
		missGo, "if r.ID = s.callOf(cursor); r.ID != nil {", "if r.ID = s.callOf(cursor); r.ID != nil || cursor.Stream == 0 {"),
	edit("miss-is-answered-in-two-forms", "R5", "the stricter form wins",
		"impl/streamhttp/options.go", `if o.MissEndsSession && o.MissAnswersCall {`, `if o.MissEndsSession && o.MissAnswersCall && o.MinRate < 0 {`),
}
