/**
 * Decides whether a call stays inside a sandbox rule. A rule constrains kinds of resources: `within` paths,
 * `allows.commands` commands, `allows.domains` hosts. Every resource of a constrained kind must be inside. A call must
 * name at least one resource of a constrained kind: a rule that sees none allows nothing.
 *
 * A command is understood if it is readable (base/command-text.ts) and an entry of the rule allows each program in it.
 * Under a rule without entries, each program must be plain (programs.ts). A command that is not understood is outside:
 * its text does not show what it names.
 *
 * A rule with `within`:
 * - paths: outside if one of them is;
 * - only hosts: outside, because the rule cannot judge them;
 * - a command: outside if it is not understood or one of its paths is outside. Also outside if it names no path and its
 *   working directory is unknown.
 *
 * A rule with `commands`:
 * - a command: outside if it is not understood;
 * - only paths or hosts: outside, because the rule cannot judge them.
 *
 * A rule with `domains`:
 * - hosts: outside if one of them is;
 * - only paths: outside, because the rule cannot judge them;
 * - a command: outside if it is not understood, if one of its hosts is, or if it names no host.
 *
 * A rule with several of these:
 * - resources of several kinds: outside if any resource of a constrained kind is;
 * - resources of one kind: outside if one of them is. The call need not name the other kinds.
 *
 * A call that names nothing is outside every rule. With `chains: judge` the commands of a chain are judged one by one.
 */
import { compileGlob, type Glob } from '../regex/glob.ts';
import { normalizeHost, type FoundHost } from './host-name.ts';
import type { PolicyWorld } from '../language/policy-call.ts';
import type { CommandRun, FoundCommand, FoundResources } from './found-resources.ts';
import type { SandboxRule } from '../language/ruleset.ts';
import { isInterpreter, isLauncher } from './programs.ts';
import { baseOf, placePath, readBase, type FoundPath } from './found-path.ts';
import { mayBeName, mayReach } from './path-pattern.ts';
import { foldParts, readPath } from './path-spelling.ts';

/** True if the call is outside, and the rule fires. */
type CompiledSandbox = (resources: () => FoundResources, world: PolicyWorld) => boolean;

export function compileSandbox(rule: SandboxRule): CompiledSandbox {
  const judgePaths = rule.within && compilePaths(rule.within, rule.notWithin);
  const isUnderstood = compileCommands(rule);
  const isAllowedHost = rule.allowedDomains && compileHosts(rule.allowedDomains, rule.deniedDomains);

  return (resources, world) => {
    const { paths, commands, hosts } = resources();
    if (!commands.every(isUnderstood)) return true;
    let judged = rule.allowedCommands !== undefined && commands.length > 0;
    if (isAllowedHost !== undefined && hosts.length > 0) {
      judged = true;
      if (!hosts.every(isAllowedHost)) return true;
    }
    if (judgePaths !== undefined) {
      const programs = commands.flatMap(({ runs }) => runs.flatMap(({ program }) => program));
      const named = rule.allowedCommands === undefined ? [...paths, ...programs] : paths;
      const verdict = judgePaths(named, world);
      if (verdict === 'outside') return true;
      if (verdict === 'inside') judged = true;
    }
    return !judged;
  };
}

function compileCommands({ allowedCommands, chains }: SandboxRule): (command: FoundCommand) => boolean {
  const entries = allowedCommands?.map(compileEntry);
  const isAllowed = (run: CommandRun): boolean =>
    entries === undefined ? run.plain !== undefined : entries.some((allows) => allows(run));
  return ({ readable, chained, runs }) =>
    readable &&
    (!chained || chains === 'judge') &&
    runs.length > 0 &&
    runs.every(isAllowed) &&
    // Later commands may follow a link that an earlier one makes, and that does not exist yet.
    !runs.slice(0, -1).some(makesLinks);
}

const makesLinks = ({ words: [program = '', command] }: CommandRun): boolean =>
  /^(?:ln|cp|mv)$/.test(program) || (program === 'git' && command === 'switch');

/**
 * `git status` allows that command with further plain arguments. If the command is opaque, it allows exactly these
 * words. `kubectl get *` allows any further words, unless the program is a launcher. An interpreter alone is never
 * allowed.
 */
function compileEntry(entry: string): (run: Pick<CommandRun, 'words' | 'plain'>) => boolean {
  const all = entry.split(/\s+/).filter((word) => word !== '');
  const program = all[0] ?? '';
  const takesAny = all.length > 1 && all.at(-1) === '*' && !isLauncher(program);
  const words = takesAny ? all.slice(0, -1) : all;
  if (words.length === 1 && isInterpreter(program)) return () => false;
  return (run) =>
    words.length > 0 &&
    words.every((word, index) => run.words[index] === word) &&
    (takesAny || run.plain !== undefined || run.words.length === words.length);
}

export function compileHosts(
  allowed: readonly string[],
  denied: readonly string[],
): (host: FoundHost) => boolean {
  const allows = allowed.map(readHostPattern);
  const denies = denied.map(readHostPattern);
  return ({ name, port, carries = [] }) =>
    name !== undefined &&
    ![name, ...carries].some((each) => denies.some(({ glob }) => glob.matches(each))) &&
    allows.some((pattern) => pattern.glob.matches(name) && (pattern.port ?? port) === port);
}

/** Compared with normalized hosts. A port counts in an allow list and is ignored in a deny list. */
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
  // A lone label may be read as part of an address, so next to a wildcard only foreign letters are translated.
  const spelled = hasWildcard
    ? name
        .toLowerCase()
        .replace(/[^\s.*?[\]]*[\u{80}-\u{10ffff}][^\s.*?[\]]*/gu, (label) => normalizeHost(label) ?? label)
    : (normalizeHost(name) ?? name.toLowerCase());
  // The brackets of an IPv6 address are not a set.
  const glob: Glob = isAddress
    ? { pattern: text, exact: spelled, matches: (host) => host === spelled }
    : compileGlob(spelled);
  return { glob, port };
}

/** Decides whether a path is inside the prefixes of a sandbox rule. */

type Prefix =
  | { readonly type: 'placed'; readonly spellings: readonly string[]; readonly real: readonly string[] }
  | { readonly type: 'floating'; readonly parts: readonly string[] };

/** The verdict on one path. An `unknown` path neither fails the call nor is enough to allow it. */
type Verdict = 'inside' | 'outside' | 'unknown';

export function compilePaths(
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

/** Inside if its folder is and if it cannot match a denied place. */
function judgePattern(
  { folder, parts }: Extract<FoundPath, { readonly type: 'pattern' }>,
  allowed: readonly Prefix[],
  denied: readonly Prefix[],
): Verdict {
  if (judgePath(folder, allowed, denied) !== 'inside') return 'outside';
  const folders = [folder.path, ...(folder.real() ?? [])].map(splitPath);
  const reaches = denied
    .flatMap(placesOf)
    .some((place) => folders.some((at) => mayReach([...at, ...parts], splitPath(place))));
  return reaches ? 'outside' : 'inside';
}

const splitPath = (path: string): readonly string[] => path.split('/').filter((part) => part !== '');

/** A denied prefix matches in every spelling; an allowed one only at its real location. */
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
 * Relative to an undeclared directory. A named path must be covered by a relative prefix. A guessed path stays below
 * a directory that the call cannot choose. It is outside only if it leads from an allowed directory into a denied
 * one.
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
