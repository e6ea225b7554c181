#!/usr/bin/env bats
# Table tests of modules that need no process; the rows are in t/tables.c.

setup() {
	tables=$BATS_TEST_DIRNAME/tables
	[ -x "$tables" ] || { echo "make t/tables first"; return 1; }
}

@test "Q7: json_check accepts JSON and rejects all else" {
	"$tables" json-check
}

@test "Q7: json_int reads integers however they are written" {
	"$tables" json-int
}

@test "Q7: json_decode replaces lone surrogates" {
	"$tables" json-decode
}

@test "Q7: json_string escapes any bytes" {
	"$tables" json-string
}

@test "Q7: json_get finds the last member of a name" {
	"$tables" json-get
}

@test "Q7: json_first_members reads the start of a text" {
	"$tables" json-first-members
}

@test "Q7: json_equal compares strings once decoded" {
	"$tables" json-equal
}

@test "Q7: json_verbatim keeps a value's text" {
	"$tables" json-verbatim
}

@test "Q7: path_tidy removes dots and double slashes" {
	"$tables" path-tidy
}

@test "Q7: path_from makes a name absolute" {
	"$tables" path-from
}

@test "Q7: digits_value reads a number and what follows it" {
	"$tables" digits
}

@test "Q7: utf8_length finds each maximal part of a sequence" {
	"$tables" utf8
}

@test "Q7: pattern_step finds the first occurrence" {
	"$tables" pattern
}

@test "Q7: buf_fmt formats each conversion" {
	"$tables" fmt
}

@test "Q7: lists are walked in both directions" {
	"$tables" list
}

@test "Q7: request_read accepts only what any proxy reads in the same way" {
	"$tables" request
}

@test "Q7: field_lists finds an element of a header's value" {
	"$tables" field-lists
}

@test "E11: mounts_all_local knows the types of local file systems" {
	"$tables" mounts
}

@test "H4: on loopback, access_allows_host accepts only names of this machine" {
	"$tables" access-host
}

@test "H4: access_allows_origin accepts its own origin and the listed ones" {
	"$tables" access-origin
}

@test "H3: access_has_token accepts only the complete token" {
	"$tables" access-token
}
