#!/usr/bin/env python3
"""Compares output/screen.c with tmux: random sequences of the controls that both
implement are drawn by t/screen (split at random places) and by tmux, and the
text must be the same, history included.

    t/screen-oracle.py [COUNT [SEED]]

Known kinds of differences, which are not generated or not counted:
 1. IL outside of the scrolling region that covers all rows below (tmux erases
    nothing, or too much).
 2. Blank rows: tmux keeps those of an erased screen in its history.
 3. ED 0 in the first column of the first row: tmux moves the screen to its
    history, boris only after CUP (a prompt may be drawn again from there).
 4. Halves of wide characters, and REP of characters that are not ASCII.
 5. Autowrap off in the last column; BS in the first one after a row that was
    wrapped and has changed since then.
Of kinds 4 and 5 a few are still generated: up to one sequence in 5,000 may
differ.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGURATION = '''set -g history-limit 100000
set -g status off
set -g default-terminal screen
'''
# Runs in tmux's pane: prints what it reads from a FIFO, each piece after its
# length, and reports when tmux has drawn it, which a query of the cursor tells.
PANE = '''
import os, sys, tty
tty.setraw(0)
pieces = os.open(sys.argv[1], os.O_RDONLY)
reports = os.open(sys.argv[2], os.O_WRONLY)
def take(n):
    taken = b''
    while len(taken) < n:
        some = os.read(pieces, n - len(taken))
        if not some:
            sys.exit()
        taken += some
    return taken
while True:
    piece = take(int(take(8))) + b'\\x1b[6n'
    while piece:
        piece = piece[os.write(1, piece):]
    answer = b''
    while not answer.endswith(b'R'):
        answer += os.read(0, 1)
    os.write(reports, answer + b'\\n')
'''


def stripped(text):
    """Returns the text without blanks at the ends of lines and blank lines."""
    lines = [line.rstrip(b' ') for line in text.split(b'\n')]
    return [line for line in lines if line]


class Tmux:
    def __init__(self):
        self.dir = tempfile.mkdtemp()
        for name in 'pieces', 'reports':
            os.mkfifo(self.path(name))
        self.write('pane.py', PANE)
        self.write('tmux.conf', CONFIGURATION)
        env = dict(os.environ, LC_ALL='C.UTF-8', TERM='xterm')
        env.pop('TMUX', None)
        pane = 'python3 %s %s %s' % tuple(
            self.path(name) for name in ('pane.py', 'pieces', 'reports'))
        self.process = subprocess.Popen(
            ['tmux', '-S', self.path('socket'), '-f', self.path('tmux.conf'),
             '-u', '-C', 'new-session', '-x', '200', '-y', '50', pane],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.pieces = open(self.path('pieces'), 'wb', 0)
        self.reports = open(self.path('reports'), 'rb', 0)
        self.command('refresh-client -C 200x50')

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), 'w') as file:
            file.write(text)

    def command(self, text):
        """Runs a command in control mode and returns its output."""
        self.process.stdin.write(text.encode() + b'\n')
        self.process.stdin.flush()
        output = None
        for line in self.process.stdout:
            words = line.split()
            is_own = len(words) > 3 and words[3] == b'1'
            if is_own and words[0] == b'%begin':
                output = []
            elif is_own and words[0] == b'%end' and output is not None:
                return b''.join(output)
            elif is_own and words[0] == b'%error':
                break
            elif output is not None:
                output.append(line)
        sys.exit('tmux failed: ' + text)

    def feed(self, piece):
        self.pieces.write(b'%8d' % len(piece) + piece)
        return self.reports.readline()

    def draw(self, piece):
        self.feed(b'\x1b[?1049l\x1bc')
        self.command('clear-history')
        self.feed(piece)
        return self.command('capture-pane -p -S - -t :')

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir)


class Boris:
    def __init__(self):
        self.drivers = {}

    def draw(self, piece, seed):
        if seed not in self.drivers:
            self.drivers[seed] = subprocess.Popen(
                [os.path.join(HERE, 'screen'), '-d', str(seed)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        driver = self.drivers[seed]
        driver.stdin.write(piece.hex().encode() + b'\n')
        driver.stdin.flush()
        return bytes.fromhex(driver.stdout.readline().decode())


class Generator:
    """Makes random sequences. wide: with wide characters, and only such moves
    as do not lead into the middle of one."""
    NARROW = ['a', 'b', 'c', 'Z', '1', ' ', 'é', 'e\u0301', 'hello', 'x' * 60,
              '─']
    WIDE = ['ab', 'é1', '字', '─a', 'hello!']
    SIMPLE = ['\r', '\n', '\r\n', '\b', '\t', '\n\n', '\r\n']
    OTHER = ['\x1b7', '\x1b8', '\x1bD', '\x1bM', '\x1bE', '\x1b[?1049h',
             '\x1b[?1049l', '\x1b[?47h', '\x1b[?47l', '\x1b[1;31m', '\x1b[m',
             '\x1b]0;t\x07', '\x1b[4h', '\x1b[4l', '\x1b[H', '\x1b[2J']

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.wide = False

    def number(self):
        if self.wide:
            return self.random.choice(
                ['2', '4', '10', '40', '50', '198', '200', '998'])
        return self.random.choice(
            ['', '', '0', '1', '2', '3', '5', '7', '10', '49', '50', '51',
             '198', '199', '200', '201', '999'])

    def arguments(self, letter):
        choose = self.random.choice
        if letter in 'Hf' and self.wide:
            return self.number() + ';' + choose(['1', '11', '199'])
        if letter in 'Hfr':
            return self.number() + ';' + self.number()
        if letter == 'J' and self.wide:
            return '2'
        if letter in 'JK':
            return choose(['', '0', '1', '2'])
        if letter in 'su':
            return ''
        if letter == 'G' and self.wide:
            return choose(['1', '3', '21', '199'])
        if letter in 'CDPX@' and self.wide:
            return choose(['2', '4', '6'])
        if letter == '`' and self.wide:
            return '5'
        if letter in '@L':
            return choose(['', '1', '2'])
        return self.number()

    def control(self):
        letter = self.random.choice('ABCDEFGHfdJKKKKJ@PXLMSTrrsu`Zb')
        sequence = '\x1b[' + self.arguments(letter) + letter
        if letter == 'J' and not sequence.endswith(('1J', '2J')):
            return '\x1b[2C' + sequence  # kind 3
        return sequence

    def part(self):
        kind = self.random.random()
        if kind < .35:
            texts = self.WIDE if self.wide else self.NARROW
            return self.random.choice(texts) * self.random.choice([1, 1, 2, 5])
        if kind < .55:
            return self.random.choice(self.SIMPLE)
        if kind < .9:
            return self.control()
        return self.random.choice(self.OTHER)

    def sequence(self):
        """Returns a list of parts without those that are not comparable."""
        self.wide = not self.wide
        parts, alternate, region = [], None, False
        for _ in range(self.random.randint(1, 40)):
            part = self.part()
            if self.wide and (part in ('\b', '\x1b[1K', '\x1b[1J') or
                              part.endswith('Z')):
                continue  # kind 4
            if part in ('\x1b[?1049h', '\x1b[?47h'):
                if alternate:
                    continue
                alternate = part
            if part in ('\x1b[?1049l', '\x1b[?47l'):
                if alternate != part.replace('l', 'h'):
                    continue
                alternate = None
            if part.startswith('\x1b[') and part.endswith('b'):
                if not parts or not ' ' <= parts[-1][-1] < '\x7f' or \
                        parts[-1].startswith('\x1b'):
                    continue  # kind 4
            region = region or part.endswith('r')
            if region and part.startswith('\x1b[') and part.endswith('L'):
                continue  # kind 1
            parts.append(part)
        return parts


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    tmux, boris, generator = Tmux(), Boris(), Generator(seed)
    failed = 0
    for i in range(count):
        parts = generator.sequence()
        piece = ''.join(parts).encode()
        wanted = stripped(tmux.draw(piece))
        drawn = stripped(boris.draw(piece, i % 4))
        if drawn != wanted:
            failed += 1
            print('not ok:', parts)
            for pair in zip(wanted, drawn):
                if pair[0] != pair[1]:
                    print('  tmux:', pair[0], '\n  boris:', pair[1])
    tmux.close()
    print('%d sequences, %d differ' % (count, failed))
    return failed > count // 5000 + 1


sys.exit(main())
