/** Constructs of other regex engines that RE2 does not support, with a way to rewrite each of them. */

type Construct = {
  /** Matches the start of the construct. */
  readonly opening: RegExp;
  /** In words, after "it uses". */
  readonly name: string;
  readonly rewrite: string;
};

const constructs: readonly Construct[] = [
  {
    opening: /^\(\?=/,
    name: 'lookahead `(?=`',
    rewrite:
      'Match each part in its own condition and join them with `all`, or include the following text in ' +
      'the pattern: `ab` for `a(?=b)`.',
  },
  {
    opening: /^\(\?!/,
    name: 'negative lookahead `(?!`',
    rewrite:
      'Match the forbidden text in a second condition under `not` and join both with `all` (in a ' +
      'workflow: `command_not_matches`). Or list what may follow: `a(?:[^b]|$)` for `a(?!b)`.',
  },
  {
    opening: /^\(\?<=/,
    name: 'lookbehind `(?<=`',
    rewrite: 'Include the preceding text in the pattern: `ab` for `(?<=a)b`.',
  },
  {
    opening: /^\(\?<!/,
    name: 'negative lookbehind `(?<!`',
    rewrite:
      'List what may come before: `(?:^|[^a])b` for `(?<!a)b`. Or match the unwanted text in a second ' +
      'condition under `not` and join both with `all`.',
  },
  {
    opening: /^(?:\(\?(?:R|P>|&|[+-]?\d)|\\g(?:<|'))/,
    name: 'recursion',
    rewrite: 'Write out as many levels as the text may have.',
  },
  {
    opening: /^(?:\\[1-9k]|\\g|\(\?P=)/,
    name: 'a backreference',
    rewrite:
      'Write out the alternatives: `"[^"]*"|\'[^\']*\'` for `(["\']).*?\\1`. If they are too many, register an operator of your own.',
  },
  {
    opening: /^\(\?>/,
    name: 'an atomic group `(?>`',
    rewrite: 'Write a plain group, `(?:…)`: matching takes linear time without it.',
  },
  {
    opening: /^(?:[*+?]|\{[\d,]+\})\+/,
    name: 'a possessive quantifier',
    rewrite: 'Remove its last `+`: matching takes linear time without it.',
  },
  {
    opening: /^\(\?\(/,
    name: 'a conditional group `(?(`',
    rewrite: 'Write out both cases as alternatives, joined with `|`.',
  },
  {
    opening: /^\(\?\|/,
    name: 'a branch reset group `(?|`',
    rewrite: 'Write a plain group, `(?:…|…)`.',
  },
  {
    opening: /^\(\?'/,
    name: "a group named with quotes `(?'`",
    rewrite: 'Write the name in angle brackets: `(?<name>…)`.',
  },
  {
    opening: /^\(\?#/,
    name: 'a comment `(?#`',
    rewrite: 'Remove it, or write a YAML comment.',
  },
  {
    opening: /^\(\?[a-zA-Z^-]*x/,
    name: 'the flag `x`',
    rewrite: 'Remove the flag, and the spaces and comments that it permits.',
  },
  {
    opening: /^\(\?[a-zA-Z^-]/,
    name: 'a flag other than `i`, `m`, `s` and `U`',
    rewrite: 'Remove it.',
  },
  {
    opening: /^\\K/,
    name: '`\\K`',
    rewrite: 'Remove it: then the text before it is part of the match.',
  },
  {
    opening: /^\\G/,
    name: '`\\G`',
    rewrite: 'Anchor the pattern with `^`, or remove it.',
  },
  { opening: /^\\h/, name: '`\\h`', rewrite: 'Write `[ \\t]`.' },
  { opening: /^\\H/, name: '`\\H`', rewrite: 'Write `[^ \\t]`.' },
  { opening: /^\\N/, name: '`\\N`', rewrite: 'Write `[^\\n]`.' },
  { opening: /^\\R/, name: '`\\R`', rewrite: 'Write `(?:\\r\\n|\\n|\\r)`.' },
  { opening: /^\\e/, name: '`\\e`', rewrite: 'Write `\\x1b`.' },
  { opening: /^\\c/, name: '`\\c`', rewrite: 'Write the code of the character: `\\x01` for `\\cA`.' },
  {
    opening: /^\{[\d,]+\}$/,
    name: 'more than 1,000 repetitions',
    rewrite: 'Write `+` or `*`, or a smaller number. Numbers of nested repetitions multiply.',
  },
];

/**
 * Names the unsupported construct in the pattern; undefined if `found`, RE2's own message, reports a plain mistake.
 */
export function explainUnsupportedConstruct(pattern: string, found: string): string | undefined {
  const token = /: `([^]*)`$/.exec(found)?.[1];
  if (token === undefined) return undefined;
  // RE2 quotes only the start of some constructs, `(?P` for `(?P=name)`, so the pattern itself is checked.
  const texts = [token];
  if (!token.startsWith('{'))
    for (let at = pattern.indexOf(token); at >= 0; at = pattern.indexOf(token, at + 1))
      texts.push(pattern.slice(at));
  const construct = constructs.find(({ opening }) => texts.some((text) => opening.test(text)));
  return construct && inWords(construct);
}

/**
 * RE2 reads `\10` as an octal code, other engines as a backreference if the pattern has ten groups. The meaning would
 * change silently, so the pattern is rejected.
 */
export function explainLongReference(pattern: string, groups: number): string | undefined {
  if (groups < 10 || pattern.includes('\\Q')) return undefined;
  for (const [, digits] of pattern.matchAll(/\\(?:([1-9]\d)|[^])/g))
    if (digits !== undefined && Number(digits) <= groups)
      return explainUnsupportedConstruct('', `: \`\\${digits}\``);
  return undefined;
}

const inWords = ({ name, rewrite }: Construct): string =>
  `it uses ${name}, which RE2 does not support. ${rewrite}`;
