// SPDX-License-Identifier: ISC
//
// Checks the grammar, style and spelling of text files with LanguageTool.
//
//	java -cp ... Prose.java SETTINGS FILE...
//
// Code is not checked: text in backquotes, names that contain characters such
// as / _ = or digits, indented blocks, and lines with columns. SETTINGS has the
// words that are accepted, the rules that are off, and the words to avoid.
// Prints the complaints, and exits with 1 if there are any.

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.languagetool.JLanguageTool;
import org.languagetool.Languages;
import org.languagetool.MultiThreadedJLanguageTool;
import org.languagetool.markup.AnnotatedText;
import org.languagetool.markup.AnnotatedTextBuilder;
import org.languagetool.rules.Rule;
import org.languagetool.rules.RuleMatch;
import org.languagetool.rules.spelling.SpellingCheckRule;

class Prose {
	// The number of a requirement, the mark of a list's item, or the tag of
	// a list in the manual
	static final Pattern LABEL = Pattern.compile(" *("
		+ "[A-Z]\\d+[.a-z\\d]* +([a-z]\\) +)?"
		+ "|\\(?[a-z]\\)\\.? +|- +|\\d+\\. +"
		+ "|`[^`]*`.{0,40}? {2,}(?=[A-Z]))");
	// Columns: a table, a list of names or an example
	static final Pattern COLUMNS = Pattern.compile("[^ ] {2,}[^ ]");
	// `code`, or a name that is not an English word: -x, a/b, a_b, aB, a.b,
	// a(1) or A. A number is matched too, so that it is no such name.
	static final Pattern CODE = Pattern.compile("`[^`]*`?"
		+ "|(?<![\\w.,])\\d+([,.]\\d+)*(?![\\w(])"
		+ "|[^\\s()\"',;:`]*[/_=<>{}\\[\\]\\\\@$%&|*~+#^\\d]"
		+ "[^\\s,;:`)\"]*"
		+ "|(?<=^|[\\s(])-[-\\w]+|[A-Z]{2,}\\w*|\\w+[a-z][A-Z]\\w*"
		+ "|\\.?\\w+(\\.\\w+)+(\\(\\d\\))?|\\w+\\(\\d\\)");
	static final Pattern ACRONYM = Pattern.compile("[A-Z]+");
	static final Pattern NUMBER = Pattern.compile("\\d[\\d.,]*");
	// Code that is read with a vowel at its start
	static final Pattern VOWEL = Pattern.compile(
		"`?[^\\w]*([AEIOaeio8]|[FHLMNRX][A-Z]).*");
	static final int CONTEXT = 40;

	final List<String> accepted = new ArrayList<>();
	final List<String> off = new ArrayList<>();
	final List<Pattern> avoid = new ArrayList<>();
	final JLanguageTool tool = new MultiThreadedJLanguageTool(
		Languages.getLanguageForShortCode("en-GB"));
	int complaints;

	Prose(Path settings) throws Exception {
		for (String line : Files.readAllLines(settings)) {
			line = line.replaceFirst("\\s*#.*", "");
			if (line.isEmpty())
				continue;
			String[] words = line.split(" ", 2);
			switch (words[0]) {
			case "accept" ->
				accepted.addAll(List.of(words[1].split(" ")));
			case "off" -> off.add(words[1]);
			case "avoid" -> avoid.add(Pattern.compile(
				"\\b(" + words[1] + ")\\b",
				Pattern.CASE_INSENSITIVE));
			default -> throw new Exception(settings + ": " + line);
			}
		}
		for (Rule rule : tool.getAllRules())
			if (rule instanceof SpellingCheckRule spelling)
				spelling.addIgnoreTokens(accepted);
		tool.disableRules(off);
	}

	// The text of a file: open is set inside a paragraph, code inside
	// backquotes that a later line closes.
	static class Text {
		final AnnotatedTextBuilder text = new AnnotatedTextBuilder();
		boolean open, code;

		// Adds what is not text, with the line break at its end.
		void skip(String line) {
			text.addMarkup(line, open ? "\n\n" : "");
			open = code = false;
		}

		// Adds code, as a noun that takes the article of the code.
		void addCode(String code) {
			if (NUMBER.matcher(code).matches())
				text.addText(code);
			else if (ACRONYM.matcher(code).matches())
				text.addMarkup(code, code);
			else if (VOWEL.matcher(code).matches())
				text.addMarkup(code, "Item");
			else
				text.addMarkup(code, "Name");
		}

		void addLine(String line) {
			int end = 0;
			if (code) {
				end = line.indexOf('`') + 1;
				code = end == 0;
				if (code)
					end = line.length();
				text.addMarkup(line.substring(0, end), "");
			}
			Matcher name = CODE.matcher(line);
			while (end < line.length() && name.find(end)) {
				text.addText(line.substring(end, name.start()));
				addCode(name.group());
				code = name.group().startsWith("`")
					&& !name.group().matches("`.*`");
				end = name.end();
			}
			text.addText(line.substring(end));
		}
	}

	// Marks all that is not text. blocks: indented blocks are code.
	static AnnotatedText parse(String all, boolean blocks) {
		var text = new Text();
		boolean blank = true, block = false;
		int indent = 0;
		for (String line : all.split("(?<=\n)")) {
			String s = line.stripTrailing();
			if (s.isBlank() || s.matches("[=-]+|`[^`]*`")) {
				text.skip(line);
				blank = true;
				continue;
			}
			Matcher label = LABEL.matcher(s);
			boolean labelled = label.lookingAt();
			int from = s.length() - s.stripLeading().length();
			if (labelled)
				from = label.end();
			if (blank)
				block = blocks && s.startsWith("    ");
			blank = false;
			String rest = s.substring(from);
			if (block || COLUMNS.matcher(rest).find()) {
				text.skip(line);
				continue;
			}
			String gap = "";
			if (text.open && !text.code)
				gap = labelled || from != indent ? "\n\n" : " ";
			indent = from;
			text.text.addMarkup(s.substring(0, from), gap);
			text.addLine(rest);
			text.text.addMarkup(line.substring(s.length()), "");
			text.open = true;
		}
		return text.text.build();
	}

	void complain(String file, String all, int from, int to, String why) {
		long line = 1 + all.substring(0, from).chars()
			.filter(c -> c == '\n').count();
		int left = Math.max(0, from - CONTEXT);
		int right = Math.min(all.length(), to + CONTEXT);
		System.out.printf("%s:%d: %s%n    ...%s[%s]%s...%n", file, line,
			why, flat(all.substring(left, from)),
			flat(all.substring(from, to)),
			flat(all.substring(to, right)));
		complaints++;
	}

	static String flat(String s) {
		return s.replaceAll("\\s+", " ");
	}

	static boolean isCode(String s) {
		return CODE.matcher(s).results().anyMatch(
			code -> !NUMBER.matcher(code.group()).matches());
	}

	void check(String file) throws Exception {
		String all = Files.readString(Path.of(file));
		AnnotatedText text = parse(all, !file.endsWith("SPEC")
			&& !file.endsWith("boris.1.txt"));
		for (RuleMatch match : tool.check(text)) {
			int from = match.getFromPos(), to = match.getToPos();
			// The placeholder of code is not a word.
			if (isCode(all.substring(from, to)))
				continue;
			List<String> better = match.getSuggestedReplacements();
			complain(file, all, from, to, match.getRule().getId()
				+ ": " + match.getMessage()
					.replaceAll("</?suggestion>", "'")
				+ " " + better.stream().limit(3).toList());
		}
		for (Pattern pattern : avoid) {
			Matcher word = pattern.matcher(text.getPlainText());
			while (word.find())
				complain(file, all,
					text.getOriginalTextPositionFor(
						word.start(), false),
					text.getOriginalTextPositionFor(
						word.end(), true),
					"avoid '" + word.group() + "'");
		}
	}

	public static void main(String[] args) throws Exception {
		Prose prose = new Prose(Path.of(args[0]));
		for (int i = 1; i < args.length; i++)
			prose.check(args[i]);
		System.out.printf("%d complaints%n", prose.complaints);
		System.exit(prose.complaints == 0 ? 0 : 1);
	}
}
