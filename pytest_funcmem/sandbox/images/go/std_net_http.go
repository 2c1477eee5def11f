package http

import (
	"errors"
	"internal/funcmem"
	"io"
	"slices"
	"strconv"
	"strings"
)

// madeUpResponse is what a world that is made up responds; false where there is a real one.
func madeUpResponse(req *Request) (*Response, error, bool) {
	if funcmem.Outside == nil || req.URL == nil {
		return nil, nil, false
	}
	sent := ""
	if req.Body != nil {
		data, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err, true
		}
		sent = string(data)
	}
	var headers []string
	for name, values := range req.Header {
		headers = append(headers, name+": "+strings.Join(values, ", "))
	}
	slices.Sort(headers)
	answers := funcmem.Outside("http", req.Method, req.URL.String(), strings.Join(headers, "\n"), sent)
	status := 200
	switch answers.Below(8) {
	case 2, 3:
		status = answers.Number(200, 599)
	case 4:
		status = 404
	case 5:
		status = 500
	case 6:
		status = 201
	case 7:
		return nil, errors.New("made-up failure"), true
	}
	text := answers.Text()
	header := Header{"Content-Type": {[]string{"application/json", "text/plain; charset=utf-8", "text/html"}[answers.Below(3)]}}
	for range answers.Below(3) {
		header.Add(answers.Text(), answers.Text())
	}
	return &Response{
		Status: strconv.Itoa(status) + " " + StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: req,
	}, nil, true
}
