#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# Runs the tables of t/tables.c, which test modules without starting a process.

setup() {
	tables=${BORIS_TESTS:-$BATS_TEST_DIRNAME}/tables
	[ -x "$tables" ] || skip 'needs t/tables: make t/tables'
}

@test "P3: json_check accepts valid JSON and rejects all other text" {
	"$tables" json-check
}

@test "P4: json_int accepts an integer in any JSON notation" {
	"$tables" json-int
}

@test "P2: json_decode replaces a lone surrogate with U+FFFD" {
	"$tables" json-decode
}

@test "M14.18: json_string converts any sequence of bytes to a valid JSON string" {
	"$tables" json-string
}

@test "P3: if several members have the same name, json_get returns the last one" {
	"$tables" json-get
}

@test "P5: json_first_members finds the first members of incomplete JSON" {
	"$tables" json-first-members
}

@test "P2: json_equal compares strings regardless of how their characters are escaped" {
	"$tables" json-equal
}

@test "P2: json_verbatim returns the JSON text of a value unchanged" {
	"$tables" json-verbatim
}

@test "D7: path_tidy removes dot components and double slashes from a path" {
	"$tables" path-tidy
}

@test "D7: path_from makes a relative path absolute" {
	"$tables" path-from
}

@test "C2: digits_value parses the number at the start of a string" {
	"$tables" digits
}

@test "O1: utf8_length returns the length of a character or of an invalid sequence" {
	"$tables" utf8
}

@test "W3: pattern_step finds the first occurrence of a pattern" {
	"$tables" pattern
}

@test "Q7: buf_fmt handles every conversion it supports" {
	"$tables" fmt
}

@test "Q7: a list can be traversed in both directions" {
	"$tables" list
}

@test "H8: request_read rejects requests that a proxy could interpret differently" {
	"$tables" request
}

@test "H1: field_lists finds an element in a comma-separated header value" {
	"$tables" field-lists
}

@test "E11: mounts_all_local recognizes local file systems" {
	"$tables" mounts
}

@test "H4: access_allows_host accepts only loopback names when listening on a loopback address" {
	"$tables" access-host
}

@test "H4: access_allows_origin accepts only the server's own origin and those given to --allow-origin" {
	"$tables" access-origin
}

@test "H3: access_has_token accepts only the exact token" {
	"$tables" access-token
}
