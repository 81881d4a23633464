/**
 * Whether a call stays where a sandbox rule keeps it. A rule constrains kinds of resources: `within` paths,
 * `allows.commands` commands, `allows.domains` hosts. Everything found of a constrained kind must be inside, and a
 * call must name at least one thing of a constrained kind: a rule that can see nothing lets nothing through.
 *
 * | the rule has        | the call names     | outside?                                    |
 * | ------------------- | ------------------ | ------------------------------------------- |
 * | within              | paths              | if one path is                              |
 * | within              | only hosts         | yes: nothing to judge it by                 |
 * | within              | a command          | if it is not plain, or its paths are, or it names none and runs nobody knows where |
 * | commands            | a command          | if it is not plain or its program not listed |
 * | commands            | only paths, hosts  | yes: nothing to judge it by                 |
 * | domains             | hosts              | if one host is                              |
 * | domains             | only paths         | yes: nothing to judge it by                 |
 * | domains             | a command          | if it is not plain, or its hosts are, or it names none |
 * | several of them     | some of each       | if anything of a constrained kind is        |
 * | several of them     | only one kind      | if that is; kinds it does not name are not missed |
 * | any                 | nothing            | yes                                         |
 *
 * A command that is not plain is outside every rule: what it names cannot be read off it. With `chains: judge` a chain
 * of readable commands is judged command by command.
 */
import { compileGlob, type Glob } from '../regex/glob.ts';
import { baseOf, placePath, readBase, type FoundPath } from './found-path.ts';
import { normaliseHost, type FoundHost } from './host-name.ts';
import { mayBeName, mayReach } from './path-pattern.ts';
import { foldParts, readPath } from './path-spelling.ts';
import type { PolicyWorld } from '../language/policy-call.ts';
import type { FoundCommand, Resources } from './resources.ts';
import type { SandboxRule } from '../language/ruleset.ts';
import type { ProgramRun } from './run-programs.ts';

/** True where the call is outside, and the rule fires. */
export type CompiledSandbox = (resources: () => Resources, world: PolicyWorld) => boolean;

export function compileSandbox(rule: SandboxRule): CompiledSandbox {
  const judgePaths = rule.within && compilePaths(rule.within, rule.notWithin);
  const isAllowedCommand = rule.allowedCommands && compileCommands(rule.allowedCommands);
  const isAllowedHost = rule.allowedDomains && compileHosts(rule.allowedDomains, rule.deniedDomains);

  return (resources, world) => {
    const { paths, commands, hosts } = resources();
    if (!commands.every((command) => isReadable(command, rule.chains))) return true;
    let judged = false;
    if (isAllowedCommand !== undefined && commands.length > 0) {
      judged = true;
      if (!commands.every(isAllowedCommand)) return true;
    }
    if (isAllowedHost !== undefined && hosts.length > 0) {
      judged = true;
      if (!hosts.every(isAllowedHost)) return true;
    }
    if (judgePaths !== undefined) {
      const named =
        isAllowedCommand === undefined ? [...paths, ...commands.flatMap(({ program }) => program)] : paths;
      const verdict = judgePaths(named, world);
      if (verdict === 'outside') return true;
      if (verdict === 'inside') judged = true;
    }
    return !judged;
  };
}

/** A chain is readable where the rule judges chains. What a shell is given as a text must be readable like the rest. */
function isReadable({ line, runs }: FoundCommand, chains: SandboxRule['chains']): boolean {
  const judged = chains === 'judge';
  const isReadableRun = ({ inner }: ProgramRun): boolean =>
    inner.every(
      (each) =>
        each.runs !== 'unreadable' &&
        (judged || !each.chained) &&
        (each.runs === 'opaque' || each.runs.every(isReadableRun)),
    );
  return (line.plain || (judged && line.chain !== undefined)) && (runs?.every(isReadableRun) ?? line.plain);
}

/**
 * An entry of several words allows the commands that begin with them. What a command runs in turn needs an entry too,
 * unless the entry of the outer command reaches that far: `npx tsc` allows `npx tsc`, `npx` alone does not.
 */
function compileCommands(allowed: readonly string[]): (command: FoundCommand) => boolean {
  const entries = allowed.map((entry) => entry.split(/\s+/).filter((word) => word !== ''));
  const isAllowed = ({ words, inner }: ProgramRun): boolean =>
    entries.some(
      (entry) =>
        entry.length > 0 &&
        entry.every((word, index) => words[index]?.text === word) &&
        inner.every(
          ({ at, runs }) => at < entry.length || (typeof runs === 'object' && runs.every(isAllowed)),
        ),
    );
  return ({ runs }) => runs !== undefined && runs.length > 0 && runs.every(isAllowed);
}

function compileHosts(allowed: readonly string[], denied: readonly string[]): (host: FoundHost) => boolean {
  const allows = allowed.map(readHostPattern);
  const denies = denied.map(readHostPattern);
  return ({ name, port, carries = [] }) =>
    name !== undefined &&
    ![name, ...carries].some((each) => denies.some(({ glob }) => glob.matches(each))) &&
    allows.some((pattern) => pattern.glob.matches(name) && (pattern.port ?? port) === port);
}

/** As a host is spelled after normalising; a port binds where it allows, and is left out where it denies. */
function readHostPattern(text: string): { readonly glob: Glob; readonly port: string | undefined } {
  const bare =
    text
      .trim()
      .replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
      .split('/', 1)[0] ?? '';
  const port = /^(?:\[.*\]|[^:]*):(\d{1,5})$/.exec(bare)?.[1];
  const name = (port === undefined ? bare : bare.slice(0, -port.length - 1)).replace(/\.+$/, '');
  const isAddress = /^\[[0-9a-f:.]+\]$/i.test(name);
  const hasWildcard = !isAddress && /[*?[]/.test(name);
  // A label alone may be read as a number of an address, so only foreign letters are translated beside a wildcard.
  const spelled = hasWildcard
    ? name
        .toLowerCase()
        .replace(/[^\s.*?[\]]*[\u{80}-\u{10ffff}][^\s.*?[\]]*/gu, (label) => normaliseHost(label) ?? label)
    : (normaliseHost(name) ?? name.toLowerCase());
  // An IPv6 address stands in brackets, which are no set.
  const glob: Glob = isAddress
    ? { pattern: text, exact: spelled, matches: (host) => host === spelled }
    : compileGlob(spelled);
  return { glob, port };
}

type Prefix =
  | { readonly type: 'placed'; readonly spellings: readonly string[]; readonly real: readonly string[] }
  | { readonly type: 'floating'; readonly parts: readonly string[] };

/** What a path says about its call. One that is `unknown` neither fails it nor is enough to let it through. */
type Verdict = 'inside' | 'outside' | 'unknown';

function compilePaths(
  within: readonly string[],
  notWithin: readonly string[],
): (paths: readonly FoundPath[], world: PolicyWorld) => Verdict {
  return (paths, world) => {
    if (paths.length === 0) return 'unknown';
    const allowed = within.flatMap((text) => placePrefix(text, world));
    const denied = notWithin.flatMap((text) => placePrefix(text, world));
    let together: Verdict = 'unknown';
    for (const path of paths) {
      const verdict = judgePath(path, allowed, denied);
      if (verdict === 'outside') return verdict;
      if (verdict === 'inside') together = verdict;
    }
    return together;
  };
}

function judgePath(path: FoundPath, allowed: readonly Prefix[], denied: readonly Prefix[]): Verdict {
  switch (path.type) {
    case 'unreadable':
      return 'outside';
    case 'floating':
      return judgeFloating(path.parts, path.guessed, allowed, denied);
    case 'pattern':
      return judgePattern(path, allowed, denied);
    case 'placed': {
      if (denied.some((prefix) => covers(prefix, path.path, 'denied'))) return 'outside';
      const isInside = path
        .real()
        ?.every(
          (place) =>
            !denied.some((prefix) => covers(prefix, place, 'denied')) &&
            allowed.some((prefix) => covers(prefix, place, 'allowed')),
        );
      return isInside === true ? 'inside' : 'outside';
    }
  }
}

function placePrefix(text: string, world: PolicyWorld): readonly Prefix[] {
  const prefixes: Prefix[] = [];
  for (const spelling of readPath(text) ?? []) {
    const start =
      spelling.root === undefined ? readBase(world.workingDirectory ?? '') : baseOf(spelling, world);
    if (start !== undefined) {
      const { path, real } = placePath(start, spelling.parts, world);
      prefixes.push({ type: 'placed', spellings: [path], real: real() ?? [] });
    } else if (spelling.root === undefined)
      prefixes.push({ type: 'floating', parts: foldParts(spelling.parts) });
  }
  return prefixes;
}

/** Inside where its folder is, where it cannot match what is denied, and where every link it matches leads inside. */
function judgePattern(
  { folder, parts, links }: Extract<FoundPath, { readonly type: 'pattern' }>,
  allowed: readonly Prefix[],
  denied: readonly Prefix[],
): Verdict {
  if (judgePath(folder, allowed, denied) !== 'inside') return 'outside';
  const folders = [folder.path, ...(folder.real() ?? [])].map(splitPath);
  const reaches = denied
    .flatMap(placesOf)
    .some((place) => folders.some((at) => mayReach([...at, ...parts], splitPath(place))));
  if (reaches) return 'outside';
  const isInside = links()?.every((link) => judgePath(link, allowed, denied) === 'inside');
  return isInside === true ? 'inside' : 'outside';
}

const splitPath = (path: string): readonly string[] => path.split('/').filter((part) => part !== '');

/** Denying, a prefix holds in every spelling; allowing, only where it really leads. */
function covers(prefix: Prefix, path: string, list: 'allowed' | 'denied'): boolean {
  if (prefix.type === 'floating') return false;
  if (list === 'allowed') return prefix.real.some((real) => isBelow(real, path));
  const parts = splitPath(path);
  return placesOf(prefix).some((place) => startsWithNames(parts, splitPath(place)));
}

const placesOf = (prefix: Prefix): readonly string[] =>
  prefix.type === 'floating' ? [] : [...prefix.spellings, ...prefix.real];

const startsWithNames = (parts: readonly string[], names: readonly string[]): boolean =>
  names.every((name, index) => {
    const part = parts[index];
    return part !== undefined && mayBeName(part, name);
  });

const isBelow = (prefix: string, path: string): boolean =>
  path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);

/**
 * Relative to a directory nobody declared. A path by name must be covered by a prefix that is relative like itself; a
 * guessed one stays below a directory the call cannot choose, and is only outside if it leads from an allowed
 * directory into a denied one.
 */
function judgeFloating(
  parts: readonly string[],
  guessed: boolean,
  allowed: readonly Prefix[],
  denied: readonly Prefix[],
): Verdict {
  const isCovered = (prefix: Prefix): boolean =>
    prefix.type === 'floating' && prefix.parts.every((part, index) => parts[index] === part);
  if (denied.some((prefix) => prefix.type === 'floating' && mayReach(parts, prefix.parts))) return 'outside';
  const leadsToDenied = allowed.some(
    (start) =>
      start.type === 'placed' &&
      [...start.spellings, ...start.real].some((directory) =>
        denied
          .flatMap(placesOf)
          .some((place) => mayReach([...splitPath(directory), ...parts], splitPath(place))),
      ),
  );
  if (leadsToDenied) return 'outside';
  if (allowed.some(isCovered)) return 'inside';
  return guessed ? 'unknown' : 'outside';
}
