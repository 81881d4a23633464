/** Parses the command line. Only this file knows the syntax; for invalid input it suggests a valid command. */
import { parseArgs } from 'node:util';
import { nearestNames } from 'quittance/internal/base/nearest';
import type { CliCommand, Given, Options } from './command.ts';
import { commonOptions } from './command.ts';
import { UsageError } from './usage-error.ts';

/** Parses the arguments after the name of a command. */
export function parseCommandLine(
  command: Pick<CliCommand, 'name' | 'options' | 'most'>,
  args: readonly string[],
): Given {
  const options: Options = { ...command.options, ...commonOptions };
  const { tokens } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(
        Object.entries(options).map(([name, { value, multiple }]) => [
          name,
          { type: value === undefined ? 'boolean' : 'string', multiple: multiple === true } as const,
        ]),
      ),
      help: { type: 'boolean', short: 'h' },
    },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const help = `quittance ${command.name} --help`;
  const found = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens)
    if (token.kind === 'positional') positionals.push(token.value);
    else if (token.kind === 'option') {
      const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
      if (option === undefined) throw unknownOption(token.rawName, options, help);
      checkValue(token.name, token.value, option, help);
      const earlier = found.get(token.name) ?? [];
      if (earlier.length > 0 && option.multiple !== true && option.value !== undefined)
        throw new UsageError(`--${token.name} is given twice.`, [help]);
      found.set(token.name, [...earlier, token.value ?? '']);
    }
  if (positionals.length > (command.most ?? 0) && !found.has('help')) {
    const extra = JSON.stringify(positionals[command.most ?? 0]);
    throw new UsageError(`Unexpected argument for "quittance ${command.name}": ${extra}.`, [help]);
  }
  return {
    args: positionals,
    has: (name) => found.has(name),
    text: (name) => found.get(name)?.at(-1),
    list: (name) => found.get(name) ?? [],
    count(name) {
      const text = found.get(name)?.at(-1);
      if (text === undefined) return undefined;
      if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
      throw new UsageError(`--${name} takes a whole number from 1; found ${JSON.stringify(text)}.`, [
        `--${name} 100`,
      ]);
    },
  };
}

/** Finds a command by name. An unknown name throws an error with the nearest names. */
export function findCommand<Named extends { readonly name: string }>(
  name: string,
  commands: readonly Named[],
): Named {
  const command = commands.find((each) => each.name === name);
  if (command !== undefined) return command;
  const parts = commands.filter((each) => each.name.startsWith(`${name} `)).map((each) => each.name);
  if (parts.length > 0)
    throw new UsageError(
      `"quittance ${name}" needs a subcommand: ${parts.map((part) => part.slice(name.length + 1)).join(', ')}.`,
      [...parts.map((part) => `quittance ${part}`), `quittance help ${name}`],
    );
  const near = nearestNames(
    name,
    commands.map((each) => each.name),
    2,
  );
  throw new UsageError(
    `Unknown command ${JSON.stringify(name)}.` +
      (near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`),
    [...near.map((each) => `quittance ${each}`), 'quittance help'],
  );
}

export function unknownOption(rawName: string, options: Options, help: string): UsageError {
  const [nearest] = nearestNames(rawName.replace(/^-+/, ''), Object.keys(options), 1);
  return new UsageError(
    `Unknown option ${rawName}.` + (nearest === undefined ? '' : ` Did you mean --${nearest}?`),
    [help],
  );
}

function checkValue(name: string, value: string | undefined, option: Options[string], help: string): void {
  if (option.value === undefined) {
    if (value !== undefined)
      throw new UsageError(`--${name} takes no value; found ${JSON.stringify(value)}.`, [`--${name}`]);
    return;
  }
  if (value === undefined || value === '')
    throw new UsageError(`--${name} needs a value: --${name} ${option.value}.`, [help]);
  if (option.choices === undefined || option.choices.includes(value)) return;
  const [nearest] = nearestNames(value, option.choices, 1);
  throw new UsageError(
    `--${name} is one of ${option.choices.join(', ')}; found ${JSON.stringify(value)}.`,
    nearest === undefined ? [help] : [`--${name} ${nearest}`],
  );
}
