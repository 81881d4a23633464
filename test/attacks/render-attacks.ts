/** The page docs/attacks.md, from the classes and their results. */
import { outOfReach } from './out-of-reach.ts';
import type { OrdinaryResult } from './ordinary.ts';
import type { ClassResult } from './run-classes.ts';

export function renderAttacks(results: readonly ClassResult[], ordinary: readonly OrdinaryResult[]): string {
  const attempts = results.reduce((sum, { tried }) => sum + tried, 0);
  return [
    '<!-- Generated from test/attacks; a test checks it. UPDATE_DOCS=1 npx vitest run --project core test/attacks writes it again. -->',
    '# Attacks',
    `Contracts must hold against a model that makes mistakes, and against one that follows hostile instructions. This page lists ${results.length} classes of attack with ${attempts} attempts. Every test run makes them through the public API; \`npm run attack\` makes them against the packed package. What gets through, and why, is at the end.`,
    '## How a sandbox rule sees a call',
    'A tool may declare which of its arguments are paths, commands and urls (`resources`). Then only those are checked, and nothing is guessed. For any other tool, every argument is checked, at every depth. The name of an argument decides its kind (`file_path`, `cwd`, `command`, `url`, and similar names). Otherwise the value decides: an absolute path, a path with `..`, a URL, a bare host. Texts for people and for files (`content`, `message`, `body`, `old_string`, and similar) count only if they consist of one path or URL. In doubt, a value counts. So a rule may stop a harmless call: a regular expression such as `/api/v1`, or an image whose base64 starts with a slash. Declare `resources` to avoid this.',
    'One command may be split over several arguments: `{command, args}`, `{program, argv}`, `{cmd, flags}`, lists and nested objects. The words are joined first, in every possible order, and all results must be allowed.',
    'A command must be readable: literal words, at most joined by `|` and `&&`. Everything else is outside every sandbox rule: variables, patterns, substitutions, loops, other operators. A listed command is compared as written: `/bin/ls` is not `ls`. An entry such as `git status` allows that command with further plain arguments. Programs that may run others are allowed only with exactly the words of their entry.',
    'A command that runs others is opaque: `find -exec rm`, `env rm`, `bash -c "rm x"`, `ssh host rm`, `git -c core.pager=…`, `tar --to-command`, build tools, package runners and unknown programs. Only an entry with all of its words allows it. A small table lists the plain programs with their options (`packages/quittance/src/policy/sandbox/programs.ts`). An option that the table does not list makes the command opaque too. Operands of `curl`, `dig` and `ping` are hosts, whatever they look like. See [commands](contract-sandbox.md#commands).',
    'A path is outside if it has a scheme other than `file:` or a network scheme, a variable, a Windows stream or a kernel link (`/proc/self/root`). A pattern is inside if its folder is inside, if it cannot match an excluded path of `not_within`, and if no matching link leads outside. Paths of `not_within` are compared case-insensitively. An IPv6 address that contains an IPv4 address (NAT64, 6to4, Teredo, ISATAP) is denied together with that address.',
    'A relative path is resolved from the directory that the call declares, or else from the one that the host declares. Without both, an argument that is a path is outside. A word of a command is then not checked, unless it contains `..` or leads into an excluded path of `not_within`.',
    '## Classes',
    renderTable(
      ['class', 'what is tried', 'attempts', 'held', 'tested in'],
      results.map(({ id, title, tried, held, asked, file }) => [
        `\`${id}\``,
        title,
        String(tried),
        asked === 0 ? String(held) : `${held} (${asked} ask a person)`,
        `\`${file}\``,
      ]),
    ),
    '## Ordinary calls',
    'Rules that refuse everything would hold as well. So the templates are also given ordinary calls (`test/attacks/ordinary`). At most 3 % may be refused; they are listed here. Calls that ask a person are counted apart.',
    renderTable(
      ['template', 'calls', 'allowed', 'ask a person', 'refused'],
      ordinary.map(({ template, calls, asked, refused }) => [
        `\`${template}\``,
        String(calls),
        String(calls - asked.length - refused.length),
        String(asked.length),
        `${refused.length} (${((100 * refused.length) / calls).toFixed(1)} %)`,
      ]),
    ),
    ...ordinary.flatMap(({ template, asked, refused }) => [
      ...(refused.length === 0
        ? []
        : [`Refused for \`${template}\`:`, refused.map((line) => `- \`\` ${line} \`\``).join('\n')]),
      ...(asked.length === 0
        ? []
        : [`Asked for \`${template}\`:`, asked.map((line) => `- \`\` ${line} \`\``).join('\n')]),
    ]),
    '## Out of reach',
    renderTable(
      ['attempt', 'tries', 'why it gets through'],
      outOfReach.map(({ id, tries, outOfReach: why = '' }) => [`\`${id}\``, tries, why]),
    ),
  ].join('\n\n');
}

export const renderTable = (columns: readonly string[], rows: readonly (readonly string[])[]): string =>
  [columns, columns.map(() => '---'), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
