import type { CliCommand, Options } from '../command.ts';
import { reads, commonOptions } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { UsageError } from '../usage-error.ts';

/** Completes the given commands, including this one. */
export const createCompletionCommand = (all: () => readonly CliCommand[]): CliCommand => ({
  name: 'completion',
  summary: 'Print a shell script that completes these commands',
  takes: '<shell>',
  most: 1,
  about: ['Shells: bash, zsh and fish.'],
  options: {},
  examples: [
    ['eval "$(quittance completion bash)"', 'in ~/.bashrc'],
    ['eval "$(quittance completion zsh)"', 'in ~/.zshrc, after compinit'],
    ['quittance completion fish > ~/.config/fish/completions/quittance.fish', 'once'],
  ],
  effect: reads,
  run: async (given, { out }) => {
    const [wanted] = given.args;
    const shell = shells.find((each) => each === wanted);
    if (shell === undefined)
      throw new UsageError(
        wanted === undefined
          ? 'Missing shell name.'
          : `Supported shells: ${shells.join(', ')}; found ${JSON.stringify(wanted)}.`,
        shells.map((each) => `quittance completion ${each}`),
      );
    await out.write(completionScript(shell, all()));
    return exitCodes.good;
  },
});

/** Shell completion scripts, generated from the tables that parsing uses. */

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

function completionScript(shell: Shell, commands: readonly CliCommand[]): string {
  switch (shell) {
    case 'bash':
      return bash(commands);
    case 'zsh':
      return zsh(commands);
    case 'fish':
      return fish(commands);
  }
}

const optionsOf = (command: CliCommand): Options => ({ ...command.options, ...commonOptions });
/** The first words of their names. */
const names = (commands: readonly CliCommand[]): string =>
  [...new Set(commands.map(({ name }) => name.split(' ', 1)[0]))].join(' ');
/** Words that need a subcommand, with their subcommands. */
function groupsOf(commands: readonly CliCommand[]): readonly (readonly [group: string, parts: string])[] {
  const groups = new Map<string, string[]>();
  for (const { name } of commands) {
    const [group = '', part] = name.split(' ');
    if (part !== undefined) groups.set(group, [...(groups.get(group) ?? []), part]);
  }
  return [...groups].map(([group, parts]) => [group, parts.join(' ')]);
}
/** Accepted values of a command's first argument, if known. */
const wordsOf = (command: CliCommand, commands: readonly CliCommand[]): string =>
  command.name === 'completion'
    ? shells.join(' ')
    : command.name === 'help'
      ? names(commands)
      : (command.words ?? []).join(' ');

function bash(commands: readonly CliCommand[]): string {
  const flags = commands.map((command) => {
    const options = Object.keys(optionsOf(command)).map((name) => `--${name}`);
    return `    "${command.name}") words="${[...options, wordsOf(command, commands)].join(' ').trim()}" ;;`;
  });
  const values = commands.flatMap((command) =>
    Object.entries(optionsOf(command)).flatMap(([name, { value, choices, file }]) => {
      if (value === undefined) return [];
      const reply = file === true ? 'compgen -f' : `compgen -W "${(choices ?? []).join(' ')}"`;
      return [`    "${command.name}:--${name}") COMPREPLY=($(${reply} -- "$current")); return ;;`];
    }),
  );
  const groups = groupsOf(commands).map(
    ([group, parts]) => `  if [ "$command" = ${group} ]; then
    if [ "$COMP_CWORD" -eq 2 ]; then
      COMPREPLY=($(compgen -W "${parts}" -- "$current"))
      return
    fi
    command="$command \${COMP_WORDS[2]}"
  fi
`,
  );
  return `# Completion of quittance for bash. In ~/.bashrc:  eval "$(quittance completion bash)"
_quittance() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names(commands)} --help --version --ledger" -- "$current"))
    return
  fi
${groups.join('')}  case "$command:$previous" in
${values.join('\n')}
  esac
  case "$command" in
${flags.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _quittance quittance
`;
}

function zsh(commands: readonly CliCommand[]): string {
  const groups = groupsOf(commands);
  const listed = [
    ...commands.filter(({ name }) => !name.includes(' ')),
    ...groups.map(([name, parts]) => ({ name, summary: parts.replaceAll(' ', ', ') })),
  ].map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`);
  const parts = groups.map(
    ([group, names]) => `  if [[ $command == ${group} ]]; then
    if (( CURRENT == 2 )); then
      compadd ${names}
      return
    fi
    command="$command $words[2]"
    shift words
    (( CURRENT-- ))
  fi
`,
  );
  const cases = commands.map((command) => {
    const specs = Object.entries(optionsOf(command)).map(
      ([name, { value, help, choices, file, multiple }]) => {
        const action = file === true ? '_files' : choices === undefined ? '' : `(${choices.join(' ')})`;
        const text = help.replaceAll(/[[\]:]/g, ' ');
        return quote(
          `${multiple === true ? '*' : ''}--${name}[${text}]${value === undefined ? '' : `:${value}:${action}`}`,
        );
      },
    );
    const words = wordsOf(command, commands);
    if (words !== '') specs.push(quote(`1:what:(${words})`));
    return `    ${quote(command.name)}) _arguments ${specs.join(' ')} ;;`;
  });
  return `#compdef quittance
# Completion of quittance for zsh. In ~/.zshrc, after compinit:  eval "$(quittance completion zsh)"
_quittance() {
  local -a commands=(
${listed.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
${parts.join('')}  case $command in
${cases.join('\n')}
  esac
}
compdef _quittance quittance
`;
}

function fish(commands: readonly CliCommand[]): string {
  const groups = new Map(groupsOf(commands));
  const lines = commands.flatMap((command) => {
    const [first = '', second] = command.name.split(' ');
    const seen = (word: string): string => `__fish_seen_subcommand_from ${word}`;
    const inside = `-n '${seen(first)}${second === undefined ? '' : `; and ${seen(second)}`}'`;
    const parts = groups.get(first) ?? '';
    const words = wordsOf(command, commands);
    return [
      second === undefined
        ? `complete -c quittance -f -n __fish_use_subcommand -a ${first} -d ${quote(command.summary)}`
        : `complete -c quittance -f -n '${seen(first)}; and not ${seen(parts)}' -a ${second} -d ${quote(command.summary)}`,
      ...(words === '' ? [] : [`complete -c quittance -f ${inside} -a ${quote(words)}`]),
      ...Object.entries(optionsOf(command)).map(([name, { value, help, choices, file }]) => {
        const takes =
          value === undefined
            ? ''
            : file === true
              ? ' -r'
              : ` -x${choices === undefined ? '' : ` -a ${quote(choices.join(' '))}`}`;
        return `complete -c quittance ${inside} -l ${name}${takes} -d ${quote(help)}`;
      }),
    ];
  });
  return `# Completion of quittance for fish:  quittance completion fish > ~/.config/fish/completions/quittance.fish
complete -c quittance -f
${[...groups].map(([group, parts]) => `complete -c quittance -f -n __fish_use_subcommand -a ${group} -d ${quote(parts)}\n`).join('')}${lines.join('\n')}
`;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
