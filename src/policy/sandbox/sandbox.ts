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
import { compilePaths } from './compile-paths.ts';
import { isInterpreter, isLauncher } from './programs.ts';

/** True if the call is outside, and the rule fires. */
export type CompiledSandbox = (resources: () => FoundResources, world: PolicyWorld) => boolean;

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
