package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// An authorized carries requests with a bearer token, and gets one by the SDK's
// authorization flow when a server asks for it. A request that was answered
// with 401 or 403 is sent once more: the resource server's guard has refused
// it, so that nothing behind it has seen it.
type authorized struct {
	handler auth.OAuthHandler
	next    http.RoundTripper
}

// newAuthorized reads what the suite tells of the client's registration.
func newAuthorized(told string) (*http.Client, error) {
	var registered struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if told != "" {
		if err := json.Unmarshal([]byte(told), &registered); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	const redirect = "http://localhost:3000/callback"
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:                    redirect,
		AuthorizationCodeFetcher:       followRedirect,
		ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: "https://conformance-test.local/client-metadata.json"},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{RedirectURIs: []string{redirect}},
		},
	}
	if registered.ClientSecret != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{
			ClientID:         registered.ClientID,
			ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: registered.ClientSecret},
		}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &authorized{handler: handler, next: http.DefaultTransport}}, nil
}

// followRedirect stands for the user, who agrees at once.
func followRedirect(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := stay.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	to, err := answer.Location()
	if err != nil {
		return nil, err
	}
	said := to.Query()
	return &auth.AuthorizationResult{Code: said.Get("code"), State: said.Get("state"), Iss: said.Get("iss")}, nil
}

// RoundTrip sends the request, authorizes if asked to, and sends it again.
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
	}
	sent, answer, err := a.send(r, body)
	if err != nil || answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden {
		return answer, err
	}
	if err := a.handler.Authorize(r.Context(), sent, answer); err != nil {
		return nil, fmt.Errorf("authorize: %w", err)
	}
	_, answer, err = a.send(r, body)
	return answer, err
}

func (a *authorized) send(r *http.Request, body []byte) (*http.Request, *http.Response, error) {
	r = r.Clone(r.Context())
	if body != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	tokens, err := a.handler.TokenSource(r.Context())
	if err != nil {
		return nil, nil, err
	}
	if tokens != nil {
		token, err := tokens.Token()
		if err != nil {
			return nil, nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token.AccessToken)
	}
	answer, err := a.next.RoundTrip(r)
	return r, answer, err
}
