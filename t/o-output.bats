#!/usr/bin/env bats
# SPDX-License-Identifier: ISC
#
# O: output
# shellcheck disable=SC1003,SC1010,SC2012,SC2016,SC2017,SC2030,SC2031,SC2034
# shellcheck disable=SC2054,SC2086,SC2089,SC2090,SC2094,SC2154,SC2238

load helper

# shows BYTES TEXT: printed BYTES (as printf has them) are shown as TEXT, on
# either stream
shows() {
	# shellcheck disable=SC2059
	printf "$1" >raw
	# shellcheck disable=SC2059
	printf "$2" >want
	run_bash 'cat raw; cat raw >&2'
	plain stdout >got
	cmp got want || fail "$1 -> $(od -An -c got)" || return
	plain stderr | cmp - want
}

# as COUNT CHARACTER: that many of it, as part of a command
as() {
	printf 'head -c %s /dev/zero | tr "\\0" %s' "$1" "$2"
}

# file_size STREAM: of the file that holds the full stream
file_size() {
	wc -c <"$(plain "${1}_file")" | tr -d ' '
}

@test "O1: escape sequences that do not change the text are dropped" {
	boris
	shows '\033[31mred\033[0m plain\n' 'red plain\n'
	shows '\033[1;38;5;196mx\033[m\033[?25l\033[2J\033[10;20Hy\n' 'xy\n'
	shows 'a\033[38:2::1:2:3mb\033[>4;2mc\033[!pd\033[ qe' 'abcde'
	shows 'a\033[Kb' 'ab'
	shows '\033]0;title\007text' 'text'
	shows '\033]0;title\033\\text' 'text'
	shows '\033]8;;http://x\033\\link\033]8;;\033\\\n' 'link\n'
	shows 'a\033Pq#0;1\033\\b' 'ab'
	shows 'a\033_Gf=1\033\\b' 'ab'
	shows 'a\033^private\033\\b' 'ab'
	shows 'a\033Xstring\033\\b' 'ab'
	shows 'a\033cd\033=e\033>f\033Mg' 'adefg'
	shows 'a\033(Bb\033)0c\033#8d' 'abcd'
	shows 'a\0337b\0338c' 'ac'
	shows 'a\033]0;title\nb\n' 'a\nb\n'
	shows 'a\033Ptitle\nb\n' 'a\nb\n'
	shows 'a\033]0;title\033[31mb' 'ab'
	shows 'a\033]0;title\030b' 'ab'
	shows 'a\033]0;title\032b' 'ab'
	shows 'a\033' 'a'
	shows 'a\033[' 'a'
	shows 'a\033[31' 'a'
	shows 'a\033]0;ti' 'a'
}

@test "O1, O2: controls and characters have the same effect if reads divide them" {
	boris
	start_task 'for part in "a\033" "[3" "1mb\033]0;t" "t\033" "\\\\c\r" "\nabcdef\r" x "y\b\b" "z\n\360\237" "\230" "\200\n"; do
		printf "$part"; echo x >>part; read <gate; done'
	parts() { [ "$(cat part 2>/dev/null | wc -l)" = "$n" ]; }
	for n in 1 2 3 4 5 6 7 8 9 10 11; do
		eventually parts
		look
		case $n in
		6) has "$(result stdout)" '"abc\nabcdef"' ;;
		7) has "$(result stdout)" '"abc\nxbcdef"' ;;
		8) has "$(result stdout)" '"abc\nxycdef"' ;;
		esac
		release
	done
	look "$task" '{"wait":10000}'
	is "$(plain stdout)" $'abc\nzycdef\n\xf0\x9f\x98\x80'
}

@test "O1: a carriage return returns to the start of the line" {
	boris
	shows 'a\r\nb\r\n' 'a\nb\n'
	shows 'a\r\r\nb' 'a\nb'
	shows 'abcdef\rxy' 'xycdef'
	shows '50%%\rdone' 'done'
	shows '10%%\r20%%\r30%%\n' '30%%\n'
	shows 'one\nabc\rx\ntwo' 'one\nxbc\ntwo'
	shows 'abc\r' 'abc'
	shows 'abc\r\rx' 'xbc'
	shows '\rabc' 'abc'
	shows '\303\244\303\266\303\274\rx' 'x\303\266\303\274'
	shows 'abc\r\303\244' '\303\244bc'
	shows '\360\237\230\200b\rxy\n' 'xyb\n'
	run_bash 'for ((i = 0; i <= 5000; i++)); do printf "\r%d of 5000" $i; done; echo'
	is "$(result stdout)" '"5000 of 5000\n"'
}

@test "O1: EL erases a part of the line" {
	boris
	shows 'abcdef\r\033[K' ''
	shows 'abcdef\r\033[Kxy\n' 'xy\n'
	shows 'abcdef\rxy\033[K\n' 'xy\n'
	shows 'abcdef\rxy\033[0K\n' 'xy\n'
	shows 'abcdef\033[2K\rxy\n' 'xy\n'
	shows 'abcdef\b\b\b\033[1KX\n' '   Xef\n'
	shows 'ab\033[1KX\n' '  X\n'
}

@test "O1: a line of more than 8,000 characters is overwritten only in its last row" {
	boris
	run_bash 'yes é | head -n 8000 | tr -d "\n"; printf "\rx\n"'
	is "$(plain stdout | tr -d é)" x
	like "$(plain stdout)" 'xé*'
	run_bash "$(as 8001 a); printf '\rx\n'"
	is "$(plain stdout)" "$(as 8000 a | sh)x"
	run_bash "$(as 16000 a); printf '\b\b\bxy\rz\n'"
	is "$(plain stdout | tail -c 8001)" "z$(as 7996 a | sh)xya"
}

@test "O1: a backspace moves the cursor one column back" {
	boris
	shows '_\bX' 'X'
	shows 'N\bNA\bAM\bME\bE\n_\bf_\bo_\bo\n' 'NAME\nfoo\n'
	shows 'abc\b\b\b\b\bx\n' 'xbc\n'
	shows 'abc\b\b\n' 'abc\n'
	shows '\303\244\b\360\237\230\200\b\by' 'y '
	shows 'one\n\btwo' 'one\ntwo'
	shows '10%%\b\b\b20%%\b\b\b\033[Kdone' 'done'
}

@test "O1: t/screen draws every row of its tables as expected" {
	[ -x "$HERE/screen" ] || fail "t/screen is not built: make t/screen"
	is "$("$HERE/screen" | grep '^not ok')" ''
}

@test "O1: cursor movements within a line are executed" {
	boris
	shows 'hello\033[1Cworld\n' 'hello world\n'
	shows 'OS:\033[10CDebian\n' 'OS:          Debian\n'
	shows '50%%\033[3D75%%' '75%%'
	shows 'abcdef\033[3G\033[2P' 'abef'
	shows 'abcdef\033[3G\033[2@' 'ab  cdef'
	shows 'abcdef\033[3G\033[3X' 'ab   f'
	run_bash 'for i in $(seq 60); do printf "\033[2K\033[1Gstep $i of 60"; done; printf "\033[2K\033[1Gall done"'
	is "$(result stdout)" '"all done"'
}

@test "O1: 100 rows of 8,000 columns with wide characters are drawn in two seconds" {
	boris
	e=$(yes é | head -n 4000 | tr -d '\n')
	w=$(yes a字 | head -n 2000 | tr -d '\n')
	for i in {1..100}; do
		printf '%s\r%s\r' "$e" "$w"
	done >row
	run_bash 'cat row'
	is "$(plain stdout)" "$w$(yes é | head -n 1000 | tr -d '\n' | head -c 0)"
	most "$(get result structuredContent elapsed_ms)" $((2000 * SLOW))
}

@test "O1: control characters other than tab and newline are dropped" {
	boris
	shows 'a\000b\000' 'ab'
	shows 'abc\r\000x' 'xbc'
	shows 'a\001b\002\007c\004d\013e\014f\016\017g\177h\ti\n' 'abcdefgh\ti\n'
	shows 'a\302\200b\302\205c\302\237d\n' 'abcd\n'
	shows '\302\240\303\237\n' '\302\240\303\237\n'
	shows 'hello\n' 'hello\n'
	shows '\n\n\n' '\n\n\n'
	shows '  a  \t b  ' '  a  \t b  '
	shows '\303\244 \342\202\254 \360\237\230\200 \342\200\250\n' '\303\244 \342\202\254 \360\237\230\200 \342\200\250\n'
	shows '"\\\\/\n' '"\\\\/\n'
}

@test "O2: bytes that are not valid UTF-8 are shown as U+FFFD" {
	boris
	shows 'a\377b' 'a\357\277\275b'
	shows 'a\200b' 'a\357\277\275b'
	shows 'a\303(' 'a\357\277\275('
	shows 'a\377\376b' 'a\357\277\275\357\277\275b'
	for bytes in '\300\200' '\340\200\200' '\355\240\200' '\364\220\200\200' '\370\210\200\200\200'; do
		# shellcheck disable=SC2059
		printf "a${bytes}b" >raw
		run_bash 'cat raw'
		like "$(plain stdout)" $'a\xef\xbf\xbd*b'
		is "$(plain stdout | tr -d '\357\277\275')" ab
	done
	shows 'a\342\202' 'a\357\277\275'
	run_bash 'head -c 20000 /dev/urandom; head -c 20000 /dev/urandom >&2'
	is "$(result exit_code)" 0
	get -s result structuredContent stdout | iconv -f UTF-8 -t UTF-8 >/dev/null
}

@test "O3: a stream of 30,000 characters is shown in full" {
	boris
	run_bash "$(as 30000 a)"
	is "$(plain stdout | wc -c | tr -d ' ')" 30000
	is "$(result stdout_chars)$(result stdout_file)" ''
	run_bash "$(as 30001 a)"
	is "$(result stdout_chars)" 30001
	has "$(plain stdout)" '[stdout truncated: 30001 characters in total, first 30000 and last 1 shown; full output: /'
}

@test "O3: a long stream is shown as its first 30,000 and last 2,000 characters" {
	boris
	run_bash "$(as 29999 a); $(as 18001 b); $(as 2000 c)"
	is "$(result stdout_chars)" 50000
	plain stdout >shown
	is "$(head -c 30000 shown | tr -d a)" b
	is "$(tail -c +30001 shown)" "
[stdout truncated: 50000 characters in total, first 30000 and last 2000 shown; full output: $(plain stdout_file)]
$(tail -c 2000 shown)"
	is "$(tail -c 2000 shown | tr -d c)" ''
}

@test "O3: the end of a truncated stream starts at the beginning of a line" {
	boris
	run_bash 'seq 20000'
	last=$(seq 20000 | tail -c 2000 | tail -n +2)
	has "$(plain stdout)" "first 30000 and last $((${#last} + 1)) shown; full"
	is "$(plain stdout | sed '1,/truncated/d')" "$last"
	run_bash "$(as 40000 a); echo; $(as 1001 b)"
	has "$(plain stdout)" 'first 30000 and last 1001 shown; full'
	run_bash "$(as 40000 a); echo; $(as 999 b)"
	has "$(plain stdout)" 'first 30000 and last 2000 shown; full'
	run_bash 'seq 6300'
	has "$(plain stdout)" 'first 30000 and last 393 shown;'
	is "$(plain stdout | head -c 30000; plain stdout | tail -c 393)" "$(seq 6300)"
}

@test "O3: stdout and stderr are truncated independently" {
	boris
	run_bash "$(as 40000 a); ($(as 50000 b)) >&2"
	is "$(result stdout_chars) $(result stderr_chars)" '40000 50000'
	run_bash "($(as 40000 a)) >&2; $(as 5000 b)"
	is "$(result stderr_chars) $(file_size stderr)" '40000 40000'
	has "$(plain stderr)" "[stderr truncated: 40000 characters in total, first 30000 and last 2000 shown; full output: $(plain stderr_file)]"
	is "$(plain stdout | wc -c | tr -d ' ')" 5000
	is "$(result stdout_chars)$(result stdout_file)" ''
}

@test "O3: the limit of a stream counts characters rather than bytes" {
	boris
	run_bash 'yes é | head -n 30000 | tr -d "\n"'
	is "$(get -n result structuredContent stdout)" 30000
	is "$(result stdout_chars)" ''
	run_bash 'printf x; yes 😀 | head -n 30000 | tr -d "\n"'
	is "$(result stdout_chars)" 30001
	is "$(plain stdout | head -c 119997 | tail -c 4)" 😀
	run_bash 'for ((i = 0; i < 20000; i++)); do printf "\033[31mx\033[0m"; done'
	is "$(plain stdout | wc -c | tr -d ' ')" 20000
	is "$(result stdout_chars)" ''
}

@test "O4: BORIS_TRUNCATE=tail shows the last 2000 lines" {
	BORIS_TRUNCATE=tail boris
	run_bash 'seq 8500'
	plain stdout >shown
	is "$(head -n 1 shown)" 6501
	is "$(grep -c '^[0-9]*$' shown)" 2000
	has "$(cat shown)" "[stdout: showing last 2000 of 8500 lines; full output: $(plain stdout_file)]"
	is "$(result stdout_chars)" "$(seq 8500 | wc -c | tr -d ' ')"
}

@test "O4: with tail, a stream of 2000 lines is shown in full" {
	boris --truncate=tail
	run_bash 'seq 2000'
	is "$(plain stdout)" "$(seq 2000)"
	is "$(result stdout_chars)" ''
	run_bash 'seq 2000 | tr -d "\n"; seq 1999'
	is "$(result stdout_chars)" ''
	run_bash 'seq 2000; printf last'
	has "$(plain stdout)" 'last 2000 of 2001 lines'
	like "$(plain stdout)" $'2\n3\n*2000\nlast*'
}

@test "O4: with tail, the last 51,200 bytes are shown in complete lines" {
	boris --truncate=tail
	line=$(head -c 99 /dev/zero | tr '\0' x)
	run_bash "yes $line | head -n 1000"
	has "$(plain stdout)" 'last 512 of 1000 lines'
	is "$(plain stdout | grep -c "^$line\$")" 512
	run_bash "yes $line$line | head -n 1000"
	has "$(plain stdout)" 'of 1000 lines'
	most "$(plain stdout | grep -c "^$line$line\$")" 257
	is "$(plain stdout | grep -v '^\[' | grep x | grep -vc "^$line$line\$")" 0
	run_bash "$(as 51200 a)"
	is "$(plain stdout | wc -c | tr -d ' ') $(result stdout_chars)" '51200 '
	run_bash "$(as 20000 a); $(as 51199 b); printf c"
	is "$(result stdout_chars)" 71200
	is "$(plain stdout | sed 's/\[.*//' | tr -dc b | wc -c | tr -d ' ')" 51199
	like "$(plain stdout)" "bb*bc*[[]stdout: showing last 1 of 1 lines*; full output: /*]*"
	run_bash 'yes € | head -n 20000 | tr -d "\n"'
	like "$(plain stdout)" '€€*'
	is "$(plain stdout | grep -o € | wc -l | tr -d ' ')" 17066
}

@test "O4: --truncate=both shows the first 10,000 and the last 20,000 characters" {
	boris --truncate=both
	run_bash "$(as 9999 x); printf 1; $(as 20000 y); printf 2; $(as 19999 z)"
	is "$(result stdout_chars)" 50000
	plain stdout >shown
	is "$(head -c 10000 shown | tr -d x)" 1
	is "$(tail -c 20000 shown | tr -d z)" 2
	lacks "$(grep -v '^\[' shown)" y2  # the name of the file may have that
	is "$(grep -c "^\[stdout truncated: 50000 characters in total, 20000 omitted here; full output: $(plain stdout_file)\]\$" shown)" 1
	run_bash "$(as 30000 a)"
	is "$(plain stdout | wc -c | tr -d ' ') $(result stdout_chars)" '30000 '
	run_bash "$(as 30001 a)"
	has "$(plain stdout)" '[stdout truncated: 30001 characters in total, 1 omitted here;'
	run_bash 'yes € | head -n 40000 | tr -d "\n"'
	is "$(result stdout_chars)" 40000
	is "$(plain stdout | grep -o € | wc -l | tr -d ' ')" 30000
}

@test "O4: the argument truncate overrides the option for one call" {
	boris --truncate=tail
	run_bash 'seq 8500' '{"truncate":"head"}'
	like "$(plain stdout)" $'1\n2\n*first 30000 and last *'
	run_bash 'seq 8500'
	has "$(plain stdout)" 'last 2000 of 8500 lines'
	start_task 'seq 8500' '{"truncate":"both"}'
	look "$task" '{"wait":10000}'
	has "$(plain stdout)" 'omitted here'
}

@test "O4: the counts of a truncated stream include output that was not kept" {
	boris
	for truncate in head tail both; do
		run_bash 'yes abcdefg | head -n 1000000' '{"truncate":"'$truncate'"}'
		is "$(result stdout_chars) $(file_size stdout)" '8000000 8000000'
	done
	run_bash 'yes abcdefg | head -n 1000000' '{"truncate":"tail"}'
	has "$(plain stdout)" 'last 2000 of 1000000 lines'
}

@test "O5: existing files with similar names do not prevent a saved file" {
	boris
	run_bash 'head -c 100000 /dev/zero | tr "\0" a'
	file=$(plain stdout_file)
	file=${file%.log}
	file=${file%-[0-9]}  # a number, as names had before
	for i in {2..20}; do
		: >"$file-$i.log"
	done
	for i in 1 2 3; do
		run_bash 'head -c 100000 /dev/zero | tr "\0" b'
		is "$(wc -c <"$(plain stdout_file)")" 100000
	done
	rm "$file"-*.log
}

@test "O5: the oldest files are removed if more than 1,024 are saved" {
	local command='printf %0300d 0; printf %0300d 0 >&2'
	echo "$HELLO" >all
	for i in {1..530}; do
		echo '{"jsonrpc":"2.0","id":'"$i"',"method":"tools/call","params":{"name":"bash","arguments":{"command":"'"$command"'","limit":200}}}'
	done >>all
	quote 'ls $TMPDIR | wc -l'
	echo '{"jsonrpc":"2.0","id":531,"method":"tools/call","params":{"name":"bash","arguments":{"command":'"$quoted"'}}}' >>all
	SLOW=$((4 * SLOW)) filter --structured=off <all >seen
	is "$status $(wc -l <seen)" '0 532'
	is "$(grep -o 'full output: [^]]*' seen | sort -u | wc -l)" 1060
	has "$(tail -n 1 seen)" 'stdout:\n1024\n'
}

@test "O5: the saved file of a truncated stream has all its raw bytes" {
	TMPDIR_FOR_BORIS=tmp
	wrap=(sh -c 'umask 0777; exec "$@"' sh)
	boris
	run_bash 'umask 022; for i in $(seq 10000); do printf "\033[31m%d\377\033[0m\r\n" $i; done | tee copy'
	file=$(plain stdout_file)
	cmp copy "$file"
	like "$file" "$PWD/tmp/?*"
	is "$(ls -l "$file" | cut -c 1-10)" -rw-------
	run_bash "cd /; $(as 40000 b)"
	is "$(tr -d b <"$(plain stdout_file)")" ''
	cmp copy "$file" # names differ
}

# told_raw COMMAND: the line of what it prints says that the file is raw
told_raw() {
	run_bash "$1"
	has "$(plain stdout)" "; full raw output: $(plain stdout_file)]"
}

@test "O5: the truncation line says raw if the file differs from the text" {
	boris
	told_raw "$(as 40000 a); printf '\\033[mb'"
	told_raw "printf '\\r\\n'; $(as 40000 a)"
	told_raw "printf 'x\\by'; $(as 40000 a)"
	told_raw "printf '\\000'; $(as 40000 a)"
	told_raw "$(as 40000 a); printf '\\360\\237\\230b'"
	run_bash "$(as 40000 a); yes é | head -n 10000"
	has "$(plain stdout)" "; full output: $(plain stdout_file)]"
	run_bash 'seq 20000; read x' '{"tty":true,"until":"20000"}'
	has "$(plain stdout)" "; full raw output: $(plain stdout_file)]"
	grep -q $'^19999\r$' "$(plain stdout_file)"
}

@test "O5: without TMPDIR, streams are saved in /tmp" {
	wrap=(env -u TMPDIR)
	boris
	run_bash "$(as 40000 a)"
	like "$(plain stdout_file)" '/tmp/?*'
	file=$(plain stdout_file)
	leave
	is $status 0
	[ ! -e "$file" ]
}

@test "O5: a stream that is not truncated leaves no file" {
	boris
	run_bash "$(as 30000 a)"
	run_bash "$(as 40000 a)" '{"truncate":"tail"}'
	is "$(result stdout_file)" ''
	is "$(find tmp -type f)" ''
}

@test "O5: the truncation line says why a stream could not be saved" {
	[ -z "$WRAP" ] || skip "under $WRAP, which needs it"
	TMPDIR_FOR_BORIS=/no/such/place
	boris
	run_bash "$(as 40000 a)"
	is "$(result exit_code) $(result stdout_chars) $(result stdout_file)" '0 40000 '
	like "$(plain stdout)" '*[[]stdout truncated: 40000 characters in total, first 30000 and last 2000 shown; full output not saved: /no/such/place: ?*]*'
	lacks "$(plain stdout)" 'full output: /'
}

@test "O5: a saved file that reaches --save-limit is reported as incomplete" {
	boris --save-limit=1
	run_bash 'yes abcdefg | head -c 3000000'
	is "$(result stdout_chars)" 3000000
	is "$(file_size stdout)" 1048576
	has "$(plain stdout)" 'incomplete'
	yes abcdefg | head -c 1048576 | cmp - "$(plain stdout_file)"
	leave
	boris --save-limit=0
	run_bash "$(as 40000 a)"
	is "$(result stdout_chars) $(result stdout_file)" '40000 '
	lacks "$(plain stdout)" 'full output: /'
	has "$(plain stdout)" '; full output not saved: --save-limit is 0]'
	is "$(find tmp -type f)" ''
}

@test "O5: a saved file on a full disk is reported as incomplete" {
	needs_root
	needs unshare
	needs_plain
	unshare -m true || skip 'no mount namespaces here'
	wrap=(unshare -m sh -c 'mount -t tmpfs -o size=64k none tmp && exec "$@"' sh)
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
	run_bash 'head -c 200000 /dev/zero >big'
	isnt "$(result exit_code)" 0
}

# kept: bytes in all files of the session
kept() {
	find tmp -type f -exec cat {} + | wc -c | tr -d ' '
}

@test "O5: the files of a session do not exceed four times --save-limit" {
	boris --save-limit=1
	for i in 1 2 3 4 5 6; do
		run_bash 'yes abcdefg | head -c 1048576'
		plain stdout_file >file$i
		echo >>file$i
	done
	most "$(kept)" 4194304
	[ ! -e "$(cat file1)" ]
	[ ! -e "$(cat file2)" ]
	for i in 3 4 5 6; do
		is "$(wc -c <"$(cat file$i)" | tr -d ' ')" 1048576
	done
}

@test "O5: a result whose file was removed names no file" {
	boris --save-limit=1
	start_task 'yes abcdefg | head -c 1048576'
	eventually reaped "$pid"
	for i in 1 2 3 4; do
		run_bash 'yes abcdefg | head -c 1048576'
	done
	look
	is "$(result stdout_chars) $(result stdout_file)" '1048576 '
	lacks "$(plain stdout)" 'full output: /'
	has "$(plain stdout)" 'full output not saved: '
}

# on_memory OPTIONS: the server starts with a file system in memory as TMPDIR,
# which `of_server PATH` leads to from outside of its mount namespace
on_memory() {
	needs unshare mount
	needs_linux_parts
	local how=(unshare -m)
	[ "$(id -u)" = 0 ] || how=(unshare -rm)
	"${how[@]}" true || skip 'no mount namespaces here'
	wrap=("${how[@]}" sh -c "mount -t $1 none tmp && exec \"\$@\"" sh)
	"${wrap[@]}" true || skip "cannot mount: $1"
}

# saved: bytes of all saved files; left: bytes free in TMPDIR (both are read by
# a command, because the file system is the server's own)
saved() {
	run_bash 'cat tmp/boris-*.log | wc -c'
	plain stdout | tr -d ' \n'
}

left() {
	run_bash 'df -Pk tmp | tail -n 1'
	plain stdout | awk '{ print $4 * 1024 }'
}

@test "O5: the files of a session use at most a quarter of the free space" {
	on_memory 'tmpfs -o size=32m'
	boris
	run_bash 'yes abcdefg | head -c 60000000'
	is "$(result stdout_chars)" 60000000
	has "$(plain stdout)" "(incomplete: the files of this session reached a quarter of the free space)]"
	most "$(saved)" $((32 << 18))
	least "$(saved)" $((31 << 18))
	run_bash 'head -c 16M /dev/zero >tmp/another && wc -c <tmp/another; rm tmp/another'
	is "$(plain stdout) $(plain stderr)" '16777216 '
}

@test "O5: the oldest files are removed if a quarter of the free space is used" {
	on_memory 'tmpfs -o size=32m'
	boris
	for i in 1 2 3; do
		run_bash 'yes abcdefg | head -c 3145728'
		plain stdout_file >file$i
	done
	run_bash 'ls "$(cat file1)"; wc -c <"$(cat file2)"; wc -c <"$(cat file3)"'
	is "$(plain stdout)" $'3145728\n3145728'
	has "$(plain stderr)" 'No such file'
}

@test "O5: saved files never use the last tenth of a file system" {
	on_memory 'tmpfs -o size=32m'
	boris
	run_bash 'yes abcdefg | head -c 100000'
	run_bash 'head -c 27M /dev/zero >tmp/another'
	run_bash 'yes abcdefg | head -c 6000000'
	has "$(plain stdout)" '(incomplete: less than a tenth of the file system is free)]'
	least "$(left)" $((32 * 104857))
	run_bash 'yes abcdefg | head -c 6000000'
	has "$(plain stdout)" '; full output not saved: less than a tenth of the file system is free]'
	is "$(result stdout_file)" ''
}

@test "O5: several streams together use at most a quarter of the free space" {
	on_memory 'tmpfs -o size=32m'
	boris
	for i in 1 2 3 4; do
		start_task 'yes abcdefg | head -c 20000000; echo >&2; echo >ended'$i
	done
	begun ended1 ended2 ended3 ended4
	eventually reaped "$pid"
	most "$(saved)" $((32 << 18))
}

# meminfo AVAILABLE: the server reads that many KiB of 64 MiB as free memory
meminfo() {
	printf 'MemTotal: 65536 kB\nMemFree: 1000 kB\nMemAvailable: %d kB\n' "$1" >meminfo
	wrap[4]="mount --bind meminfo /proc/meminfo && ${wrap[4]}"
	"${wrap[@]}" true || skip 'cannot replace /proc/meminfo'
}

@test "O5: saved files in memory use at most a quarter of the free memory" {
	for kind in 'tmpfs -o size=1g' ramfs; do
		on_memory "$kind"
		meminfo 20000
		boris
		run_bash 'yes abcdefg | head -c 20000000'
		has "$(plain stdout)" "(incomplete: the files of this session reached a quarter of the free memory)]"
		is "$kind $(saved)" "$kind $((5000 << 10))"
		leave
	done
}

@test "O5: saved files in memory never use the last tenth of the memory" {
	on_memory ramfs
	meminfo 6700
	boris
	run_bash 'yes abcdefg | head -c 100000'
	is "$(saved)" 100000
	sed s/6700/6550/ meminfo >fewer
	cat fewer >meminfo
	run_bash 'yes abcdefg | head -c 100000' '{"limit":200}'
	has "$(plain stdout)" '; full output not saved: less than a tenth of the memory is free]'
}

@test "O5: the limit of the control group applies to saved files in memory" {
	on_memory 'tmpfs -o size=1g'
	mkdir group
	echo 20000000 >group/memory.max
	echo 18000000 >group/memory.current
	printf 'anon 5\ninactive_file 4000000\nactive_file 2000000\n' >group/memory.stat
	echo 0::/ >name
	wrap[4]='mount --bind group /sys/fs/cgroup && mount --bind name /proc/$$/cgroup && '${wrap[4]}
	"${wrap[@]}" true || skip 'cannot replace the control group'
	boris
	run_bash 'yes abcdefg | head -c 20000000'
	has "$(plain stdout)" "(incomplete: the files of this session reached a quarter of the free memory)]"
	is "$(saved)" 2000000
}

@test "O8: limit bounds the start and the end of each stream" {
	boris
	for how in 'head 1000 200' 'tail 0 1200' 'both 400 800'; do
		# shellcheck disable=SC2086
		set -- $how
		run_bash "$(as 3000 a); $(as 2000 b) | tee /dev/stderr" '{"limit":1200,"truncate":"'$1'"}'
		plain stdout | grep -v '^\[stdout' >got
		is "$how: $(tr -cd a <got | wc -c) $(grep -o 'b*$' got | tr -cd b | wc -c)" "$how: $2 $3"
		is "$(result stdout_chars) $(result stderr_chars) $(file_size stdout)" '5000 2000 5000'
	done
	for n in 199 100001; do
		run_bash true '{"limit":'$n'}'
		refused '*limit*200*100000*'
	done
}

@test "O8: a character of several bytes counts as one for limit" {
	boris
	run_bash 'printf "%200s" "" | sed "s/ /\xe2\x82\xac/g"' '{"limit":200}'
	is "$(plain stdout | wc -m -c | xargs)" '600 600'
	is "$(result stdout_chars)" ''
	start_task 'echo x; echo x >a; read <gate; printf "%190s" "" | sed "s/ /\xe2\x82\xac/g"; echo x >b' '{"limit":200}'
	printed a
	look "$task" '{"new":true}'
	release
	look "$task" '{"new":true,"wait":10000}'
	is "$(plain stdout | wc -c)" 570
}

@test "O9: a binary stream is shown as its first 1,000 characters" {
	boris
	run_bash 'head -c 50000 "$(type -P bash)"'
	plain stdout >shown
	is "$(tail -n 1 shown | sed 's/;.*//')" '[stdout truncated: binary data, 50000 bytes in total, first 1000 characters shown'
	is "$(file_size stdout)" 50000
	most "$(wc -c <shown)" 3300
	run_bash 'head -c 50000 "$(type -P bash)"' '{"truncate":"tail"}'
	is "$(plain stdout | head -n -1)" "$(head -n -1 shown)"
}

@test "O9: a stream is binary if more than a tenth of its bytes are not text" {
	boris
	run_bash 'for ((i = 0; i < 2000; i++)); do printf "123456789\377"; done'
	is "$(result stdout_chars)" ''
	run_bash 'for ((i = 0; i < 2000; i++)); do printf "12345678\377"; done'
	has "$(plain stdout)" 'binary data, 18000 bytes in total'
	run_bash "head -c 4000 /dev/zero | tr '\\0' a; head -c 20000 /dev/zero"
	is "$(result stdout_chars)" ''
	run_bash 'head -c 199 /dev/zero; head -c 200 /dev/zero >&2'
	is "$(result stdout_chars) $(result stderr_chars)" ' 0'
	has "$(plain stderr)" '[stderr: binary data, 200 bytes in total'
	start_task 'head -c 5000 /dev/zero; echo x >1; read <gate; echo end'
	printed 1
	look
	has "$(plain stdout)" 'binary data, 5000 bytes in total, first 0 characters shown'
	release
	look "$task" '{"wait":10000,"new":true}'
	has "$(plain stdout)" end
}

@test "O6: a command with endless output needs no more memory than true" {
	needs_plain
	boris
	run_bash true
	before=$(peak)
	call_bash 'echo x >begun; yes' '{"timeout":1000}'
	begun begun
	begin
	next_is_ping
	within 500
	answer 2
	is "$(result status)" '"timed_out"'
	most "$(peak)" $((before + 768))
	for truncate in tail both; do
		run_bash 'yes | head -c 20000000' '{"truncate":"'$truncate'"}'
	done
	run_bash 'yes | head -c 20000000 >&2' '{}' '{"progressToken":1}'
	run_bash 'head -c 20000000 /dev/zero | tr "\0" a'
	run_bash 'head -c 20000000 /dev/zero | tr "\0" "\r"'
	run_bash 'printf "\033]"; head -c 20000000 /dev/zero | tr "\0" a'
	run_bash 'printf "\033["; head -c 20000000 /dev/zero | tr "\0" 1'
	most "$(peak)" $((before + 1024))
}

@test "O7: new output is sent as progress while a command runs" {
	boris
	call_bash 'echo one; read <gate; echo two >&2; read <gate; echo three' '{}' '{"progressToken":"t"}'
	notice
	is "$(get method) $(get params progressToken)" '"notifications/progress" "t"'
	is "$(get params message)" '"one\n"'
	first=$(progress)
	release
	notice
	is "$(get params message)" '"two\n"'
	least "$(progress)" $((first + 1))
	release
	answer
	is "$(result stdout) $(result stderr)" '"one\nthree\n" "two\n"'
}

@test "O7: a progress token is returned exactly as it was sent" {
	boris
	for token in 0 7 '"x"' '""' '"a\u0062"' 12345678901234567890; do
		call_bash 'echo hi; read <gate' '{}' '{"progressToken":'"$token"'}'
		notice
		is "$(get -v params progressToken)" "$token"
		release
		answer
	done
}

@test "O7: the progress of a call always grows" {
	boris
	begin
	run_bash 'for i in {1..25}; do echo $i; read -t 0.05 <>never; done' '{}' '{"progressToken":1}'
	last=-1
	for reply in "${notices[@]}"; do
		least "$(progress)" $((last + 1))
		last=$(progress)
	done
	least ${#notices[@]} 2
	most ${#notices[@]} $(($(took) / 100 + 2))
	most "$last" "$(took)"
	whole=$(all -s result structuredContent stdout; echo .)
	said=$(all -s params message)
	is "${whole:0:${#said}}" "$said"
}

@test "O7: a call without a valid progress token receives no progress" {
	boris
	run_bash 'echo hi; read -t 0.3 <>never'
	for token in null true '{}' '[1]' 1.5; do
		run_bash 'echo hi; read -t 0.2 <>never' '{}' '{"progressToken":'"$token"'}'
		is "$(result stdout)" '"hi\n"'
	done
	call_bash 'echo hi; echo x >begun; read <gate' '{"run_in_background":true}' '{"progressToken":1}'
	answer
	begun begun
	next_is_ping
	is ${#notices[@]} 0
}

@test "O7: the message of a progress notification has a limited size" {
	boris
	call_bash 'printf "\033[31mred\033[0m\377\r\n"; read <gate' '{}' '{"progressToken":1}'
	notice
	is "$(get -s params message)" $'red\xef\xbf\xbd'
	release
	answer
	run_bash 'seq 100000; read -t 0.2 <>never' '{}' '{"progressToken":1}'
	for reply2 in "${notices[@]}"; do
		most ${#reply2} 131072
	done
	is "$(result stdout_chars)" "$(seq 100000 | wc -c | tr -d ' ')"
	like "$(plain stdout)" $'1\n2\n3\n*'
}

@test "O7: no progress is sent after the response" {
	boris
	for i in 1 2 3 4 5; do
		run_bash 'echo hi; (read -t 0.15 <>never; echo late) & true' '{}' '{"progressToken":'$i'}'
	done
	start_task 'read -t 0.3 <>never'
	look "$task" '{"wait":10000}'
	is "$(all method | tail -n 2 | xargs)" ''
}

@test "O7: progress and the response are not sent in the same write" {
	needs strace
	needs_plain
	wrap=(strace -qq -e signal=none -e trace=write,writev,sendto,sendmsg -s 4096 -o trace)
	"${wrap[@]}" true || skip 'no strace here'
	boris
	for i in 1 2 3; do
		run_bash 'echo one; read -t 0.12 <>never; echo two; read -t 0.12 <>never; echo three' '{}' '{"progressToken":'$i'}'
	done
	leave
	least "$(grep -c notifications/progress trace)" 3
	is "$(grep notifications/progress trace | grep -c exit_code)" 0
}

@test "O7: no progress is sent after a cancellation" {
	boris
	call_bash 'trap "" TERM; echo one; echo x >begun; read <gate; echo two; read <gate' '{}' '{"progressToken":1}'
	begun begun
	notice
	cancel $id
	in_turn
	release
	in_turn
	is ${#notices[@]} 0
	release
	run_bash 'echo next'
	is "$(result stdout) ${#notices[@]}" '"next\n" 0'
}

@test "O7: a progress notification is sent after ten seconds of silence" {
	hurried
	boris
	begin
	call_bash 'read <gate' '{}' '{"progressToken":1}'
	notice
	least "$(took)" 9000
	within 15000
	least "$(progress)" 9000
	release
	answer
}
