#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# O: output
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2059,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# shows BYTES TEXT: Fails if BYTES are not shown as TEXT, on both streams. Both
# arguments have the escapes of printf.
shows() {
	printf "$1" >raw
	printf "$2" >want
	run_bash 'cat raw; cat raw >&2'
	plain stdout >got
	cmp got want || fail "$1 -> $(od -An -c got)" || return
	plain stderr | cmp - want
}

# as COUNT CHARACTER: Prints a command that prints CHARACTER COUNT times.
as() {
	printf 'head -c %s /dev/zero | tr "\\0" %s' "$1" "$2"
}

# stdout_size: Prints the number of bytes in stdout of the result.
stdout_size() {
	plain stdout | wc -c | tr -d ' '
}

# file_size STREAM: Prints the size of the file with the full stream.
file_size() {
	wc -c <"$(plain "${1}_file")" | tr -d ' '
}

# not_truncated: Fails if stdout of the result was truncated.
not_truncated() {
	is "$(result stdout_chars)$(result stdout_file)" ''
}

@test "O1: colours and other CSI sequences are removed from output" {
	boris
	shows '\033[31mred\033[0m plain\n' 'red plain\n'
	shows '\033[1;38;5;196mx\033[m\033[?25l\033[2J\033[10;20Hy\n' 'xy\n'
	shows 'a\033[38:2::1:2:3mb\033[>4;2mc\033[!pd\033[ qe' 'abcde'
	shows 'a\033[Kb' 'ab'
}

@test "O1: OSC sequences that end with BEL or ST are removed from output" {
	boris
	shows '\033]0;title\007text' 'text'
	shows '\033]0;title\033\\text' 'text'
	shows '\033]8;;http://x\033\\link\033]8;;\033\\\n' 'link\n'
}

@test "O1: DCS, APC, PM and SOS sequences are removed from output" {
	boris
	shows 'a\033Pq#0;1\033\\b' 'ab'
	shows 'a\033_Gf=1\033\\b' 'ab'
	shows 'a\033^private\033\\b' 'ab'
	shows 'a\033Xstring\033\\b' 'ab'
}

@test "O1: escape sequences of two or three bytes are removed from output" {
	boris
	shows 'a\033cd\033=e\033>f\033Mg' 'adefg'
	shows 'a\033(Bb\033)0c\033#8d' 'abcd'
	shows 'a\0337b\0338c' 'ac'
}

@test "O1: an unterminated OSC or DCS sequence ends at a newline, ESC, CAN or SUB" {
	boris
	shows 'a\033]0;title\nb\n' 'a\nb\n'
	shows 'a\033Ptitle\nb\n' 'a\nb\n'
	shows 'a\033]0;title\033[31mb' 'ab'
	shows 'a\033]0;title\030b' 'ab'
	shows 'a\033]0;title\032b' 'ab'
}

@test "O1: an incomplete escape sequence at the end of the output is removed" {
	boris
	shows 'a\033' 'a'
	shows 'a\033[' 'a'
	shows 'a\033[31' 'a'
	shows 'a\033]0;ti' 'a'
}

# print_in_pieces PIECE...: Starts a task that prints each PIECE with printf,
# writes a line to the file `written`, and then waits for a release.
print_in_pieces() {
	printf '%s\n' "$@" >pieces
	start_task 'while IFS= read -r piece <&3; do
			printf "$piece"
			echo x >>written
			read <gate
		done 3<pieces'
}

# next_piece: Waits until boris has read the next piece, reads the task and lets
# the task continue.
next_piece() {
	pieces=$((${pieces-0} + 1))
	eventually written_pieces $pieces
	read_task
	release
}

# written_pieces N: Succeeds if the task has printed N pieces.
written_pieces() {
	[ -e written ] && [ "$(wc -l <written | tr -d ' ')" = "$1" ]
}

@test "O1: an escape sequence printed in several parts is removed" {
	boris
	print_in_pieces 'a\033' '[3' '1mb\033]0;t' 't\033' '\\c'
	for piece in 1 2 3 4 5; do next_piece; done
	read_task "$task" '{"wait":10000}'
	is "$(plain stdout)" abc
}

@test "O1: CR, CRLF and BS take effect even if the output arrives in several pieces" {
	boris
	print_in_pieces 'abc\r' '\nabcdef\r' x 'y\b\b' z
	next_piece
	next_piece
	is "$(result stdout)" '"abc\nabcdef"'
	next_piece
	is "$(result stdout)" '"abc\nxbcdef"'
	next_piece
	is "$(result stdout)" '"abc\nxycdef"'
	next_piece
	read_task "$task" '{"wait":10000}'
	is "$(plain stdout)" $'abc\nzycdef'
}

@test "O2: a character whose bytes are printed separately is shown correctly" {
	boris
	print_in_pieces '\360\237' '\230' '\200\n'
	for piece in 1 2 3; do next_piece; done
	read_task "$task" '{"wait":10000}'
	is "$(plain stdout)" $'\xf0\x9f\x98\x80'
}

@test "O1: CRLF is treated as one newline" {
	boris
	shows 'a\r\nb\r\n' 'a\nb\n'
	shows 'a\r\r\nb' 'a\nb'
}

@test "O1: text after a carriage return overwrites the start of the line" {
	boris
	shows 'abcdef\rxy' 'xycdef'
	shows '50%%\rdone' 'done'
	shows '10%%\r20%%\r30%%\n' '30%%\n'
	shows 'one\nabc\rx\ntwo' 'one\nxbc\ntwo'
	shows 'abc\r\rx' 'xbc'
}

@test "O1: a carriage return at the end of a line has no effect" {
	boris
	shows 'abc\r' 'abc'
	shows '\rabc' 'abc'
}

@test "O1: text after a carriage return overwrites characters, not bytes" {
	boris
	shows '\303\244\303\266\303\274\rx' 'x\303\266\303\274'
	shows 'abc\r\303\244' '\303\244bc'
	shows '\360\237\230\200b\rxy\n' 'xyb\n'
}

@test "O1: a counter that is redrawn with carriage returns takes up only one line of output" {
	boris
	run_bash 'for ((i = 0; i <= 5000; i++)); do
			printf "\r%d of 5000" $i
		done
		echo'
	is "$(result stdout)" '"5000 of 5000\n"'
}

@test "O1: EL erases the part of the line before or after the cursor" {
	boris
	shows 'abcdef\r\033[K' ''
	shows 'abcdef\r\033[Kxy\n' 'xy\n'
	shows 'abcdef\rxy\033[K\n' 'xy\n'
	shows 'abcdef\rxy\033[0K\n' 'xy\n'
	shows 'abcdef\033[2K\rxy\n' 'xy\n'
	shows 'abcdef\b\b\b\033[1KX\n' '   Xef\n'
	shows 'ab\033[1KX\n' '  X\n'
}

@test "O1: in a line of 8,000 characters, the first character can be overwritten" {
	boris
	run_bash 'yes é | head -n 8000 | tr -d "\n"; printf "\rx\n"'
	is "$(plain stdout | tr -d é)" x
	like "$(plain stdout)" 'xé*'
}

@test "O1: in a line longer than 8,000 characters, only the last 8,000 columns can be overwritten" {
	boris
	run_bash "$(as 8001 a); printf '\rx\n'"
	is "$(plain stdout)" "$(as 8000 a | sh)x"
	run_bash "$(as 16000 a); printf '\b\b\bxy\rz\n'"
	is "$(plain stdout | tail -c 8001)" "z$(as 7996 a | sh)xya"
}

@test "O1: a backspace moves the cursor one column back" {
	boris
	shows '_\bX' 'X'
	shows 'N\bNA\bAM\bME\bE\n_\bf_\bo_\bo\n' 'NAME\nfoo\n'
	shows 'abc\b\b\n' 'abc\n'
	shows '10%%\b\b\b20%%\b\b\b\033[Kdone' 'done'
}

@test "O1: a backspace stops at the start of the line" {
	boris
	shows 'abc\b\b\b\b\bx\n' 'xbc\n'
	shows 'one\n\btwo' 'one\ntwo'
}

@test "O1: a backspace can move the cursor into the middle of a wide character" {
	boris
	shows '\303\244\b\360\237\230\200\b\by' 'y '
}

@test "O1: each row in the tables of t/screen produces the expected text, reply or character width" {
	[ -x "$HERE/screen" ] || fail "t/screen is not built: make t/screen"
	is "$("$HERE/screen" | grep '^not ok')" ''
}

@test "O1: cursor movements within a line take effect" {
	boris
	shows 'hello\033[1Cworld\n' 'hello world\n'
	shows 'OS:\033[10CDebian\n' 'OS:          Debian\n'
	shows '50%%\033[3D75%%' '75%%'
}

@test "O1: control sequences can delete, insert and erase characters in a line" {
	boris
	shows 'abcdef\033[3G\033[2P' 'abef'
	shows 'abcdef\033[3G\033[2@' 'ab  cdef'
	shows 'abcdef\033[3G\033[3X' 'ab   f'
}

@test "O1: a counter that erases and redraws its line takes up only one line of output" {
	boris
	run_bash 'for i in $(seq 60); do
			printf "\033[2K\033[1Gstep $i of 60"
		done
		printf "\033[2K\033[1Gall done"'
	is "$(result stdout)" '"all done"'
}

@test "O1: if autowrap is off, text after column 8,000 is not lost" {
	boris
	run_bash "printf '\\033[?7l'; $(as 8000 a); echo bcd"
	is "$(plain stdout | tail -c 5)" abcd
}

@test "O1: drawing 200 lines of 8,000 columns takes less than two seconds" {
	boris
	narrow=$(yes é | head -n 4000 | tr -d '\n')
	wide=$(yes a字 | head -n 2000 | tr -d '\n')
	for i in {1..100}; do
		printf '%s\r%s\r' "$narrow" "$wide"
	done >row
	run_bash 'cat row'
	is "$(plain stdout)" "$wide"
	most "$(result elapsed_ms)" $((2000 * SLOW))
}

@test "O1: control characters other than tab and newline are removed from output" {
	boris
	shows 'a\000b\000' 'ab'
	shows 'abc\r\000x' 'xbc'
	shows 'a\001b\002\007c\004d\013e\014f\016\017g\177h\ti\n' \
		'abcdefgh\ti\n'
	shows 'a\302\200b\302\205c\302\237d\n' 'abcd\n'
}

@test "O1: plain text is shown unchanged" {
	boris
	for text in 'hello\n' '\n\n\n' '  a  \t b  ' '"\\\\/\n' \
		'\303\244 \342\202\254 \360\237\230\200\n' \
		'\302\240\303\237 \342\200\250\n'; do
		shows "$text" "$text"
	done
}

@test "O2: each invalid UTF-8 sequence is shown as U+FFFD" {
	boris
	shows 'a\377b' 'a\357\277\275b'
	shows 'a\200b' 'a\357\277\275b'
	shows 'a\303(' 'a\357\277\275('
	shows 'a\377\376b' 'a\357\277\275\357\277\275b'
}

@test "O2: overlong UTF-8 sequences and surrogates are shown as U+FFFD" {
	boris
	for bytes in '\300\200' '\340\200\200' '\355\240\200' \
		'\364\220\200\200' '\370\210\200\200\200'; do
		printf "a${bytes}b" >raw
		run_bash 'cat raw'
		like "$(plain stdout)" $'a\xef\xbf\xbd*b'
		is "$(plain stdout | tr -d '\357\277\275')" ab
	done
}

@test "O2: an incomplete character at the end of the output is shown as U+FFFD" {
	boris
	shows 'a\342\202' 'a\357\277\275'
}

@test "O2: random bytes are converted to valid UTF-8" {
	boris
	run_bash 'head -c 20000 /dev/urandom; head -c 20000 /dev/urandom >&2'
	is "$(result exit_code)" 0
	plain stdout | iconv -f UTF-8 -t UTF-8 >/dev/null
	plain stderr | iconv -f UTF-8 -t UTF-8 >/dev/null
}

@test "O3: 30,000 characters of output are shown in full" {
	boris
	run_bash "$(as 30000 a)"
	is "$(stdout_size)" 30000
	not_truncated
}

@test "O3: output of 30,001 characters is truncated" {
	boris
	run_bash "$(as 30001 a)"
	is "$(result stdout_chars)" 30001
	has "$(plain stdout)" '[stdout truncated: 30001 characters in total, '
	has "$(plain stdout)" 'first 30000 and last 1 shown; full output: /'
}

@test "O3: the first 30,000 and the last 2,000 characters of long output are shown" {
	boris
	run_bash "$(as 29999 a); $(as 18001 b); $(as 2000 c)"
	is "$(result stdout_chars)" 50000
	plain stdout >shown
	is "$(head -c 30000 shown | tr -d a)" b
	is "$(tail -c 2000 shown | tr -d c)" ''
	line='[stdout truncated: 50000 characters in total,'
	line="$line first 30000 and last 2000 shown;"
	line="$line full output: $(plain stdout_file)]"
	is "$(tail -c +30001 shown)" $'\n'"$line"$'\n'"$(tail -c 2000 shown)"
}

@test "O3: the end of long output starts with a complete line" {
	boris
	run_bash 'seq 20000'
	last=$(seq 20000 | tail -c 2000 | tail -n +2)
	has "$(plain stdout)" "last $((${#last} + 1)) shown; full"
	is "$(plain stdout | sed '1,/truncated/d')" "$last"
}

@test "O3: the end of long output starts within a line if its last lines are very long" {
	boris
	run_bash "$(as 40000 a); echo; $(as 1001 b)"
	has "$(plain stdout)" 'first 30000 and last 1001 shown; full'
	run_bash "$(as 40000 a); echo; $(as 999 b)"
	has "$(plain stdout)" 'first 30000 and last 2000 shown; full'
}

@test "O3: truncated output does not repeat characters" {
	boris
	run_bash 'seq 6300'
	has "$(plain stdout)" 'first 30000 and last 393 shown;'
	is "$(plain stdout | head -c 30000; plain stdout | tail -c 393)" \
		"$(seq 6300)"
}

@test "O3: stdout and stderr are truncated independently" {
	boris
	run_bash "$(as 40000 a); ($(as 50000 b)) >&2"
	is "$(result stdout_chars) $(result stderr_chars)" '40000 50000'
	run_bash "($(as 40000 a)) >&2; $(as 5000 b)"
	is "$(result stderr_chars) $(file_size stderr)" '40000 40000'
	is "$(stdout_size)" 5000
	not_truncated
}

@test "O3: the truncation line for stderr names stderr and the file in which it was saved" {
	boris
	run_bash "($(as 40000 a)) >&2"
	line='[stderr truncated: 40000 characters in total,'
	line="$line first 30000 and last 2000 shown;"
	has "$(plain stderr)" "$line full output: $(plain stderr_file)]"
}

@test "O3: the output limit counts characters rather than bytes" {
	boris
	run_bash 'yes é | head -n 30000 | tr -d "\n"'
	is "$(get -n result structuredContent stdout)" 30000
	not_truncated
}

@test "O3: truncation does not split a character" {
	boris
	run_bash 'printf x; yes 😀 | head -n 30000 | tr -d "\n"'
	is "$(result stdout_chars)" 30001
	is "$(plain stdout | head -c 119997 | tail -c 4)" 😀
}

@test "O3: escape sequences do not count towards the output limit" {
	boris
	run_bash 'for ((i = 0; i < 20000; i++)); do
			printf "\033[31mx\033[0m"
		done'
	is "$(stdout_size)" 20000
	not_truncated
}

@test "O4: with BORIS_TRUNCATE=tail, the last 2000 lines of long output are shown" {
	BORIS_TRUNCATE='tail' boris
	run_bash 'seq 8500'
	plain stdout >shown
	is "$(head -n 1 shown)" 6501
	is "$(grep -c '^[0-9]*$' shown)" 2000
	line='[stdout: showing last 2000 of 8500 lines;'
	is "$(tail -n 1 shown)" "$line full output: $(plain stdout_file)]"
	is "$(result stdout_chars)" "$(seq 8500 | wc -c | tr -d ' ')"
}

@test "O4: with --truncate=tail, 2000 lines of output are shown in full" {
	boris --truncate=tail
	run_bash 'seq 2000'
	is "$(plain stdout)" "$(seq 2000)"
	not_truncated
	run_bash 'seq 2000 | tr -d "\n"; seq 1999'
	not_truncated
}

@test "O4: with --truncate=tail, a final line without a trailing newline counts as a line" {
	boris --truncate=tail
	run_bash 'seq 2000; printf last'
	has "$(plain stdout)" 'last 2000 of 2001 lines'
	like "$(plain stdout)" $'2\n3\n*2000\nlast*'
}

@test "O4: with --truncate=tail, at most the last 51,200 bytes are shown" {
	boris --truncate=tail
	line=$(as 99 x | sh)
	run_bash "yes $line | head -n 1000"
	has "$(plain stdout)" 'last 512 of 1000 lines'
	is "$(plain stdout | grep -c "^$line\$")" 512
}

@test "O4: with --truncate=tail, only complete lines are shown" {
	boris --truncate=tail
	line=$(as 198 x | sh)
	run_bash "yes $line | head -n 1000"
	has "$(plain stdout)" 'of 1000 lines'
	most "$(plain stdout | grep -c "^$line\$")" 257
	is "$(plain stdout | grep -v '^\[' | grep x | grep -vc "^$line\$")" 0
}

@test "O4: with --truncate=tail, a line of 51,200 bytes is shown in full" {
	boris --truncate=tail
	run_bash "$(as 51200 a)"
	is "$(stdout_size)" 51200
	not_truncated
}

@test "O4: with --truncate=tail, the end of a line longer than 51,200 bytes is shown" {
	boris --truncate=tail
	run_bash "$(as 20000 a); $(as 51199 b); printf c"
	is "$(result stdout_chars)" 71200
	is "$(plain stdout | sed 's/\[.*//' | tr -dc b | wc -c | xargs)" 51199
	like "$(plain stdout)" "bb*bc*[[]stdout: showing last 1 of 1 lines*"
	like "$(plain stdout)" '*; full output: /*]*'
}

@test "O4: with --truncate=tail, the retained end of a long line starts with a complete character" {
	boris --truncate=tail
	run_bash 'yes € | head -n 20000 | tr -d "\n"'
	like "$(plain stdout)" '€€*'
	is "$(plain stdout | grep -o € | wc -l | tr -d ' ')" 17066
}

@test "O4: with --truncate=both, the first 10,000 and last 20,000 characters of long output are shown" {
	boris --truncate=both
	run_bash "$(as 9999 x); printf 1; $(as 20000 y); printf 2; $(as 19999 z)"
	is "$(result stdout_chars)" 50000
	plain stdout >shown
	is "$(head -c 10000 shown | tr -d x)" 1
	is "$(tail -c 20000 shown | tr -d z)" 2
	# The name of the file may contain y2.
	lacks "$(grep -v '^\[' shown)" y2
	line='[stdout truncated: 50000 characters in total, 20000 omitted here;'
	is "$(grep '^\[' shown)" "$line full output: $(plain stdout_file)]"
}

@test "O4: with --truncate=both, 30,000 characters of output are shown in full" {
	boris --truncate=both
	run_bash "$(as 30000 a)"
	is "$(stdout_size)" 30000
	not_truncated
}

@test "O4: with --truncate=both, output of 30,001 characters is truncated" {
	boris --truncate=both
	run_bash "$(as 30001 a)"
	has "$(plain stdout)" \
		'[stdout truncated: 30001 characters in total, 1 omitted here;'
}

@test "O4: with --truncate=both, truncation does not split a character" {
	boris --truncate=both
	run_bash 'yes € | head -n 40000 | tr -d "\n"'
	is "$(result stdout_chars)" 40000
	is "$(plain stdout | grep -o € | wc -l | tr -d ' ')" 30000
}

@test "O4: the truncate argument overrides --truncate for a single call" {
	boris --truncate=tail
	run_bash 'seq 8500' '{"truncate":"head"}'
	like "$(plain stdout)" $'1\n2\n*first 30000 and last *'
	run_bash 'seq 8500'
	has "$(plain stdout)" 'last 2000 of 8500 lines'
}

@test "O4: the truncate argument also applies to a task's output" {
	boris --truncate=tail
	start_task 'seq 8500' '{"truncate":"both"}'
	read_task "$task" '{"wait":10000}'
	has "$(plain stdout)" 'omitted here'
}

@test "O4: the truncation line counts all characters, including those not kept in memory" {
	boris
	for truncate in head tail both; do
		run_bash 'yes abcdefg | head -n 1000000' \
			'{"truncate":"'$truncate'"}'
		is "$(result stdout_chars) $(file_size stdout)" '8000000 8000000'
	done
}

@test "O4: the truncation line counts all lines, including those not kept in memory" {
	boris
	run_bash 'yes abcdefg | head -n 1000000' '{"truncate":"tail"}'
	has "$(plain stdout)" 'last 2000 of 1000000 lines'
}

@test "O5: output is saved even if files with similar names already exist" {
	boris
	run_bash 'head -c 100000 /dev/zero | tr "\0" a'
	file=$(plain stdout_file)
	file=${file%.log}
	# If names ended in a number, these would be the next ones.
	file=${file%-[0-9]}
	for i in {2..20}; do
		: >"$file-$i.log"
	done
	for i in 1 2 3; do
		run_bash 'head -c 100000 /dev/zero | tr "\0" b'
		is "$(wc -c <"$(plain stdout_file)")" 100000
	done
	rm "$file"-*.log
}

# requests_that_save N: Prints N requests. Each saves two files, except for the
# last one, which prints the number of files.
requests_that_save() {
	local command='printf %0300d 0; printf %0300d 0 >&2'
	for ((i = 1; i <= $1; i++)); do
		((i < $1)) || command='ls $TMPDIR | wc -l'
		bash_request $i "$command"
	done | sed 's/}}}$/,"limit":200}}}/'
}

@test "O5: the oldest saved files are removed when there are more than 1,024" {
	echo "$HELLO" >all
	requests_that_save 531 >>all
	SLOW=$((4 * SLOW)) filter --structured=off <all >seen
	is "$status $(wc -l <seen)" '0 532'
	is "$(grep -o 'full output: [^]]*' seen | sort -u | wc -l)" 1060
	has "$(tail -n 1 seen)" 'stdout:\n1024\n'
}

@test "O5: a saved file contains the complete output byte for byte" {
	boris
	run_bash 'for i in $(seq 10000); do
			printf "\033[31m%d\377\033[0m\r\n" $i
		done | tee copy'
	cmp copy "$(plain stdout_file)"
}

@test "O5: saved files have mode 0600 regardless of the umask" {
	for mask in 0777 0; do
		wrap=(sh -c "umask $mask; exec \"\$@\"" sh)
		boris
		run_bash "umask 022; $(as 40000 a)"
		is "$(ls -l "$(plain stdout_file)" | cut -c 1-10)" -rw-------
		stop_server
	done
}

@test "O5: a saved file in TMPDIR is reported by its absolute path" {
	TMPDIR_FOR_BORIS=tmp boris
	run_bash "cd /; $(as 40000 a)"
	like "$(plain stdout_file)" "$PWD/tmp/?*"
}

@test "O5: each long output is saved in its own file" {
	boris
	run_bash "$(as 40000 a)"
	one=$(plain stdout_file)
	run_bash "$(as 40000 b)"
	is "$(tr -d b <"$(plain stdout_file)")" ''
	is "$(tr -d a <"$one")" ''
}

# has_raw_file COMMAND: Fails if the truncation line does not say that the saved
# file of COMMAND is raw.
has_raw_file() {
	run_bash "$1"
	has "$(plain stdout)" "; full raw output: $(plain stdout_file)]"
}

@test "O5: the truncation line describes a saved file as raw if it differs from the result's text" {
	boris
	has_raw_file "$(as 40000 a); printf '\\033[mb'"
	has_raw_file "printf '\\r\\n'; $(as 40000 a)"
	has_raw_file "printf 'x\\by'; $(as 40000 a)"
	has_raw_file "printf '\\000'; $(as 40000 a)"
	has_raw_file "$(as 40000 a); printf '\\360\\237\\230b'"
}

@test "O5: the truncation line does not describe a saved file as raw if it equals the result's text" {
	boris
	run_bash "$(as 40000 a); yes é | head -n 10000"
	has "$(plain stdout)" "; full output: $(plain stdout_file)]"
}

@test "O5: saved terminal output contains the raw bytes" {
	boris
	run_bash 'seq 20000; read x' '{"tty":true,"until":"20000"}'
	has "$(plain stdout)" "; full raw output: $(plain stdout_file)]"
	grep -q $'^19999\r$' "$(plain stdout_file)"
}

@test "O5: without TMPDIR, output is saved in /tmp" {
	wrap=(env -u TMPDIR)
	boris
	run_bash "$(as 40000 a)"
	file=$(plain stdout_file)
	like "$file" '/tmp/?*'
	stop_server
	is $status 0
	[ ! -e "$file" ]
}

@test "O5: no saved file is left if output is not truncated" {
	boris
	run_bash "$(as 30000 a)"
	run_bash "$(as 40000 a)" '{"truncate":"tail"}'
	is "$(result stdout_file)" ''
	is "$(find tmp -type f)" ''
}

@test "O5: if output cannot be saved, the truncation line gives the reason" {
	[ -z "$WRAP" ] || skip "under $WRAP, which needs TMPDIR"
	TMPDIR_FOR_BORIS=/no/such/place boris
	run_bash "$(as 40000 a)"
	is "$(result exit_code) $(result stdout_chars)" '0 40000'
	is "$(result stdout_file)" ''
	has "$(plain stdout)" 'first 30000 and last 2000 shown; '
	like "$(plain stdout)" '*full output not saved: /no/such/place: ?*]*'
	lacks "$(plain stdout)" 'full output: /'
}

@test "O5: a saved file that reaches --save-limit is reported as incomplete" {
	boris --save-limit=1
	run_bash 'yes abcdefg | head -c 3000000'
	is "$(result stdout_chars)" 3000000
	has "$(plain stdout)" 'incomplete'
	yes abcdefg | head -c 1048576 | cmp - "$(plain stdout_file)"
}

@test "O5: with --save-limit=0, output is not saved" {
	boris --save-limit=0
	run_bash "$(as 40000 a)"
	is "$(result stdout_chars) $(result stdout_file)" '40000 '
	has "$(plain stdout)" '; full output not saved: --save-limit is 0]'
	lacks "$(plain stdout)" 'full output: /'
	is "$(find tmp -type f)" ''
}

@test "O5: output saved to a file is reported as incomplete if the disk is full" {
	needs_root
	needs unshare
	needs_plain
	unshare -m true || skip 'no mount namespaces here'
	wrap=(unshare -m sh -c 'mount -t tmpfs -o size=64k none tmp
		exec "$@"' sh)
	boris
	run_bash "$(as 200000 a)"
	is "$(result exit_code) $(result stdout_chars)" '0 200000'
	has "$(plain stdout)" incomplete
	run_bash 'echo hi'
	is "$(result stdout)" '"hi\n"'
}

@test "O5: a saved file that reaches RLIMIT_FSIZE is reported as incomplete" {
	wrap=(sh -c 'ulimit -f 100; exec "$@"' sh)
	boris
	run_bash "$(as 200000 a)"
	is "$(result exit_code) $(result stdout_chars)" '0 200000'
	has "$(plain stdout)" incomplete
}

@test "O5: a command fails if a file that it writes reaches RLIMIT_FSIZE" {
	wrap=(sh -c 'ulimit -f 100; exec "$@"' sh)
	boris
	run_bash 'head -c 200000 /dev/zero >big'
	isnt "$(result exit_code)" 0
}

@test "O5: the oldest saved files are removed if a session's files exceed four times --save-limit" {
	boris --save-limit=1
	for i in 1 2 3 4 5 6; do
		run_bash 'yes abcdefg | head -c 1048576'
		plain stdout_file >file$i
		echo >>file$i
	done
	most "$(find tmp -type f -exec cat {} + | wc -c)" 4194304
	[ ! -e "$(cat file1)" ]
	[ ! -e "$(cat file2)" ]
	for i in 3 4 5 6; do
		is "$(wc -c <"$(cat file$i)" | tr -d ' ')" 1048576
	done
}

@test "O5: if a saved file has been removed, the result gives the reason in place of the file name" {
	boris --save-limit=1
	start_task 'yes abcdefg | head -c 1048576'
	eventually is_reaped "$pid"
	for i in 1 2 3 4; do
		run_bash 'yes abcdefg | head -c 1048576'
	done
	read_task
	is "$(result stdout_chars) $(result stdout_file)" '1048576 '
	has "$(plain stdout)" 'full output not saved: '
	lacks "$(plain stdout)" 'full output: /'
}

# fill_saved N: Starts tasks that keep running, and whose saved files use N MiB.
fill_saved() {
	local i
	for ((i = 0; i < $1; i++)); do
		task_at_gate 'yes abcdefg | head -c 1048576' || return
	done
}

# names_file STREAM: Fails if the result does not name the saved file of this
# stream in both its text and its data, or if the file does not exist.
names_file() {
	local file
	file=$(plain "${1}_file") || fail "no file for $1: $reply" || return
	[ -s "$file" ] || fail "no such file: $file" || return
	has "$(plain "$1")" "; full output: $file"
}

@test "O5: the saved file of a result's stdout is not removed to make room for its stderr" {
	boris --save-limit=1
	fill_saved 3
	run_bash 'yes abcdefg | head -c 1048576; yes abcdefg | head -c 50000 >&2'
	names_file stdout
	has "$(plain stderr)" '; full output not saved: the files of this session'
	is "$(result stderr_file)" ''
}

@test "O5: the saved file of a result's stderr is not removed to make room for its stdout" {
	boris --save-limit=1
	fill_saved 3
	run_bash 'yes abcdefg | head -c 1048576 >&2; yes abcdefg | head -c 50000'
	names_file stderr
	has "$(plain stdout)" '; full output not saved: the files of this session'
	is "$(result stdout_file)" ''
}

@test "O5: a saved file can be removed once the result that names it has been written" {
	boris --save-limit=1
	fill_saved 3
	run_bash 'yes abcdefg | head -c 1048576'
	file=$(plain stdout_file)
	run_bash 'yes abcdefg | head -c 50000'
	names_file stdout
	[ ! -e "$file" ]
}

@test "O5: if a saved file was removed because of the limit of 1,024 files, the result says so" {
	boris
	start_task "$(as 70000 a)"
	eventually is_reaped "$pid"
	sync_server
	save_files 32
	read_task "$task" '{"wait":60000}'
	has "$(plain stdout)" '; full output not saved: boris keeps at most 1,024 files]'
}

# in_memory TYPE: Makes the server's TMPDIR a file system in memory. TYPE is its
# type, followed by options of mount(8).
in_memory() {
	needs unshare mount
	needs_linux_parts
	local how=(unshare -m)
	[ "$(id -u)" = 0 ] || how=(unshare -rm)
	"${how[@]}" true || skip 'no mount namespaces here'
	wrap=("${how[@]}" sh -c "mount -t $1 none tmp && exec \"\$@\"" sh)
	"${wrap[@]}" true || skip "cannot mount: $1"
}

# is_incomplete REASON: Fails if the truncation line does not say that the saved
# file is incomplete for this reason.
is_incomplete() {
	has "$(plain stdout)" "(incomplete: $1)]"
}

# is_not_saved REASON: Fails if the truncation line does not say that the stream
# was not saved for this reason.
is_not_saved() {
	has "$(plain stdout)" "; full output not saved: $1]"
	is "$(result stdout_file)" ''
}

# saved_bytes: Prints the number of bytes in all saved files. They are counted
# by a command, because only the server sees this file system.
saved_bytes() {
	run_bash 'cat tmp/boris-*.log | wc -c'
	plain stdout | tr -d ' \n'
}

# free_bytes: Prints the number of bytes that are free in TMPDIR.
free_bytes() {
	run_bash 'df -Pk tmp | tail -n 1'
	plain stdout | awk '{ print $4 * 1024 }'
}

@test "O5: one saved file uses at most a quarter of the free disk space" {
	in_memory 'tmpfs -o size=32m'
	boris
	run_bash 'yes abcdefg | head -c 60000000'
	is "$(result stdout_chars)" 60000000
	is_incomplete \
		'the files of this session reached a quarter of the free space'
	most "$(saved_bytes)" $((32 << 18))
	least "$(saved_bytes)" $((31 << 18))
}

@test "O5: a command can use the disk space that saved files leave free" {
	in_memory 'tmpfs -o size=32m'
	boris
	run_bash 'yes abcdefg | head -c 60000000'
	run_bash 'head -c 16M /dev/zero >tmp/other && wc -c <tmp/other
		rm tmp/other'
	is "$(plain stdout) $(plain stderr)" '16777216 '
}

@test "O5: the oldest saved files are removed before the saved files fill a quarter of the free disk space" {
	in_memory 'tmpfs -o size=32m'
	boris
	for i in 1 2 3; do
		run_bash 'yes abcdefg | head -c 3145728'
		plain stdout_file >file$i
	done
	run_bash 'ls "$(cat file1)"
		wc -c <"$(cat file2)"
		wc -c <"$(cat file3)"'
	is "$(plain stdout)" $'3145728\n3145728'
	has "$(plain stderr)" 'No such file'
}

@test "O5: if a file was removed because saved files filled a quarter of the free space, the result says so" {
	in_memory 'tmpfs -o size=32m'
	boris
	start_task 'yes abcdefg | head -c 6000000'
	eventually is_reaped "$pid"
	run_bash 'yes abcdefg | head -c 6000000'
	isnt "$(result stdout_file)" ''
	read_task
	is_not_saved \
		'the files of this session reached a quarter of the free space'
}

@test "O5: saved files leave at least a tenth of the file system free" {
	in_memory 'tmpfs -o size=32m'
	boris
	run_bash 'yes abcdefg | head -c 100000'
	run_bash 'head -c 27M /dev/zero >tmp/other'
	run_bash 'yes abcdefg | head -c 6000000'
	is_incomplete 'less than a tenth of the file system is free'
	least "$(free_bytes)" $((32 * 104857))
	run_bash 'yes abcdefg | head -c 6000000'
	is_not_saved 'less than a tenth of the file system is free'
}

@test "O5: several saved files together use at most a quarter of the free disk space" {
	in_memory 'tmpfs -o size=32m'
	boris
	for i in 1 2 3 4; do
		start_task "yes abcdefg | head -c 20000000
			echo >&2
			echo >ended$i"
	done
	await_file ended1 ended2 ended3 ended4
	eventually is_reaped "$pid"
	most "$(saved_bytes)" $((32 << 18))
}

# meminfo AVAILABLE: Makes the server read that AVAILABLE KiB of 64 MiB are
# free.
meminfo() {
	printf '%s: %d kB\n' MemTotal 65536 MemFree 1000 MemAvailable "$1" \
		>meminfo
	wrap[4]="mount --bind meminfo /proc/meminfo && ${wrap[4]}"
	"${wrap[@]}" true || skip 'cannot replace /proc/meminfo'
}

@test "O5: on an in-memory file system, saved files use at most a quarter of the free memory" {
	for kind in 'tmpfs -o size=1g' ramfs; do
		in_memory "$kind"
		meminfo 20000
		boris
		run_bash 'yes abcdefg | head -c 20000000'
		is_incomplete \
			'the files of this session reached a quarter of the free memory'
		is "$kind $(saved_bytes)" "$kind $((5000 << 10))"
		stop_server
	done
}

@test "O5: on an in-memory file system, saved files leave at least a tenth of the memory free" {
	in_memory ramfs
	meminfo 6700
	boris
	run_bash 'yes abcdefg | head -c 100000'
	is "$(saved_bytes)" 100000
	sed s/6700/6550/ meminfo >fewer
	cat fewer >meminfo
	run_bash 'yes abcdefg | head -c 100000' '{"limit":200}'
	is_not_saved 'less than a tenth of the memory is free'
}

# control_group: Makes the server read that its control group has used 18 MB of
# 20 MB, of which 6 MB are page cache.
control_group() {
	mkdir group
	echo 20000000 >group/memory.max
	echo 18000000 >group/memory.current
	printf '%s %d\n' anon 5 inactive_file 4000000 active_file 2000000 \
		>group/memory.stat
	echo 0::/ >name
	wrap[4]="mount --bind group /sys/fs/cgroup &&
		mount --bind name /proc/\$\$/cgroup && ${wrap[4]}"
	"${wrap[@]}" true || skip 'cannot replace the control group'
}

@test "O5: files saved on a tmpfs respect the cgroup's memory limit" {
	in_memory 'tmpfs -o size=1g'
	control_group
	boris
	run_bash 'yes abcdefg | head -c 20000000'
	is_incomplete \
		'the files of this session reached a quarter of the free memory'
	is "$(saved_bytes)" 2000000
}

# limited_to TRUNCATE: Calls a command that prints 3000 times a and 2000 times b
# on stdout and 2000 times b on stderr, with a limit of 1200 characters. Prints
# how many times a and b are shown on stdout.
limited_to() {
	run_bash "$(as 3000 a); $(as 2000 b) | tee /dev/stderr" \
		'{"limit":1200,"truncate":"'$1'"}'
	plain stdout | grep -v '^\[stdout' >got
	echo "$(tr -cd a <got | wc -c) $(grep -o 'b*$' got | tr -cd b | wc -c)"
}

@test "O8: the limit argument is split between the start and the end of the output" {
	boris
	is "$(limited_to head)" '1000 200'
	is "$(limited_to tail)" '0 1200'
	is "$(limited_to both)" '400 800'
}

@test "O8: the limit argument applies to stdout and stderr separately" {
	boris
	for truncate in head tail both; do
		limited_to $truncate
		is "$(result stdout_chars) $(result stderr_chars)" '5000 2000'
		is "$(file_size stdout)" 5000
	done
}

@test "O8: the limit argument is rejected if it is below 200 or above 100000" {
	boris
	for n in 199 100001; do
		run_bash true '{"limit":'$n'}'
		is_tool_error '*limit*200*100000*'
	done
}

@test "O8: the limit argument counts characters rather than bytes" {
	boris
	run_bash 'printf "%200s" "" | sed "s/ /\xe2\x82\xac/g"' '{"limit":200}'
	is "$(stdout_size)" 600
	not_truncated
}

@test "O8: a task's new output is returned in full if it is shorter than the limit argument" {
	boris
	start_task 'echo x; echo x >a; read <gate
		printf "%190s" "" | sed "s/ /\xe2\x82\xac/g"' '{"limit":200}'
	await_output a
	read_task "$task" '{"new":true}'
	release
	read_task "$task" '{"new":true,"wait":10000}'
	is "$(stdout_size)" 570
}

@test "O9: only the first 1,000 characters of binary output are shown" {
	boris
	run_bash 'head -c 50000 "$(type -P bash)"'
	plain stdout >shown
	has "$(tail -n 1 shown)" '[stdout truncated: binary data, 50000 bytes'
	has "$(tail -n 1 shown)" 'in total, first 1000 characters shown;'
	most "$(wc -c <shown)" 3300
	is "$(file_size stdout)" 50000
}

@test "O9: the truncate argument has no effect on binary output" {
	boris
	run_bash 'head -c 50000 "$(type -P bash)"'
	plain stdout | head -n -1 >shown
	run_bash 'head -c 50000 "$(type -P bash)"' '{"truncate":"tail"}'
	is "$(plain stdout | head -n -1)" "$(<shown)"
}

@test "O9: output is treated as text if at most a tenth of its bytes are not valid UTF-8" {
	boris
	run_bash 'for ((i = 0; i < 2000; i++)); do printf "123456789\377"; done'
	not_truncated
}

@test "O9: output is treated as binary if more than a tenth of its bytes are not valid UTF-8" {
	boris
	run_bash 'for ((i = 0; i < 2000; i++)); do printf "12345678\377"; done'
	has "$(plain stdout)" 'binary data, 18000 bytes in total'
}

@test "O9: only the first 4,000 bytes determine whether output is treated as binary" {
	boris
	run_bash "$(as 4000 a); head -c 20000 /dev/zero"
	not_truncated
}

@test "O9: output of less than 200 bytes is never treated as binary" {
	boris
	run_bash 'head -c 199 /dev/zero; head -c 200 /dev/zero >&2'
	is "$(result stdout_chars) $(result stderr_chars)" ' 0'
	has "$(plain stderr)" '[stderr: binary data, 200 bytes in total'
}

@test "O9: terminal output that contains NUL bytes is not treated as binary" {
	boris
	start_on_terminal 'head -c 400 /dev/zero; echo text'
	is "$(plain stdout)" text
}

@test "O9: binary output of a task is recognized as binary while the task is still running" {
	boris
	start_task 'head -c 5000 /dev/zero; echo x >1; read <gate'
	await_output 1
	read_task
	has "$(plain stdout)" 'binary data, 5000 bytes in total, first 0 char'
	release
}

@test "O9: a task's new output is shown even if its earlier output was binary" {
	boris
	start_task 'head -c 5000 /dev/zero; echo x >1; read <gate; echo end'
	await_output 1
	read_task
	release
	read_task "$task" '{"wait":10000,"new":true}'
	has "$(plain stdout)" end
}

@test "O6: ping is answered immediately while a command prints endlessly" {
	boris
	call_bash 'echo x >begun; yes' '{"timeout":1000}'
	await_file begun
	start_timer
	next_is_ping
	within 500
	answer 1
	is "$(result status)" '"timed_out"'
}

# memory_for COMMAND [ARGUMENTS [META]]: Prints by how many KiB the peak memory
# of the server grows when it runs COMMAND, compared with `true`.
memory_for() {
	local before
	run_bash true
	before=$(peak)
	run_bash "$@"
	echo $(($(peak) - before))
}

@test "O6: one second of endless output uses at most 768 KiB of memory" {
	needs_plain
	boris
	most "$(memory_for yes '{"timeout":1000}')" 768
}

@test "O6: with truncate set to tail or both, 20 MB of output uses at most 1 MiB of memory" {
	needs_plain
	boris
	for truncate in tail both; do
		most "$(memory_for 'yes | head -c 20000000' \
			'{"truncate":"'$truncate'"}')" 1024
	done
}

@test "O6: 20 MB of output on stderr with progress notifications uses at most 1 MiB of memory" {
	needs_plain
	boris
	most "$(memory_for 'yes | head -c 20000000 >&2' '{}' \
		'{"progressToken":1}')" 1024
}

@test "O6: a 20 MB line or escape sequence uses at most 1 MiB of memory" {
	needs_plain
	boris
	bytes='head -c 20000000 /dev/zero | tr "\0"'
	most "$(memory_for "$bytes a")" 1024
	most "$(memory_for "$bytes '\\r'")" 1024
	most "$(memory_for "printf '\\033]'; $bytes a")" 1024
	most "$(memory_for "printf '\\033['; $bytes 1")" 1024
}

# progress_token TOKEN: Prints the _meta object of a call with this token.
progress_token() {
	printf '{"progressToken":%s}' "$1"
}

@test "O7: progress notifications contain the new output of a running command" {
	boris
	call_bash 'echo one; read <gate; echo two >&2; read <gate; echo three' \
		'{}' "$(progress_token '"t"')"
	notice
	is "$(get method)" '"notifications/progress"'
	is "$(get params progressToken)" '"t"'
	is "$(get params message)" '"one\n"'
	release
	notice
	is "$(get params message)" '"two\n"'
	release
	answer
	is "$(result stdout) $(result stderr)" '"one\nthree\n" "two\n"'
}

@test "O7: a progress token is echoed back exactly as it was sent" {
	boris
	for token in 0 7 '"x"' '""' '"a\u0062"' 12345678901234567890; do
		call_bash 'echo hi; read <gate' '{}' "$(progress_token "$token")"
		notice
		is "$(get -v params progressToken)" "$token"
		release
		answer
	done
}

# print_slowly: Runs a command with progress that prints 25 lines in more than a
# second.
print_slowly() {
	start_timer
	run_bash 'for i in {1..25}; do echo $i; read -t 0.05 <>never; done' \
		'{}' "$(progress_token 1)"
}

@test "O7: the progress value is the elapsed time in seconds and always increases" {
	boris
	print_slowly
	elapsed=$(elapsed)
	last=-1
	for reply in "${notices[@]}"; do
		least "$(progress)" $((last + 1))
		last=$(progress)
	done
	most "$last" "$elapsed"
}

@test "O7: at most ten progress notifications are sent per second" {
	boris
	print_slowly
	least ${#notices[@]} 2
	most ${#notices[@]} $(($(elapsed) / 100 + 2))
}

@test "O7: progress notifications do not repeat earlier output" {
	boris
	print_slowly
	output=$(plain stdout; echo .)
	messages=$(all -s params message)
	is "${output:0:${#messages}}" "$messages"
}

@test "O7: a call without a valid progress token receives no progress notifications" {
	boris
	run_bash 'echo hi; read -t 0.3 <>never'
	for token in null true '{}' '[1]' 1.5; do
		run_bash 'echo hi; read -t 0.2 <>never' '{}' \
			"$(progress_token "$token")"
		is "$(result stdout)" '"hi\n"'
	done
	is ${#notices[@]} 0
}

@test "O7: a call that only starts a task receives no progress notifications" {
	boris
	call_bash 'echo hi; echo x >begun; read <gate' \
		'{"run_in_background":true}' "$(progress_token 1)"
	answer
	await_file begun
	next_is_ping
	is ${#notices[@]} 0
}

@test "O7: the message of a progress notification contains no control characters" {
	boris
	call_bash 'printf "\033[31mred\033[0m\377\r\n"; read <gate' '{}' \
		"$(progress_token 1)"
	notice
	is "$(get -s params message)" $'red\xef\xbf\xbd'
	release
	answer
}

@test "O7: a progress notification is at most 128 KiB long" {
	boris
	run_bash 'seq 100000; read -t 0.2 <>never' '{}' "$(progress_token 1)"
	for line in "${notices[@]}"; do
		most ${#line} 131072
	done
}

@test "O7: the result also contains the output shown in progress notifications" {
	boris
	run_bash 'seq 100000; read -t 0.2 <>never' '{}' "$(progress_token 1)"
	is "$(result stdout_chars)" "$(seq 100000 | wc -c | tr -d ' ')"
	like "$(plain stdout)" $'1\n2\n3\n*'
}

@test "O7: no progress notification is sent after the response" {
	boris
	for i in 1 2 3 4 5; do
		run_bash 'echo hi; (read -t 0.15 <>never; echo late) & true' \
			'{}' "$(progress_token $i)"
	done
	start_task 'read -t 0.3 <>never'
	read_task "$task" '{"wait":10000}'
	is "$(all method | tail -n 2 | xargs)" ''
}

@test "O7: a progress notification is never sent in the same write as the response" {
	needs strace
	needs_plain
	wrap=(strace -qq -e signal=none -s 4096 -o trace
		-e trace=write,writev,sendto,sendmsg)
	"${wrap[@]}" true || skip 'no strace here'
	boris
	for i in 1 2 3; do
		run_bash 'echo one; read -t 0.12 <>never; echo two
			read -t 0.12 <>never; echo three' \
			'{}' "$(progress_token $i)"
	done
	stop_server
	least "$(grep -c notifications/progress trace)" 3
	is "$(grep notifications/progress trace | grep -c exit_code)" 0
}

@test "O7: no progress notification is sent after a call is cancelled" {
	boris
	call_bash 'trap "" TERM; echo one; echo x >begun; read <gate
		echo two; read <gate' '{}' "$(progress_token 1)"
	await_file begun
	notice
	cancel $id
	sync_server
	release
	sync_server
	is ${#notices[@]} 0
	release
	run_bash 'echo next'
	is "$(result stdout) ${#notices[@]}" '"next\n" 0'
}

@test "O7: a progress notification is sent after ten seconds without output" {
	use_fast_clock
	boris
	start_timer
	call_bash 'read <gate' '{}' "$(progress_token 1)"
	notice
	least "$(elapsed)" 9000
	within 15000
	least "$(progress)" 9000
	release
	answer
}
