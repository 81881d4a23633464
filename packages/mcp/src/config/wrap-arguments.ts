/**
 * The arguments of `quittance mcp wrap`, which stands in a client's configuration in place of a server. They name
 * everything about the server but its secrets: those stay in the environment that the client gives the process.
 */
export type WrapArguments = {
  readonly name: string;
  readonly ledger?: string;
  /** File with Quittance's own settings. */
  readonly settings?: string;
  readonly trusted: boolean;
  readonly observe: boolean;
  readonly target: WrapTarget;
};

export type WrapTarget =
  | {
      readonly type: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      /** Names of the variables that the server gets. */
      readonly env: readonly string[];
      readonly envFile?: string;
    }
  | {
      readonly type: 'http' | 'sse';
      /** The URL itself, or the variable that holds one with a secret. */
      readonly url: { readonly text: string } | { readonly variable: string };
      /** Header names, with the variables that hold their values. */
      readonly headers: readonly (readonly [header: string, variable: string])[];
      readonly bearerVariable?: string;
    };

/** Options with a value, as the command line knows them. */
export type WrapOptions = {
  readonly text: (option: string) => string | undefined;
  readonly list: (option: string) => readonly string[];
  readonly has: (option: string) => boolean;
};

export function toWrapWords({ name, ledger, settings, trusted, observe, target }: WrapArguments): string[] {
  const words = ['mcp', 'wrap', '--name', name];
  if (ledger !== undefined) words.push('--ledger', ledger);
  if (settings !== undefined) words.push('--settings', settings);
  if (trusted) words.push('--trusted');
  if (observe) words.push('--observe');
  if (target.type === 'stdio') {
    for (const variable of target.env) words.push('--env', variable);
    if (target.envFile !== undefined) words.push('--env-file', target.envFile);
    return [...words, '--', target.command, ...target.args];
  }
  if (target.type === 'sse') words.push('--sse');
  if ('text' in target.url) words.push('--url', target.url.text);
  else words.push('--url-env', target.url.variable);
  for (const [header, variable] of target.headers) words.push('--header-env', `${header}=${variable}`);
  if (target.bearerVariable !== undefined) words.push('--bearer-env', target.bearerVariable);
  return words;
}

/** Reads options and words after `--`; undefined unless they name one server. */
export function readWrapOptions(options: WrapOptions, command: readonly string[]): WrapArguments | undefined {
  const target = readTarget(options, command);
  if (target === undefined) return undefined;
  const [ledger, settings] = [options.text('ledger'), options.text('settings')];
  return {
    name: options.text('name') ?? 'server',
    ...(ledger !== undefined && { ledger }),
    ...(settings !== undefined && { settings }),
    trusted: options.has('trusted'),
    observe: options.has('observe'),
    target,
  };
}

function readTarget(options: WrapOptions, [command, ...args]: readonly string[]): WrapTarget | undefined {
  const [url, variable] = [options.text('url'), options.text('url-env')];
  const given = [url, variable, command].filter((each) => each !== undefined);
  if (given.length !== 1) return undefined;
  if (command !== undefined) {
    const envFile = options.text('env-file');
    return {
      type: 'stdio',
      command,
      args,
      env: options.list('env'),
      ...(envFile !== undefined && { envFile }),
    };
  }
  const headers = options.list('header-env').map((pair) => pair.split(/=(.*)/s, 2));
  if (headers.some(([header, name]) => !header || !name)) return undefined;
  const bearerVariable = options.text('bearer-env');
  return {
    type: options.has('sse') ? 'sse' : 'http',
    url: url !== undefined ? { text: url } : { variable: variable ?? '' },
    headers: headers.map(([header = '', name = '']) => [header, name] as const),
    ...(bearerVariable !== undefined && { bearerVariable }),
  };
}

const switches = new Set(['--trusted', '--observe', '--sse', '--open']);

/** Reads what `toWrapWords` wrote, after the words that start this program. Undefined for other words. */
export function readWrapWords(words: readonly unknown[]): WrapArguments | undefined {
  const at = words.findIndex((word, index) => word === 'mcp' && words[index + 1] === 'wrap');
  if (at === -1 || !words.every((word) => typeof word === 'string')) return undefined;
  const found = new Map<string, string[]>();
  let index = at + 2;
  for (; index < words.length && words[index] !== '--'; index++) {
    const word = words[index] ?? '';
    if (!word.startsWith('--')) return undefined;
    const name = word.slice(2);
    found.set(name, [...(found.get(name) ?? []), switches.has(word) ? '' : (words[++index] ?? '')]);
  }
  return readWrapOptions(
    {
      text: (option) => found.get(option)?.at(-1),
      list: (option) => found.get(option) ?? [],
      has: (option) => found.has(option),
    },
    words.slice(index + 1),
  );
}
