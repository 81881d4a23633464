/** The hand-written attempts, sorted into classes. */
import { attackClass, type AttackClass, type Door, type Family, type Verdict } from './attack-class.ts';
import { judgeByRules, makeCall, type Attack } from './attack.ts';
import { commandAttacks } from './command-attacks.ts';
import { hostAttacks } from './host-attacks.ts';
import { pathAttacks } from './path-attacks.ts';
import { nameAttacks, outputAttacks, valueAttacks } from './rule-attacks.ts';

type Row = readonly [id: string, title: string, ids: RegExp];

/** Each attempt belongs to the first row that matches its id. */
function sort(
  attacks: readonly Attack[],
  rows: readonly Row[],
  run: (attack: Attack, door: Door) => Promise<Verdict> = makeCall,
): readonly AttackClass[] {
  const rest = new Set(attacks);
  const classes = rows.map(([id, title, ids]) => {
    const own = [...rest].filter((attack) => ids.test(attack.id));
    for (const attack of own) rest.delete(attack);
    return attackClass({
      id,
      title,
      attempts: own.map((attack) => ({ name: `${attack.id}: ${attack.tries}`, attack })),
      run: ({ attack }, door) => run(attack, door),
    });
  });
  if (rest.size > 0) throw new Error(`No class for ${[...rest].map(({ id }) => id).join(', ')}.`);
  return classes;
}

export const knownFamilies: readonly Family[] = [
  {
    title: 'Paths',
    file: 'test/attacks/path-attacks.ts',
    classes: sort(pathAttacks, [
      [
        'path-encodings',
        'escapes, look-alike and invisible characters in a path',
        /percent|overlong|fullwidth-[ds]|two-dot|division|invisible|blank|nul/,
      ],
      ['path-links', 'links that lead outside', /link/],
      ['path-homes-and-variables', 'home directories and variables', /home|variable/],
      ['path-schemes', 'a scheme before the path', /url/],
      ['path-windows', 'drives, shares and backslashes', /share|drive|backslash/],
      ['path-patterns', 'patterns and braces that may match elsewhere', /brace|glob-dots|pattern/],
      ['path-pieces', 'several paths, or a path in pieces', /newline|colon|comma|components|halves/],
      [
        'path-positions',
        'a path where no rule names the argument',
        /key|nested|proto|constructor|json|xml|sentence|option|-at$|content|camel|tool-glob/,
      ],
      ['path-nothing', 'nothing that can be judged', /nothing|empty|number|guess|relative/],
      ['path-climbing', 'a path that leads outside', /^path-/],
    ]),
  },
  {
    title: 'Commands',
    file: 'test/attacks/command-attacks.ts',
    classes: sort(commandAttacks, [
      [
        'command-chains',
        'a second command behind the first',
        /semicolon|-and$|-or$|background|pipe|newline|return|separator|nul|comment|continuation|chain|second/,
      ],
      [
        'command-substitutions',
        'substitutions and variables',
        /substitution|backticks|in-quotes|variable|ifs|arithmetic|ansi|process|subshell|assignment/,
      ],
      ['command-redirects', 'redirections', /redirect|here/],
      ['command-patterns', 'patterns that the shell expands', /brace|wildcard/],
      [
        'command-files',
        'files outside, named by a command',
        /file|climb|tilde|denied|option|upload|form|elsewhere|args|link/,
      ],
      ['command-runs-another', 'a listed program that runs another', /sudo|shell|exec/],
      ['command-spellings', 'a program that is not listed', /^command-/],
    ]),
  },
  {
    title: 'Hosts',
    file: 'test/attacks/host-attacks.ts',
    classes: sort(hostAttacks, [
      [
        'host-addresses',
        'other spellings of a denied address',
        /short|decimal|hex|octal|mapped|long|metadata|number|ipv6/,
      ],
      ['host-characters', 'other spellings of a denied name', /denied|cyrillic|encoded|tab/],
      [
        'host-parsers',
        'urls that parsers read differently',
        /user|fragment|backslash|two-ats|slashes|scheme|script|empty|file/,
      ],
      [
        'host-positions',
        'a host where no rule names the argument',
        /key|nested|sentence|command|scp|proxy|share|second/,
      ],
      ['host-names', 'a host that only resembles a listed one', /^host-/],
    ]),
  },
  {
    title: 'Names of tools',
    file: 'test/attacks/rule-attacks.ts',
    classes: sort(
      nameAttacks,
      [['tool-names', 'tool names that no rule seems to match', /^name-/]],
      judgeByRules,
    ),
  },
  {
    title: 'Values and outputs',
    file: 'test/attacks/rule-attacks.ts',
    classes: [
      ...sort(valueAttacks, [['values', 'values of another type or spelling', /^value-/]]),
      ...sort(outputAttacks, [['outputs', 'a secret in the output', /^output-/]]),
    ],
  },
];
