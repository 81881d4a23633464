/** The page docs/attacks.md, from the classes and their results. */
import { outOfReach } from './out-of-reach.ts';
import type { OrdinaryResult } from './ordinary.ts';
import type { ClassResult } from './run-classes.ts';

export function renderAttacks(results: readonly ClassResult[], ordinary: readonly OrdinaryResult[]): string {
  const attempts = results.reduce((sum, { tried }) => sum + tried, 0);
  return [
    '<!-- Generated from test/attacks; a test checks it. UPDATE_DOCS=1 npx vitest run --project core test/attacks writes it again. -->',
    '# Attacks',
    `Contracts have to hold against a model that is mistaken and against one that was talked into something. This page lists ${results.length} classes of attack with ${attempts} attempts. Every test run makes them through the public API; \`npm run attack\` makes them against the packed package. What gets through, and why, is at the end.`,
    '## How a sandbox rule sees a call',
    'A tool may declare which of its arguments are paths, commands and urls (`resources`). Then those are judged and nothing is guessed. For any other tool every argument is read, at every depth. The name of an argument says what it is (`file_path`, `cwd`, `command`, `url`, and the like); where it says nothing, the value does: an absolute path, one that climbs by `..`, a url, a bare host. Texts for people and for files (`content`, `message`, `body`, `old_string`, and the like) count only if they are nothing but one path or url. In doubt a value counts, so a rule may stop a call that was fine: a regular expression such as `/api/v1`, a picture whose base64 begins with a slash. Declaring `resources` ends the doubt.',
    'One command may be spelled over several arguments: `{command, args}`, `{program, argv}`, `{cmd, flags}`, lists and nested objects. The words are put together first, in every order they may have, and all of those must be allowed.',
    'A command must be plain: one program, every word known from the text. Whatever a shell would chain, substitute, redirect, group or look up is outside every sandbox rule. With `chains: judge` a chain of readable commands is judged command by command. A listed command is compared as it is written: `/bin/ls` is not `ls`. An entry of several words (`git status`) allows what begins with them.',
    'What a command runs in turn must be listed as well: `find -exec rm`, `env rm`, `bash -c "rm x"`, `ssh host rm`, `docker run image rm` need an entry for `rm`. A table of programs says how each of them runs others (`src/policy/sandbox/programs`). Where a program is told to run code or something that cannot be read (`python -c`, `git -c core.pager=…`, `tar --to-command`), the command is outside unless the entry names those very words. List commands by their first words (`git status`), not by program.',
    'A path with a scheme other than `file:` or that of a network, with a variable, a stream of Windows or a link of the kernel (`/proc/self/root`) is outside. A pattern is inside where its folder is, where it cannot match what `not_within` takes away, and where no link that it matches leads outside. What `not_within` takes away is compared without regard to case. An IPv6 address that carries an IPv4 address (NAT64, 6to4, Teredo, ISATAP) is denied with that address.',
    'A relative path is judged from the directory the call declares, else from the one the host declares. Where neither does, an argument that is a path is outside; a word of a command is not judged, unless it climbs or leads into what `not_within` takes away.',
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
    'Rules that refuse everything would hold as well. So the templates are also given ordinary calls (`test/attacks/ordinary`). At most 2 % may be refused; they are listed here. Calls that ask a person are counted apart.',
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
