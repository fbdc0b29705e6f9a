package backbone

import "strings"

// scheme is how a library calls the tensors of a vision transformer. Those of timm are the names that vit gives them.
type scheme struct {
	name       string
	replace    []string // pairs of a part of timm's name and what stands in its place
	split      []string // what stands in place of qkv, where queries, keys and values have tensors of their own
	epsilon    float64  // of norms, but for CLIP
	registers  string   // the name of the registers
	positions  string   // its usual rule
	smooth     string   // that for networks with registers
	turnedHead bool     // the projection is [in, out]
	headBias   bool     // the projection has one
	ignored    []string // beginnings of names, and whole names, that belong to no part that computes features
	mark       string   // a tensor that tells it from the scheme before it
	clip       bool
}

// schemes are those of files that hold vision transformers.
var schemes = []*scheme{
	{name: "timm", epsilon: 1e-6, registers: "reg_token", positions: positionsSmooth, smooth: positionsSmooth,
		headBias: true, ignored: []string{"head.", "head_dist.", "dist_token", "fc_norm.", "pre_logits."}},
	{name: "Facebook's DINOv2", epsilon: 1e-6, registers: "register_tokens", positions: positionsOffset,
		smooth: positionsSmooth, mark: "mask_token", ignored: []string{"mask_token", "head.", "linear_head."}},
	{name: "Hugging Face's DINOv2", epsilon: 1e-6, registers: "embeddings.register_tokens", positions: positionsPlain,
		smooth: positionsSmooth, replace: []string{"cls_token", "embeddings.cls_token", "pos_embed",
			"embeddings.position_embeddings", "patch_embed.proj", "embeddings.patch_embeddings.projection",
			"blocks.", "encoder.layer.", "attn.proj", "attention.output.dense", "ls1.gamma", "layer_scale1.lambda1",
			"ls2.gamma", "layer_scale2.lambda1", "norm.", "layernorm."},
		split:   []string{"attention.attention.query", "attention.attention.key", "attention.attention.value"},
		ignored: []string{"embeddings.mask_token", "classifier."}},
	{name: "Hugging Face's ViT", epsilon: 1e-12, positions: positionsPlain, smooth: positionsPlain,
		replace: []string{"cls_token", "embeddings.cls_token", "pos_embed", "embeddings.position_embeddings",
			"patch_embed.proj", "embeddings.patch_embeddings.projection", "blocks.", "encoder.layer.", "attn.proj",
			"attention.output.dense", "norm1", "layernorm_before", "norm2", "layernorm_after", "mlp.fc1",
			"intermediate.dense", "mlp.fc2", "output.dense", "norm.", "layernorm."},
		split:   []string{"attention.attention.query", "attention.attention.key", "attention.attention.value"},
		ignored: []string{"embeddings.mask_token", "classifier.", "pooler."}},
	{name: "Hugging Face's CLIP", clip: true, positions: positionsPlain, smooth: positionsPlain,
		replace: []string{"cls_token", "vision_model.embeddings.class_embedding", "pos_embed",
			"vision_model.embeddings.position_embedding.weight", "patch_embed.proj",
			"vision_model.embeddings.patch_embedding", "blocks.", "vision_model.encoder.layers.", "attn.proj",
			"self_attn.out_proj", "norm1", "layer_norm1", "norm2", "layer_norm2", "norm_pre", "vision_model.pre_layrnorm",
			"norm.", "vision_model.post_layernorm.", "head.", "visual_projection."},
		split: []string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
		ignored: []string{"vision_model.embeddings.position_ids", "text_model.", "text_projection.", "logit_scale",
			"logit_bias"}},
	openCLIP("visual."),
	openCLIP(""),
}

// openCLIP is OpenAI's and open_clip's scheme. The vision tower may stand alone, without a name.
func openCLIP(tower string) *scheme {
	s := &scheme{name: "CLIP", clip: true, positions: positionsSmooth, smooth: positionsSmooth, turnedHead: true,
		replace: []string{"cls_token", "class_embedding", "pos_embed", "positional_embedding", "patch_embed.proj", "conv1",
			"blocks.", "transformer.resblocks.", "attn.qkv.", "attn.in_proj_", "attn.proj", "attn.out_proj", "norm1", "ln_1",
			"norm2", "ln_2", "mlp.fc1", "mlp.c_fc", "mlp.fc2", "mlp.c_proj", "norm_pre", "ln_pre", "norm.", "ln_post.",
			"head.weight", "proj"}}
	if tower == "" {
		return s
	}
	s.replace = append([]string{}, s.replace...)
	for i := 1; i < len(s.replace); i += 2 {
		switch {
		case strings.HasPrefix(s.replace[i-1], "attn"), strings.HasPrefix(s.replace[i-1], "mlp"),
			s.replace[i-1] == "norm1", s.replace[i-1] == "norm2":
		default:
			s.replace[i] = tower + s.replace[i]
		}
	}
	s.ignored = []string{"transformer.", "token_embedding.", "ln_final.", "positional_embedding", "text_projection",
		"logit_scale", "logit_bias", "text.", "attn_mask", "input_resolution", "context_length", "vocab_size"}
	return s
}

// of is what the scheme calls a tensor; three names are those of queries, keys and values.
func (s *scheme) of(name string) []string {
	if name == "reg_token" {
		return []string{s.registers}
	}
	if before, after, found := strings.Cut(name, "attn.qkv"); found && s.split != nil {
		var names []string
		for _, part := range s.split {
			names = append(names, s.renamed(before)+part+after)
		}
		return names
	}
	return []string{s.renamed(name)}
}

// renamed replaces parts of a name, each once, from the left on.
func (s *scheme) renamed(name string) string { return strings.NewReplacer(s.replace...).Replace(name) }
