package api

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var document []byte

// documentJSON is the document as JSON.
var documentJSON = sync.OnceValue(func() []byte {
	var v any
	if err := yaml.Unmarshal(document, &v); err != nil {
		panic("api: openapi.yaml: " + err.Error()) // the tests read it
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic("api: openapi.yaml: " + err.Error())
	}
	return text
})

// openAPI answers GET /v1/openapi.yaml and /v1/openapi.json.
func (s *server) openAPI(to http.ResponseWriter, r *http.Request) (int, any, error) {
	kind, text := "application/yaml", document
	if strings.HasSuffix(r.URL.Path, ".json") {
		kind, text = typeJSON, documentJSON()
	}
	to.Header().Set("Content-Type", kind)
	_, _ = to.Write(text) // who asked may have gone
	return 0, nil, nil
}
