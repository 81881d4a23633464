/** Help, generated from the tables that parsing uses. */
import type { CliCommand, Options, Topic } from './command.ts';
import { commonOptions, optionHelp } from './command.ts';
import { exitCodes } from './exit-code.ts';
import type { Terminal } from './terminal.ts';
import { wrap } from './text-width.ts';

type Page = Pick<Terminal, 'paint' | 'textWidth'>;

export function programHelp(topics: readonly Topic[], page: Page): string[] {
  const title = (text: string): string => page.paint('bold', text);
  return [
    ...wrap(
      'quittance: inspect a ledger of tool calls, decide held calls, verify the ledger, resolve calls with an unknown effect, and test contracts.',
      page.textWidth,
    ),
    '',
    title('Usage'),
    '  quittance <command> [options]',
    '',
    ...topics.flatMap((topic) => [title(topic.title), ...commandLines(topic.commands, page), '']),
    title('Options'),
    ...optionLines({ ...commonOptions, version: { help: 'Print the version' } }, page),
    '',
    title('Examples'),
    ...entry('quittance calls --since 1h', 'calls of the last hour', page, 34),
    ...entry('quittance show call_7', 'everything about one call', page, 34),
    ...entry('quittance pending', 'calls awaiting approval', page, 34),
    ...entry('quittance verify', 'check the ledger for changes', page, 34),
    ...entry('quittance contracts test x.yaml', 'run the case files of contracts', page, 34),
    '',
    ...wrap(
      `Exit codes: ${exitCodes.good} success, ${exitCodes.bad} check failed or not found, ` +
        `${exitCodes.usage} invalid command line, ${exitCodes.broken} unexpected error, ` +
        `${exitCodes.interrupted} stopped by Ctrl-C.`,
      page.textWidth,
    ),
  ];
}

/** Do names of commands start with this word and continue with another? */
export const isGroup = (word: string, commands: readonly Pick<CliCommand, 'name'>[]): boolean =>
  commands.some(({ name }) => name.startsWith(`${word} `));

/** The commands whose names begin with this word, after the command with this name if there is one. */
export function groupHelp(word: string, commands: readonly CliCommand[], page: Page): string[] {
  const title = (text: string): string => page.paint('bold', text);
  const parts = commands.filter(({ name }) => name.startsWith(`${word} `));
  const own = commands.find(({ name }) => name === word);
  if (own !== undefined)
    return [...commandHelp(own, page), '', title('More commands'), ...commandLines(parts, page)];
  return [
    title('Usage'),
    `  quittance ${word} <command> [options]`,
    '',
    title('Commands'),
    ...commandLines(parts, page),
    '',
    title('Examples'),
    ...parts.flatMap(({ examples }) =>
      examples.slice(0, 1).flatMap(([line, what]) => [`  ${line}`, ...indented(what, 6, page)]),
    ),
  ];
}

export function commandHelp(command: CliCommand, page: Page): string[] {
  const title = (text: string): string => page.paint('bold', text);
  const { name, takes, summary, about = [], options, examples } = command;
  return [
    ...wrap(summary, page.textWidth),
    '',
    title('Usage'),
    `  quittance ${name}${takes === undefined ? '' : ` ${takes}`} [options]`,
    ...about.flatMap((paragraph) => ['', ...wrap(paragraph, page.textWidth)]),
    '',
    title('Options'),
    ...optionLines({ ...options, ...commonOptions }, page),
    '',
    title('Examples'),
    ...examples.flatMap(([line, what]) => [`  ${line}`, ...indented(what, 6, page)]),
  ];
}

const commandLines = (commands: readonly CliCommand[], page: Page): string[] =>
  commands.flatMap(({ name, takes, summary }) =>
    entry(takes === undefined ? name : `${name} ${takes}`, summary, page),
  );

const optionLines = (options: Options, page: Page): string[] =>
  Object.entries(options).flatMap(([name, option]) =>
    entry(`--${name}${option.value === undefined ? '' : ` ${option.value}`}`, optionHelp(option), page),
  );

/** A term and its meaning, on the same line or, for a long term, below it. */
function entry(term: string, meaning: string, page: Page, column = 26): string[] {
  const lines = wrap(meaning, page.textWidth - column - 2).map((line) => `${' '.repeat(column)}${line}`);
  const start = `  ${term}`;
  const [first = '', ...rest] = lines;
  return start.length < column ? [start.padEnd(column) + first.slice(column), ...rest] : [start, ...lines];
}

const indented = (text: string, columns: number, page: Page): string[] =>
  wrap(text, page.textWidth - columns).map((line) => `${' '.repeat(columns)}${page.paint('dim', line)}`);
