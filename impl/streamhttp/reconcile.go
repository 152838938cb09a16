package streamhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// The client's half of reconciliation on the wire (R23, R28): keys in _meta,
// status queries, and what a ledger's answers mean.

var _ client.Asker = (*Transport)(nil)

// Ask words the status query for a key.
func (t *Transport) Ask(request uint64, key string) ([]byte, error) {
	return encode(outRequest{"2.0", request, spec.MethodOutcome, spec.OutcomeParams{Key: key}})
}

// Told reads the answer to a status query. An error response is a
// *ResponseError, also to errors.Is with the ledger's reason.
func (t *Transport) Told(answer []byte, request uint64) (client.Told, error) {
	e, err := parseEnvelope(answer)
	if err != nil {
		return client.Told{}, err
	}
	if e.fault != nil {
		fault := parseResponseError(e.fault)
		return client.Told{}, errors.Join(fault, ledgerReason(e.fault))
	}
	var result spec.OutcomeResult
	if err := json.Unmarshal(e.result, &result); err != nil {
		return client.Told{}, fmt.Errorf("reattach: the answer to a status query: %w", err)
	}
	told := client.Told{State: result.State}
	switch result.State {
	case spec.KeyRunning, spec.KeyNotExecuted, spec.KeyUnknown:
		return told, nil
	case spec.KeyExecuted:
		if result.ResponseLost {
			return told, nil
		}
		if told.Answer, err = responseOf(result.Response, request); err != nil {
			return client.Told{}, fmt.Errorf("reattach: the answer to a status query: %w", err)
		}
		return told, nil
	}
	return client.Told{}, fmt.Errorf("reattach: a ledger says %.32q of a key", result.State)
}

// responseOf makes a message of what a ledger kept of a response.
func responseOf(kept json.RawMessage, request uint64) ([]byte, error) {
	var parts struct {
		Result json.RawMessage `json:"result,omitempty"`
		Error  json.RawMessage `json:"error,omitempty"`
	}
	if err := json.Unmarshal(kept, &parts); err != nil {
		return nil, err
	}
	message, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   json.RawMessage `json:"error,omitempty"`
	}{"2.0", requestID(request), parts.Result, parts.Error})
	if err != nil {
		return nil, err
	}
	_, err = parseEnvelope(message)
	return message, err
}

// ledgerReason is why a ledger refused, nil if it is no ledger's refusal.
func ledgerReason(fault json.RawMessage) error {
	var f struct {
		Code int                `json:"code"`
		Data spec.LedgerRefusal `json:"data"`
	}
	if json.Unmarshal(fault, &f) != nil || f.Code != spec.CodeLedger || f.Data.Reason == "" {
		return nil
	}
	return f.Data.Reason
}

// meaningOf tells what an answer says of its call. Everything that a ledger
// refuses with but a seal and a lost response proves nothing: it does not say
// that no other copy of the POST runs (R23).
func meaningOf(e envelope) (client.Meaning, spec.Reason) {
	if e.fault == nil {
		return client.MeansRan, ""
	}
	if err := ledgerReason(e.fault); err != nil {
		switch why := err.(spec.Reason); {
		case why.KnownNotExecuted():
			return client.MeansNotRun, why
		case why == spec.ReasonResponseLost:
			return client.MeansLost, why
		default:
			return client.MeansUnknown, why
		}
	}
	var f struct {
		Code int       `json:"code"`
		Data errorData `json:"data"`
	}
	if json.Unmarshal(e.fault, &f) == nil && f.Code == CodeOutcomeUnknown && f.Data.Reason == reasonOutcomeUnknown {
		return client.MeansUnknown, spec.Reason(f.Data.Reason) // its work was cancelled (R9b)
	}
	return client.MeansRan, ""
}

// ledgerOf returns the name of the ledger that the result of initialize names,
// "" if there is none.
func ledgerOf(result json.RawMessage) string {
	var r struct {
		Capabilities struct {
			Experimental map[string]json.RawMessage `json:"experimental"`
		} `json:"capabilities"`
	}
	var named spec.LedgerCapability
	if json.Unmarshal(result, &r) != nil || json.Unmarshal(r.Capabilities.Experimental[spec.CapabilityName], &named) != nil || !spec.IsLedgerName(named.Ledger) {
		return ""
	}
	return named.Ledger
}

// WithKey returns the params of a call with a key in their _meta. Everything
// else stays as it is written, so that the digest does. It reports false for
// params that cannot carry one: what is no object, and what has a key already.
func WithKey(params json.RawMessage, key string) (json.RawMessage, bool) {
	params = bytes.TrimSpace(params)
	if len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	if !json.Valid(params) || params[0] != '{' {
		return nil, false
	}
	inner, ok := metaWithKey(params, key)
	if !ok {
		return nil, false
	}
	out := append([]byte(`{"_meta":`), inner...)
	for name, value := range members(params) {
		if string(name) != "_meta" {
			out = appendMember(out, name, value)
		}
	}
	return append(out, '}'), true
}

// metaWithKey returns the _meta of params with a key in it.
func metaWithKey(params json.RawMessage, key string) (json.RawMessage, bool) {
	meta, found := json.RawMessage("{}"), false
	for name, value := range members(params) {
		if string(name) == "_meta" {
			if found || value[0] != '{' {
				return nil, false
			}
			meta, found = value, true
		}
	}
	quoted, err := json.Marshal(key)
	if err != nil {
		return nil, false
	}
	out := append([]byte(`{"`+spec.MetaKey+`":`), quoted...)
	for name, value := range members(meta) {
		if string(name) == spec.MetaKey {
			return nil, false
		}
		out = appendMember(out, name, value)
	}
	return append(out, '}'), true
}

func appendMember(to []byte, name []byte, value json.RawMessage) []byte {
	quoted, err := encode(string(name))
	if err != nil {
		panic("reattach: BUG: a name that is not JSON: " + err.Error())
	}
	return append(append(append(append(to, ','), quoted...), ':'), value...)
}

// request words a call for the driver. Where its params can carry a key, the
// server's ledger answers for it, if the session named one (R28).
func (c *Client) request(method string, params any, sent func(request uint64)) (client.Request, error) {
	r := client.Request{Label: method, Method: method, Passes: method == methodPing}
	var text json.RawMessage
	if params != nil {
		var err error
		if text, err = encode(params); err != nil { // as it is sent: the digest is of what is written
			return r, err
		}
	}
	r.Digest = spec.DigestCall(method, text)
	plain := func(request uint64) ([]byte, error) {
		sent(request)
		return encode(outRequest{"2.0", request, method, params})
	}
	if _, ok := WithKey(text, ""); !ok || method == methodPing || c.o.NoKeys {
		r.Build = plain
		return r, nil
	}
	r.BuildKeyed = func(request uint64, key string) ([]byte, error) {
		if key == "" {
			return plain(request)
		}
		sent(request)
		keyed, ok := WithKey(text, key)
		if !ok {
			panic("reattach: BUG: params that could carry a key cannot")
		}
		return encode(outRequest{"2.0", request, method, keyed})
	}
	return r, nil
}

// Reconcile asks the server's ledger for every call whose outcome is unknown,
// and resolves those of which it knows: see [client.Client.Reconcile]. A result
// that it hands over can be read with [Result].
func (c *Client) Reconcile(ctx context.Context) ([]client.Resolution, error) {
	return c.driver.Reconcile(ctx)
}

// Resend sends a call whose outcome is unknown again, under its key: see
// [client.Client.Resend]. method and params are those of the call, else it is
// client.ErrOtherCall. The result and the errors are those of Call.
func (c *Client) Resend(ctx context.Context, unknown client.StreamID, method string, params any, onNotification func(Incoming)) (json.RawMessage, error) {
	var mine uint64
	r, err := c.request(method, params, func(request uint64) {
		mine = request
		c.listen(request, onNotification)
	})
	if err != nil {
		return nil, err
	}
	if r.BuildKeyed == nil {
		return nil, fmt.Errorf("%w: it had no key", client.ErrOtherCall)
	}
	answer, err := c.driver.Resend(ctx, unknown, r)
	if pending := (*client.PendingError)(nil); !errors.As(err, &pending) {
		c.forget(mine)
	}
	return c.result(answer, err)
}

// Result reads the response in an answer, such as that of a
// [client.Resolution]: the result, or the server's error as a *ResponseError.
func Result(answer client.Event) (json.RawMessage, error) {
	e, err := parseEnvelope(answer.Payload)
	switch {
	case err != nil:
		return nil, err
	case e.fault != nil:
		return nil, parseResponseError(e.fault)
	}
	return e.result, nil
}
