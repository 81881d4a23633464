/** Constructs of other regex engines that RE2 cannot take, with the way to rewrite each of them. */

type Construct = {
  /** How the construct begins. */
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
      'Match each part in a condition of its own and join them with `all`, or write what must follow into the pattern: `ab` for `a(?=b)`.',
  },
  {
    opening: /^\(\?!/,
    name: 'negative lookahead `(?!`',
    rewrite:
      'Match what must not be there in a second condition under `not` and join both with `all` (in a workflow: `command_not_matches`), or write out what may follow: `a(?:[^b]|$)` for `a(?!b)`.',
  },
  {
    opening: /^\(\?<=/,
    name: 'lookbehind `(?<=`',
    rewrite: 'Write what must come before into the pattern: `ab` for `(?<=a)b`.',
  },
  {
    opening: /^\(\?<!/,
    name: 'negative lookbehind `(?<!`',
    rewrite:
      'Write out what may come before: `(?:^|[^a])b` for `(?<!a)b`. Or match the unwanted text in a second condition under `not` and join both with `all`.',
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
    rewrite: 'Leave out its last `+`: matching takes linear time without it.',
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
    rewrite: 'Leave it out, or write a YAML comment.',
  },
  {
    opening: /^\(\?[a-zA-Z^-]*x/,
    name: 'the flag `x`',
    rewrite: 'Leave out the flag, and the spaces and comments that it permits.',
  },
  {
    opening: /^\(\?[a-zA-Z^-]/,
    name: 'a flag other than `i`, `m`, `s` and `U`',
    rewrite: 'Leave it out.',
  },
  {
    opening: /^\\K/,
    name: '`\\K`',
    rewrite: 'Leave it out: then the text before it is part of the match.',
  },
  {
    opening: /^\\G/,
    name: '`\\G`',
    rewrite: 'Anchor the pattern with `^`, or leave it out.',
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

/** What the pattern uses that RE2 cannot take; undefined if `found`, RE2's own message, reports a plain mistake. */
export function explainUnsupportedConstruct(pattern: string, found: string): string | undefined {
  const token = /: `([^]*)`$/.exec(found)?.[1];
  if (token === undefined) return undefined;
  // RE2 quotes only the beginning of some constructs, `(?P` for `(?P=name)`, so the pattern itself is looked at.
  const texts = [token];
  if (!token.startsWith('{'))
    for (let at = pattern.indexOf(token); at >= 0; at = pattern.indexOf(token, at + 1))
      texts.push(pattern.slice(at));
  const construct = constructs.find(({ opening }) => texts.some((text) => opening.test(text)));
  return construct && inWords(construct);
}

/**
 * RE2 reads `\10` as an octal code, other engines as a backreference if the pattern has ten groups. The pattern would
 * be loaded with another meaning, so it is refused.
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
