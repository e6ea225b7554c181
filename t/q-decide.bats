#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# Runs the tables of t/decide.c, which test the decisions of the event loop
# without starting a process.

load helper

# decides TABLE: each row of the table leads to the expected decision
decides() {
	[ -x "$HERE/decide" ] || skip 'needs t/decide: make t/decide'
	is "$("$HERE/decide" "$1")" ''
}

@test "P7: a queued command starts as soon as the command before it ends" {
	decides queue
}

@test "E5: a running command is terminated or becomes a task when its timeout or call limit is reached" {
	decides jobs
}

@test "W2: a waiting call is answered when its condition is met" {
	decides calls
}

@test "T7: a call that waits for any task is answered as soon as one ends" {
	decides lists
}

@test "I3: a prompt is recognized from the last line, the terminal mode and the elapsed time" {
	decides prompts
}
