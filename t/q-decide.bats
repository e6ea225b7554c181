#!/usr/bin/env bats
# What the event loop decides, as tables in decide.c: no process is started.
load helper

# decides TABLE: all rows of the table are decided as they should be
decides() {
	[ -x "$HERE/decide" ] || skip 'needs t/decide: make t/decide'
	is "$("$HERE/decide" "$1")" ''
}

@test "P7: queued jobs start, wait or are given up as a table says" {
	decides queue
}

@test "E5: started jobs end, time out or are handed over as a table says" {
	decides jobs
}

@test "W2: calls are answered as a table says" {
	decides calls
}

@test "T7: lists and subscriptions are answered as a table says" {
	decides lists
}
