package result

import "encoding/json"

// exampleConfig is a config, elsewhereConfig the same with its data in another place, otherConfig another one.
func exampleConfig() json.RawMessage {
	return json.RawMessage(`{"data":{"name":"glyphs","dir":"here"},"seed":18446744073709551615}`)
}

func elsewhereConfig() json.RawMessage {
	return json.RawMessage(`{"data":{"name":"glyphs","dir":"there"},"seed":18446744073709551615}`)
}

func otherConfig() json.RawMessage {
	return json.RawMessage(`{"data":{"name":"glyphs","dir":"here"},"seed":18446744073709551614}`)
}
