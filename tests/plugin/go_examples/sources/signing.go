package shipping

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"sort"
	"strings"
)

// SignedQuery writes parameters in the order of their names, with a signature of them at the end.
func SignedQuery(params map[string]string, secret string) string {
	names := make([]string, 0, len(params))
	for name := range params {
		if name != "signature" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	var query strings.Builder
	for i, name := range names {
		if i > 0 {
			query.WriteByte('&')
		}
		query.WriteString(url.QueryEscape(name) + "=" + url.QueryEscape(params[name]))
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(query.String()))
	return query.String() + "&signature=" + hex.EncodeToString(mac.Sum(nil))
}
