package interop

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Everything returns a server with the tools, prompts and resources that the
// public conformance suite calls, under the names that it calls them by, in
// the revisions that have sessions.
func Everything() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "reattach-conformance", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addContentTools(server)
	addTalkingTools(server)
	addAskingTools(server)
	addResources(server)
	addPrompts(server)
	return server
}

// The smallest media that a client can decode: one red pixel, and no sound.
var (
	pixel   = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence = decoded("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decoded(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic("reattach: BUG: " + err.Error())
	}
	return b
}

func text(format string, args ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func embedded(uri string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "the text of " + uri}}
}

// A toolFunc answers a call whose arguments do not matter.
type toolFunc func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

func addTool(server *mcp.Server, name, does string, answer toolFunc) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: does},
		func(ctx context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			result, err := answer(ctx, r)
			return result, nil, err
		})
}

// addContentTools adds the tools whose answer is of each kind that there is.
func addContentTools(server *mcp.Server) {
	always := func(name, does string, content ...mcp.Content) {
		addTool(server, name, does, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	picture := &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}
	always("test_simple_text", "answers with text", text("This is a simple text response for testing."))
	always("test_image_content", "answers with an image", picture)
	always("test_audio_content", "answers with sound", &mcp.AudioContent{Data: silence, MIMEType: "audio/wav"})
	always("test_embedded_resource", "answers with a resource", embedded("test://embedded-resource"))
	always("test_multiple_content_types", "answers with a bit of everything",
		text("Multiple content types test:"), picture, embedded("test://mixed-content-resource"))
	addTool(server, "test_error_handling", "always fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	server.AddTool(&mcp.Tool{
		Name: "json_schema_2020_12_tool", Description: "has a schema that a server must pass on as it is",
		InputSchema: json.RawMessage(schema202012),
	}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{text("called with %s", r.Params.Arguments)}}, nil
	})
}

// schema202012 uses what the suite looks for in a schema of JSON Schema 2020-12.
const schema202012 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object",
		"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

// addTalkingTools adds the tools that say something before they answer, and the
// one that hangs up first.
func addTalkingTools(server *mcp.Server) {
	const pause = 50 * time.Millisecond
	addTool(server, "test_tool_with_logging", "logs three times", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, said := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: said}); err != nil {
				return nil, err
			}
			time.Sleep(pause)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{text("logged")}}, nil
	})
	addTool(server, "test_tool_with_progress", "tells its progress three times", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := r.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: done, Total: 100, Message: fmt.Sprintf("%v of 100", done),
			})
			if err != nil {
				return nil, err
			}
			time.Sleep(pause)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{text("%v", token)}}, nil
	})
	addTool(server, "test_reconnection", "closes its stream and answers later", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Extra == nil || r.Extra.CloseSSEStream == nil {
			return nil, errors.New("this server cannot close a stream on purpose")
		}
		r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		time.Sleep(2 * pause)
		return &mcp.CallToolResult{Content: []mcp.Content{text("you came back")}}, nil
	})
}

// addAskingTools adds the tools that ask the client before they answer.
func addAskingTools(server *mcp.Server) {
	type prompted struct {
		Prompt string `json:"prompt" jsonschema:"what the model is asked"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "test_sampling", Description: "asks the client's model"},
		func(ctx context.Context, r *mcp.CallToolRequest, in prompted) (*mcp.CallToolResult, any, error) {
			answer, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
				Messages: []*mcp.SamplingMessage{{Role: "user", Content: text("%s", in.Prompt)}}, MaxTokens: 100,
			})
			if err != nil {
				return nil, nil, err
			}
			said, _ := answer.Content.(*mcp.TextContent)
			if said == nil {
				return nil, nil, fmt.Errorf("the client's model answered with %T, want text", answer.Content)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{text("LLM response: %s", said.Text)}}, nil, nil
		})
	type messaged struct {
		Message string `json:"message" jsonschema:"what the user is asked"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "test_elicitation", Description: "asks the user"},
		func(ctx context.Context, r *mcp.CallToolRequest, in messaged) (*mcp.CallToolResult, any, error) {
			result, err := elicit(ctx, r, in.Message, `{"type": "object", "required": ["username"],
				"properties": {"username": {"type": "string", "description": "a name"}}}`)
			return result, nil, err
		})
	addTool(server, "test_elicitation_sep1034_defaults", "asks the user, with a default of each type", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, r, "a default of each type", `{"type": "object", "properties": {
			"name": {"type": "string", "default": "John Doe"},
			"age": {"type": "integer", "default": 30},
			"score": {"type": "number", "default": 95.5},
			"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
			"verified": {"type": "boolean", "default": true}}}`)
	})
	addTool(server, "test_elicitation_sep1330_enums", "asks the user, with every form of choice", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, r, "every form of choice", `{"type": "object", "properties": {
			"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
			"titledSingle": {"type": "string", "oneOf": [
				{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
			"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
			"untitledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
			"titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "anyOf": [
				{"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}}}`)
	})
}

func elicit(ctx context.Context, r *mcp.CallToolRequest, message, schema string) (*mcp.CallToolResult, error) {
	answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{text("the user chose to %s: %v", answer.Action, answer.Content)}}, nil
}

func addResources(server *mcp.Server) {
	add := func(name, uri, mime string, blob []byte) {
		server.AddResource(&mcp.Resource{Name: name, Description: name, URI: uri, MIMEType: mime},
			func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				contents := &mcp.ResourceContents{URI: r.Params.URI, MIMEType: mime, Blob: blob}
				if blob == nil {
					contents.Text = "This is the content of the static text resource."
				}
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
			})
	}
	add("static text", "test://static-text", "text/plain", nil)
	add("static binary", "test://static-binary", "image/png", pixel)
	add("watched resource", "test://watched-resource", "text/plain", nil)
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "template", Description: "a resource with a parameter", URITemplate: "test://template/{id}/data", MIMEType: "application/json",
	}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
		data, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: r.Params.URI, MIMEType: "application/json", Text: string(data)},
		}}, err
	})
}

func addPrompts(server *mcp.Server) {
	add := func(name string, arguments []string, answer func(map[string]string) []mcp.Content) {
		prompt := &mcp.Prompt{Name: name, Description: name}
		for _, a := range arguments {
			prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a, Description: a, Required: true})
		}
		server.AddPrompt(prompt, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			result := &mcp.GetPromptResult{Description: name}
			for _, c := range answer(r.Params.Arguments) {
				result.Messages = append(result.Messages, &mcp.PromptMessage{Role: "user", Content: c})
			}
			return result, nil
		})
	}
	add("test_simple_prompt", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{text("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{embedded(a["resourceUri"]), text("Please process the embedded resource above.")}
	})
	add("test_prompt_with_image", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, text("Please analyze the image above.")}
	})
}
