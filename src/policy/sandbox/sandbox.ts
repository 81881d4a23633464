/**
 * Decides whether a call stays inside a sandbox rule. A rule constrains kinds of resources: `within` paths,
 * `allows.commands` commands, `allows.domains` hosts. Every resource of a constrained kind must be inside. A call must
 * name at least one resource of a constrained kind: a rule that sees none allows nothing.
 *
 * A rule with `within`:
 * - paths: outside if one of them is;
 * - only hosts: outside, because the rule cannot judge them;
 * - a command: outside if it is not plain or one of its paths is outside. Also outside if it names no path and its
 *   working directory is unknown.
 *
 * A rule with `commands`:
 * - a command: outside if it is not plain or its program is not listed;
 * - only paths or hosts: outside, because the rule cannot judge them.
 *
 * A rule with `domains`:
 * - hosts: outside if one of them is;
 * - only paths: outside, because the rule cannot judge them;
 * - a command: outside if it is not plain, if one of its hosts is, or if it names no host.
 *
 * A rule with several of these:
 * - resources of several kinds: outside if any resource of a constrained kind is;
 * - resources of one kind: outside if one of them is. The call need not name the other kinds.
 *
 * A call that names nothing is outside every rule. So is a command that is not plain: its text does not show what it
 * names. With `chains: judge` a chain of readable commands is judged command by command.
 */
import { compileGlob, type Glob } from '../regex/glob.ts';
import { normalizeHost, type FoundHost } from './host-name.ts';
import type { PolicyWorld } from '../language/policy-call.ts';
import type { FoundCommand, FoundResources } from './found-resources.ts';
import type { SandboxRule } from '../language/ruleset.ts';
import type { ProgramRun } from './run-programs.ts';
import { compilePaths } from './compile-paths.ts';

/** True if the call is outside, and the rule fires. */
export type CompiledSandbox = (resources: () => FoundResources, world: PolicyWorld) => boolean;

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

/** A chain is readable if the rule judges chains. A shell text inside a command must be readable too. */
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
 * An entry of several words allows the commands that start with them. The programs that a command runs need an entry
 * too, unless the entry of the outer command covers them. `npx tsc` allows `npx tsc`, `npx` alone does not.
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
