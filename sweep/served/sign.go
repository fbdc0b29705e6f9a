package served

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
)

// The holder signs all that it says: settings, how jobs have ended, the manifests of its bundles and its answers. A
// team's own server may let anybody write.

// signer is the key by which the holder of a study signs. It follows from the secret that the holder alone knows.
func (id identity) signer() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("sign " + id.HolderSecret))
	return ed25519.NewKeyFromSeed(seed[:])
}

// sign puts the signature of the holder before a text, for one subject.
func (s *store) sign(subject string, text []byte) []byte {
	return append(ed25519.Sign(s.signer, []byte(subject+" "+string(text))), text...)
}

// signed is the text that the holder has signed for a subject, and nil if it has not.
func (s *store) signed(subject string, data []byte) []byte {
	if len(data) < ed25519.SignatureSize {
		return nil
	}
	signature, text := data[:ed25519.SignatureSize], data[ed25519.SignatureSize:]
	if !ed25519.Verify(s.holder, []byte(subject+" "+string(text)), signature) {
		return nil
	}
	return text
}

// set writes a setting.
func (s *store) set(ctx context.Context, key, text string) error {
	_, err := s.settings.Put(ctx, key, s.sign(s.names.setting(key), []byte(text)))
	return err
}

// setting reads a setting; "" is one that the holder has not signed.
func (s *store) setting(ctx context.Context, key string) (string, error) {
	e, err := s.settings.Get(ctx, key)
	if err != nil {
		return "", err
	}
	return string(s.signed(s.names.setting(key), e.Value())), nil
}
