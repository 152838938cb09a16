package streamhttp

import "encoding/json"

// knownMethods are those of MCP, by their JSON text: a message that names one
// of them costs no allocation for it.
var knownMethods = func() map[string]string {
	known := map[string]string{}
	for _, name := range [...]string{
		"initialize", "ping",
		"tools/list", "tools/call", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
		"resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe",
		"sampling/createMessage", "elicitation/create", "roots/list",
		"notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/message",
		"notifications/resources/updated", "notifications/resources/list_changed", "notifications/tools/list_changed",
		"notifications/prompts/list_changed", "notifications/roots/list_changed",
	} {
		known[`"`+name+`"`] = name
	}
	return known
}()

// methodText returns the method that a JSON text names, or "" if it names none.
func methodText(text json.RawMessage) string {
	if known, ok := knownMethods[string(text)]; ok {
		return known
	}
	var method string
	if json.Unmarshal(text, &method) != nil {
		return ""
	}
	return method
}
