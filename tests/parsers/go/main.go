// Reads bodies as Go's servers do: encoding/json into a struct, and into maps. See ../README.md.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
)

type message struct {
	Role    any `json:"role"`
	Content any `json:"content"`
}

type request struct {
	Model    any       `json:"model"`
	Stream   any       `json:"stream"`
	Messages []message `json:"messages"`
	System   any       `json:"system"`
	Prompt   any       `json:"prompt"`
	Input    any       `json:"input"`
	Tools    any       `json:"tools"`
}

func intoStruct(raw []byte) map[string]any {
	var r request
	if json.Unmarshal(raw, &r) != nil {
		return nil
	}
	var messages any
	if r.Messages != nil {
		list := []any{}
		for _, m := range r.Messages {
			list = append(list, []any{m.Role, m.Content})
		}
		messages = list
	}
	return map[string]any{"model": r.Model, "stream": r.Stream, "messages": messages, "system": r.System, "prompt": r.Prompt,
		"input": r.Input, "tools": r.Tools}
}

func intoMap(raw []byte) map[string]any {
	var r map[string]any
	if json.Unmarshal(raw, &r) != nil {
		return nil
	}
	out := map[string]any{"messages": nil}
	for _, key := range []string{"model", "stream", "system", "prompt", "input", "tools"} {
		out[key] = r[key]
	}
	if list, ok := r["messages"].([]any); ok {
		pairs := []any{}
		for _, item := range list {
			m, _ := item.(map[string]any)
			pairs = append(pairs, []any{m["role"], m["content"]})
		}
		out["messages"] = pairs
	}
	return out
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		raw, err := base64.StdEncoding.DecodeString(lines.Text())
		if err != nil {
			os.Exit(1)
		}
		_ = encoder.Encode(map[string]any{"go struct": intoStruct(raw), "go map": intoMap(raw)})
	}
}
