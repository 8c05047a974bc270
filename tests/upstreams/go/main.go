// An upstream as Go's servers are built: net/http's mux, bodies read by encoding/json into structs. It records what it
// would have executed: which endpoint ran, which model, and every string that its parser gave it.
//
//	upstream PORT
//
// GET /_seen answers with {"CASE": {...}} by the request's header `x-case`, and forgets it.
package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

// Function is the definition of a tool, or the call of one.
type Function struct {
	Name        string
	Description string
	Parameters  any
	Arguments   any
}

// Tool is one tool, in the shapes of chats, responses and messages.
type Tool struct {
	Type         string
	Name         string
	Description  string
	Function     Function
	Parameters   any
	InputSchema  any `json:"input_schema"`
	Custom       any
	Format       any
	CacheControl any `json:"cache_control"`
}

// Call is a call of a tool.
type Call struct {
	ID       string
	Type     string
	Function Function
	Custom   any
}

// Message is one message. encoding/json matches its members without regard to case, and the last duplicate wins.
type Message struct {
	Role             string
	Name             string
	Content          any
	Refusal          any
	Reasoning        any
	ReasoningContent any    `json:"reasoning_content"`
	ToolCalls        []Call `json:"tool_calls"`
	ToolCallID       string `json:"tool_call_id"`
	FunctionCall     any    `json:"function_call"`
	Audio            any
}

// Body has every member that an endpoint of the inference APIs reads.
type Body struct {
	Model              string
	Messages           []Message
	System             any
	Prompt             any
	Suffix             any
	Input              any
	Instructions       any
	Query              any
	Documents          any
	Text1              any `json:"text_1"`
	Text2              any `json:"text_2"`
	Text               any
	Tools              []Tool
	Functions          []Function
	Prediction         any
	ResponseFormat     any    `json:"response_format"`
	ChatTemplate       string `json:"chat_template"`
	ChatTemplateKwargs any    `json:"chat_template_kwargs"`
	Metadata           any
	User               any
}

type record struct {
	Endpoint string            `json:"endpoint"`
	Path     string            `json:"path"`
	Model    string            `json:"model"`
	Texts    []string          `json:"texts"`
	Headers  map[string]string `json:"headers"`
}

var endpoints = []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/messages",
	"/v1/messages/count_tokens", "/v1/responses", "/v1/responses/input_tokens", "/v1/score", "/score", "/v1/rerank", "/v2/rerank", "/rerank",
	"/v1/classify", "/classify", "/v1/pooling", "/pooling", "/v1/moderations", "/v1/audio/speech",
	"/v1/audio/transcriptions", "/v1/images/generations", "/v1/images/edits", "/v1/images/variations", "/v1/tokenize",
	"/tokenize", "/v1/detokenize", "/detokenize", "/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/v1/files",
	"/v1/batches", "/collective_rpc", "/sleep", "/invocations", "/v1/anything"}

var kept = []string{"content-type", "authorization", "x-api-key", "x-selected-model", "x-vsr-skip-processing", "x-vsr-selected-model",
	"x-vsr-category"}

var (
	lock sync.Mutex
	seen = map[string]record{}
)

func collect(value any, out []string) []string {
	switch v := value.(type) {
	case string:
		return append(out, v)
	case []any:
		for _, item := range v {
			out = collect(item, out)
		}
	case map[string]any:
		for key, item := range v {
			out = collect(item, append(out, key))
		}
	}
	return out
}

func run(endpoint string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var body Body
		if err := json.Unmarshal(raw, &body); err != nil || r.Method != http.MethodPost {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		var plain any
		again, _ := json.Marshal(body)
		_ = json.Unmarshal(again, &plain)
		entry := record{Endpoint: endpoint, Path: r.RequestURI, Model: body.Model, Texts: collect(plain, nil),
			Headers: map[string]string{}}
		for _, name := range kept {
			if value := r.Header.Get(name); value != "" {
				entry.Headers[name] = value
			}
		}
		lock.Lock()
		seen[r.Header.Get("x-case")] = entry
		lock.Unlock()
		w.Header().Set("content-type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":1,"model":"x","choices":[{"index":0,`+
			`"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}]}`)
	}
}

func main() {
	mux := http.NewServeMux()
	for _, endpoint := range endpoints {
		mux.HandleFunc(endpoint, run(endpoint))
	}
	mux.HandleFunc("/_seen", func(w http.ResponseWriter, _ *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		_ = json.NewEncoder(w).Encode(seen)
		seen = map[string]record{}
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[1], mux); err != nil {
		os.Stderr.WriteString(strings.TrimSpace(err.Error()) + "\n")
		os.Exit(1)
	}
}
