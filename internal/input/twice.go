package input

import (
	"bytes"
	"encoding/json"
)

// Twice is a key that an object of a valid JSON text has twice, of which package encoding/json takes the last; twice is
// false without one.
func Twice(text []byte) (key string, twice bool) {
	var keys []map[string]bool // of the objects around, nil for a list
	isKey := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			keys, isKey = append(keys, map[string]bool{}), true
		case '[':
			keys, isKey = append(keys, nil), false
		case '}', ']':
			keys, isKey = keys[:max(0, len(keys)-1)], false
		case ',':
			isKey = len(keys) > 0 && keys[len(keys)-1] != nil
		case '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if isKey {
				raw := text[i+1 : min(end, len(text))]
				key = string(raw)
				if bytes.ContainsAny(raw, `\`) {
					_ = json.Unmarshal(text[i:end+1], &key) // the text is valid
				}
				if keys[len(keys)-1][key] {
					return key, true
				}
				keys[len(keys)-1][key] = true
			}
			i, isKey = end, false
		}
	}
	return "", false
}
