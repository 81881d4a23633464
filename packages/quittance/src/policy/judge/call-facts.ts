import type { FoundTexts, FoundKind } from '../language/found-kinds.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import type { FoundResources, CommandRun } from '../sandbox/found-resources.ts';
import { findResources } from '../sandbox/resources.ts';
import type { SessionCounters } from '../language/session-metric.ts';
import type { JsonValue } from '../../base/json.ts';
import { argumentRoleOf, type ArgumentRole } from '../sandbox/argument-role.ts';
import type { FoundPath } from '../sandbox/found-path.ts';
import { decodePercent } from '../sandbox/percent-decoding.ts';
import { readCommandText } from '../../base/command-text.ts';

/**
 * The facts that rules judge: the call, the session's counters, and the resources the call names, found on first use.
 */
export class CallFacts {
  readonly call: PolicyCall;
  readonly counters: SessionCounters | undefined;
  readonly #world: PolicyWorld;
  #looking: PolicyWorld | undefined;
  #found: FoundResources | undefined;
  #texts: FoundTexts | undefined;

  constructor(call: PolicyCall, counters: SessionCounters | undefined, world: PolicyWorld) {
    this.call = call;
    this.counters = counters;
    this.#world = world;
  }

  resources(): FoundResources {
    return (this.#found ??= findResources(this.call, this.world()));
  }

  /** The resources as texts, for conditions. */
  texts(): FoundTexts {
    return (this.#texts ??= toFoundTexts(this.call, this.resources(), this.world()));
  }

  /** A real path is looked up once for all rules of a call, and never kept for another call. */
  world(): PolicyWorld {
    return (this.#looking ??= rememberPaths(this.#world));
  }
}

function rememberPaths(world: PolicyWorld): PolicyWorld {
  const known = new Map<string, string>();
  return {
    ...world,
    realPath: (path) => {
      const before = known.get(path);
      if (before !== undefined) return before;
      const real = world.realPath(path);
      known.set(path, real);
      return real;
    },
  };
}

/**
 * The resources that a call names, as texts for conditions: `found.paths`, `found.names`, `found.hosts`,
 * `found.commands`, `found.urls`. They are found in all arguments, at every depth, as for sandbox rules. A condition
 * holds if it holds for one of them.
 */

/** No system accepts a longer name, including escapes. */
const longestName = 4096;
/** JSON inside texts is read up to this depth. */
const deepestText = 3;
const mostRounds = 6;
/** The words of longer commands are not combined. */
const mostWords = 64;

export function toFoundTexts(
  call: PolicyCall,
  { paths, commands, hosts }: FoundResources,
  world: Pick<PolicyWorld, 'workingDirectory' | 'realPath'>,
): FoundTexts {
  const { workingDirectory: folder } = world;
  const folders =
    folder === undefined ? [] : [folder, world.realPath(folder)].map((one) => one.replace(/\/+$/, ''));
  const names = new Set<string>();
  const urls = new Set<string>();
  readStrings(call.input, (text, role) => {
    if (
      text.length <= longestName &&
      !/^(?:prose|words|command)$/.test(role) &&
      text !== '' &&
      !/\s/.test(text)
    )
      for (const spelling of decodings(text)) names.add(spelling);
    if (role === 'url') urls.add(text.trim());
    if (role !== 'prose' || !/\s/.test(text))
      for (const [url] of text.matchAll(/[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]+/gi)) urls.add(url);
  });
  return {
    paths: [...new Set(paths.flatMap(pathTexts).map((path) => relate(path, folders)))],
    names: [...names],
    hosts: [
      ...new Set(hosts.flatMap(({ name, carries = [] }) => (name === undefined ? [] : [name, ...carries]))),
    ],
    commands: [...new Set(commands.flatMap(({ runs }) => runs.flatMap((run) => runTexts(run))))],
    urls: [...urls],
    incomplete: findIncomplete(commands, hosts),
  };
}

/**
 * A command that cannot be read may run any program, on any file, and connect to any host. A text that only looks like
 * a command may be prose, and an unknown scheme may have no host: these do not count.
 */
function findIncomplete(
  commands: FoundResources['commands'],
  hosts: FoundResources['hosts'],
): ReadonlySet<FoundKind> {
  // A text inside of an opaque command may be one too: `bash -c "rm $X"`.
  const hidesText = ({ words, plain }: CommandRun): boolean =>
    plain === undefined &&
    words.some((word) => /[\s;|&<>()`$]/.test(word) && !readCommandText(word).readable);
  if (commands.some(({ guessed, readable, runs }) => !guessed && (!readable || runs.some(hidesText))))
    return new Set<FoundKind>(['commands', 'paths', 'hosts']);
  const hasUnclearHost = hosts.some(
    ({ name, unknownScheme }) => name === undefined && unknownScheme !== true,
  );
  return new Set<FoundKind>(hasUnclearHost ? ['hosts'] : []);
}

/** The text itself, and its forms after repeated decoding of escapes and normalizing of letters. */
function decodings(text: string): readonly string[] {
  const found = [text];
  for (let round = 0; round < mostRounds; round++) {
    const last = found.at(-1) ?? '';
    const next = decodePercent(last).normalize('NFKC');
    if (next === last) break;
    found.push(next);
  }
  return found;
}

type Item = { readonly value: JsonValue; readonly role: ArgumentRole; readonly textDepth: number };

/** Every text of the arguments with its role. Keys count as texts, and JSON in a text is read. */
function readStrings(input: JsonValue, visit: (text: string, role: ArgumentRole) => void): void {
  const rest: Item[] = [{ value: input, role: 'other', textDepth: 0 }];
  for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
    const { value, role, textDepth } = item;
    if (typeof value === 'string') {
      visit(value, role);
      const parsed = textDepth < deepestText && role !== 'prose' ? parseText(value) : undefined;
      if (parsed !== undefined) rest.push({ value: parsed, role, textDepth: textDepth + 1 });
    } else if (Array.isArray(value))
      for (const inner of value as readonly JsonValue[]) rest.push({ ...item, value: inner });
    else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) {
        visit(key, 'other');
        const own = argumentRoleOf(key);
        rest.push({ value: inner, role: own === 'other' ? role : own, textDepth });
      }
  }
}

function parseText(text: string): JsonValue | undefined {
  if (!/^\s*[{["]/.test(text)) return undefined;
  try {
    // JSON.parse returns a JSON value.
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Paths below the working directory become `./…`: the names of the folders above say nothing about the call. */
function relate(path: string, folders: readonly string[]): string {
  const folder = folders.find((each) => each !== '' && (path === each || path.startsWith(`${each}/`)));
  return folder === undefined ? path : `.${path.slice(folder.length)}`;
}

function pathTexts(path: FoundPath): readonly string[] {
  switch (path.type) {
    case 'placed':
      return [path.path, ...(path.real() ?? [])];
    case 'pattern':
      return [`${path.folder.path.replace(/\/$/, '')}/${path.parts.join('/')}`];
    case 'floating':
      return [path.parts.join('/')];
    case 'unreadable':
      return [];
  }
}

/**
 * A command as text, with the program's folder removed. An opaque command may run what any of its words says. So the
 * text from each word on counts too, and the commands inside of a word.
 */
function runTexts({ words, plain }: Pick<CommandRun, 'words' | 'plain'>, depth = 0): readonly string[] {
  const from = (start: number): string => {
    const [first = '', ...rest] = words.slice(start);
    return [first.slice(first.lastIndexOf('/') + 1), ...rest].join(' ');
  };
  if (plain !== undefined || depth > 2 || words.length > mostWords) return [from(0)];
  return words.flatMap((word, index) => [
    from(index),
    ...(/[\s;|&]/.test(word) && index > 0
      ? readCommandText(word).commands.flatMap((inner) =>
          runTexts({ words: inner.words.map(({ text }) => text), plain: undefined }, depth + 1),
        )
      : []),
  ]);
}
