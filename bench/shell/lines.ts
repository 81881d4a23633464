/**
 * Command lines from a seed. Most are at the edge of what the reader of command lines (packages/quittance/src/base/command-text.ts) can
 * read. They have quotes in odd places, expansions, operators, strange blanks, and small edits of valid lines.
 *
 * A line names only programs that the room of run-line.ts has, and no absolute path.
 */
import { createNasty, type Nasty } from '../nasty.ts';

/** Programs that exist in the room. Shells run some of them themselves. */
export const programs: readonly string[] = split(
  'ls cat grep git rm cp mv echo printf test true false cd pwd head sort find sed curl tee wc xargs env node s x',
);
/** They run their words, so only a shell without them shows what the shell does with the line. */
export const runners: readonly string[] = split('eval exec command builtin export declare alias set');

const localPrograms = split('./tool sub/tool');
const grammarWords = split(
  '! [[ ]] case coproc do done elif else esac fi for foreach function if in nocorrect repeat select then time until while { } ( )',
);

const plainPieces = split(
  'a b x s ab a b.txt sub a sub/a ./a ../outside/keep .. . link x.y/z é 日本 ü.txt Ⅷ',
  '-l -la --color --color=auto -- - --x=y a=b x+=y a,b a:b a@b %1',
  '^a +x 1 2 12 007 a_b A-1 HEAD^ a%20b',
);
/** Inside of quotes most of these are ordinary. */
const edgePieces = [
  ...split(
    '~ ~/a ~+ ~s a~ a=~ --x=~/a a:~ = =ls a= == # #a a#b ## ! !a a! !! !$ !=',
    '* ? a* *.txt ? [ab] [!a] [[.s.]] [[:alpha:]] [ ] a] {a,b} {1..3} {} { }',
    '$x ${x} $ a$ $$ $1 $@ $(ls) $((1+1)) `ls` ` \\ \\a \\\\ \\~',
    '@(a|b) +(a) !(a) ?(a) *(a) ( ) ; & | < > <(ls) >(cat)',
    '"$x" "$" "a!" "!a" "`ls`" "\\$x" "\\a" "\\"" "\\\\" \'\' "" $\'a\' $"a" \'a\'\\\'\'b\'',
  ),
  ...Array.from('\u00a0\u3000\u2003\u2028\u200b\ufeff\u0085\u0301😀€\t\r\n\v\f\x01\x02\x1b\x7f'),
  '\ud800',
  '\udc00',
  '\\\n',
  ' #',
];

const usualRedirections = split('> >> < 2> 2>> 1> 0< 2>&1 >&2 1>&2 5>');
const oddRedirections = split(
  ">| <> &> &>> >& <& << <<- <<< 12> 22>> '2'> ''2> 2\"\"> \\2> 0<> >&- 2>&- {x}> >&12 2>&1a 1>&2x >>> <<<< >! >>! 2>&1& >&1; <&3 &>&1 " +
    "|> 3>&4 >&$x 2>&'1' 2>&1# >&2>",
);
const usualJoints = ['|', '&&', ' | ', ' && ', '| ', ' &&'];
const oddJoints = [
  '|&',
  '||',
  ';',
  '&',
  '\n',
  '&&&',
  '|||',
  '| |',
  '&& &&',
  ' ; ',
  ' & ',
  ';;',
  '|\n',
  '&&\n',
  '\r\n',
];
const usualVariables = split('CI=1 NODE_ENV=test LANG=C CI= DEBUG=a:b');
const oddVariables = split(
  "a=b a+=b a[0]=b 'a'=b CI+=1 C'I'=1 1=2 =a a==b é=b",
  "CI=~ CI=a:~ CI=$x CI=* CI={a,b} CI='a PORT=1,2",
);
const alphabet = [
  ...'\'"`\\$~#!*?[]{}()<>|&;= \t\n0123ae-/.:,^%@+_'.split(''),
  '\u00a0',
  'é',
  '\r',
  '\u0301',
  '""',
  "''",
];

/** An endless sequence of lines, the same for the same seed. */
export function* shellLines(seed: number): Generator<string, never> {
  const dice = createNasty(seed);
  for (;;) yield line(dice);
}

function line(dice: Nasty): string {
  const count = dice.pick([1, 1, 1, 1, 2, 2, 3]);
  let text = command(dice);
  for (let n = 1; n < count; n++)
    text += `${dice.pick(dice.chance(0.9) ? usualJoints : oddJoints)}${command(dice)}`;
  if (dice.chance(0.05)) text = wrap(dice, text);
  const edits = dice.chance(0.4) ? dice.pick([1, 1, 2]) : 0;
  for (let n = 0; n < edits; n++) text = edit(dice, text);
  return text;
}

function command(dice: Nasty): string {
  const parts: string[] = [];
  if (dice.chance(0.08)) parts.push(dice.pick(dice.chance(0.5) ? usualVariables : oddVariables));
  if (dice.chance(0.02)) parts.push(redirection(dice));
  parts.push(first(dice));
  const count = dice.pick([0, 1, 1, 2, 2, 3]);
  for (let n = 0; n < count; n++) parts.push(dice.chance(0.15) ? redirection(dice) : word(dice));
  const blank = dice.chance(0.05) ? dice.pick(['\t', '  ', ' \t ']) : ' ';
  return parts.join(blank);
}

function first(dice: Nasty): string {
  if (dice.chance(0.03)) return dice.pick(grammarWords);
  if (dice.chance(0.04)) return word(dice);
  const name = dice.pick(dice.chance(0.06) ? runners : dice.chance(0.06) ? localPrograms : programs);
  if (dice.chance(0.85)) return name;
  const at = Math.floor(name.length / 2);
  const [left, right] = [name.slice(0, at), name.slice(at)];
  return dice.pick([
    `'${name}'`,
    `"${name}"`,
    `${left}'${right}'`,
    `"${left}"${right}`,
    `${name}''`,
    `""${name}`,
    `${left}""${right}`,
    `\\${name}`,
    `${left}\\${right}`,
    `$'${name}'`,
    `${left}$x${right}`,
    `${left}{,}${right}`,
    `${left}[${right}]`,
    `${name}()`,
    `${left}\u00a0${right}`,
  ]);
}

function word(dice: Nasty): string {
  if (dice.chance(0.006)) {
    const long = 'x'.repeat(dice.pick([16_383, 16_385, 17_000]));
    return dice.pick([long, `'${long}'`, `${long}""`]);
  }
  let text = '';
  const count = dice.pick([1, 1, 1, 1, 2, 3]);
  for (let n = 0; n < count; n++) text += piece(dice);
  return text;
}

function piece(dice: Nasty): string {
  if (dice.chance(0.6)) return dice.pick(plainPieces);
  if (dice.chance(0.3)) return dice.pick(edgePieces);
  const quote = dice.pick(["'", '"']);
  let inner = '';
  const count = dice.pick([0, 1, 1, 2]);
  for (let n = 0; n < count; n++)
    inner += dice.pick(dice.chance(0.4) ? plainPieces : edgePieces).replaceAll(quote, '');
  return `${quote}${inner}${quote}`;
}

function redirection(dice: Nasty): string {
  const operator = dice.pick(dice.chance(0.75) ? usualRedirections : oddRedirections);
  if (/&\d\w?$/.test(operator)) return operator;
  const file = dice.chance(0.7)
    ? dice.pick(['a', 'new', 'sub/new', '../outside/new', 'link', "'b.txt'"])
    : word(dice);
  return `${operator}${dice.pick(['', '', ' ', '\t'])}${file}`;
}

function wrap(dice: Nasty, text: string): string {
  return dice.pick([
    `(${text})`,
    `{ ${text}; }`,
    `! ${text}`,
    `time ${text}`,
    `if ${text}; then ls; fi`,
    `for x in a b; do ${text}; done`,
    `ls() { ${text}; }`,
    `alias ls=rm; ${text}`,
    `${text} # ${text}`,
    `#${text}`,
    `${text} &`,
    `${text};`,
    `${text} <<x\na\nx`,
    `x=$(${text})`,
    ` ${text} `,
    `\t${text}\t`,
    `${text}\n`,
  ]);
}

function edit(dice: Nasty, text: string): string {
  const units = Array.from(text);
  if (units.length === 0 || units.length > 200) return text;
  const at = dice.pick([...units.keys()]);
  const unit = units[at] ?? '';
  const next = units[at + 1] ?? '';
  const changed = dice.pick([[dice.pick(alphabet), unit], [dice.pick(alphabet)], [], [unit, unit]]);
  if (dice.chance(0.2)) units.splice(at, 2, next, unit);
  else units.splice(at, 1, ...changed);
  return units.join('');
}

function split(...texts: readonly string[]): readonly string[] {
  return texts.flatMap((text) => text.split(' '));
}
