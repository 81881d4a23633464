/** The page docs/attacks.md, from the table. */
import type { Attack } from './attack.ts';
import { commandAttacks } from './command-attacks.ts';
import { hostAttacks } from './host-attacks.ts';
import { outOfReach } from './out-of-reach.ts';
import { pathAttacks } from './path-attacks.ts';
import { nameAttacks, outputAttacks, valueAttacks } from './rule-attacks.ts';

export const attackGroups: readonly (readonly [title: string, attacks: readonly Attack[]])[] = [
  ['Paths', pathAttacks],
  ['Commands', commandAttacks],
  ['Hosts', hostAttacks],
  ['Names of tools', nameAttacks],
  ['Values and patterns', valueAttacks],
  ['Outputs', outputAttacks],
];

export function renderAttacks(): string {
  const count = attackGroups.reduce((sum, [, attacks]) => sum + attacks.length, 0);
  return [
    '<!-- Generated from the table in test/attacks; a test keeps it so. -->',
    '# Attempts to get past the rules',
    `Contracts are written for models that are mistaken and for models that were talked into something. These ${count} attempts are made against them with every test run, through documents as users write them; each is stopped. Below them stands what gets through and why: know it before you rely on a rule.`,
    '## How a sandbox rule sees a call',
    'A tool may declare which of its arguments are paths, commands and urls (`resources`). Then those are judged and nothing is guessed. For any other tool every argument is read, at every depth. The name of an argument says what it is (`file_path`, `cwd`, `command`, `url`, and the like); where it says nothing, the value does: an absolute path, one that climbs by `..`, a url, a bare host. Texts for people and for files (`content`, `message`, `body`, `old_string`, and the like) count only if they are nothing but one path or url. In doubt a value counts, so a rule may stop a call that was fine: a regular expression such as `/api/v1`, a picture whose base64 begins with a slash. Declaring `resources` ends the doubt.',
    'A command must be plain: one program, every word known from the text. Whatever a shell would chain, substitute, redirect, group or look up is outside every sandbox rule. Wildcards are outside under `within`, since nobody knows which files they will find. A command that is listed is compared as it is written: `/bin/ls` is not `ls`. An entry of several words (`git status`) allows what begins with them.',
    'A relative path is judged from the directory the call declares, else from the one the host declares. Where neither does, an argument that is a path is outside; a word of a command is not judged, unless it climbs or leads into what `not_within` takes away.',
    ...attackGroups.flatMap(([title, attacks]) => [
      `## ${title}`,
      table(
        ['attempt', 'tries'],
        attacks.map(({ id, tries }) => [`\`${id}\``, tries]),
      ),
    ]),
    '## Out of reach',
    table(
      ['attempt', 'tries', 'why it gets through'],
      outOfReach.map(({ id, tries, outOfReach: why = '' }) => [`\`${id}\``, tries, why]),
    ),
  ].join('\n\n');
}

const table = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  [columns, columns.map(() => '---'), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
