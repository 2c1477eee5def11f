package user

import (
	"errors"
	"internal/funcmem"
)

// madeUpUser is somebody in a world that is made up: who is asked for by name or number, or whose program this is.
func madeUpUser(question, name, uid string) (*User, error, bool) {
	if funcmem.Outside == nil {
		return nil, nil, false
	}
	switch answers := funcmem.Outside("user."+question, name+uid); {
	case answers.Below(6) != 5:
	case question == "Lookup":
		return nil, UnknownUserError(name), true
	case question == "LookupId":
		return nil, UnknownUserIdError(1234), true
	default:
		return nil, errors.New("user: made-up failure"), true
	}
	found := &User{Uid: "1000", Gid: "1000", Username: "user", Name: "User", HomeDir: "home"}
	if name != "" {
		found.Username = name
	}
	if uid != "" {
		found.Uid, found.Gid = uid, uid
	}
	return found, nil, true
}

// madeUpGroup is a group in a world that is made up.
func madeUpGroup(question, name, gid string) (*Group, error, bool) {
	if funcmem.Outside == nil {
		return nil, nil, false
	}
	fails := funcmem.Outside("user."+question, name+gid).Below(6) == 5
	switch {
	case fails && name != "":
		return nil, UnknownGroupError(name), true
	case fails:
		return nil, UnknownGroupIdError(gid), true
	case name != "":
		return &Group{Gid: "1000", Name: name}, nil, true
	default:
		return &Group{Gid: gid, Name: "group"}, nil, true
	}
}
