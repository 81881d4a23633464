/**
 * Finds what a simple command does with the files and folders it names, according to its program. A program that is
 * not listed here may do anything.
 */

/**
 * - `lists`: shows names and metadata, never contents;
 * - `reads`: shows or compares contents;
 * - `changes`: removes, moves, overwrites or changes permissions;
 * - `unknown`: nothing is known.
 */
export type FileUse = 'lists' | 'reads' | 'changes' | 'unknown';

export type CommandUse = {
  readonly use: FileUse;
  /** Acts on its working directory although it names none. */
  readonly actsOnWorkingDirectory: boolean;
  /** Runs this package's command line for more than help and contract checks. */
  readonly runsQuittance: boolean;
};

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const listers = words(
  'ls dir vdir stat pwd cd chdir pushd popd test [ basename dirname realpath readlink tree du df which type echo printf ' +
    'exa eza true false export set find fd',
);
const readers = words(
  'cat head tail less more grep egrep fgrep zgrep rg ag ack wc diff cmp comm md5sum sha1sum sha256sum sha512sum cksum ' +
    'b2sum od xxd hexdump strings jq cut sort uniq nl tac rev fold column file base64 zcat bat sed awk gawk mawk view',
);
const changers = words(
  'rm rmdir unlink shred truncate mv chmod chown chgrp setfacl chattr tee dd install ln mount umount wipe srm trash ' +
    'trash-put del erase rd deltree remove-item move-item ren rename',
);
/** Programs that run the command in their arguments. */
const wrappers = words(
  'sudo doas env xargs timeout nice nohup time stdbuf setsid ionice chroot unshare parallel watch busybox sh bash zsh dash ' +
    'ksh fish ssh flock exec command builtin eval strace docker podman kubectl npx bunx pnpx pnpm yarn npm bun node ' +
    'tsx deno corepack',
);
/** Programs that search their working directory unless given another. */
const searchers = words('rg ag ack');
const harmlessSubcommands = words('contracts help completion init --help -h --version -v');

const gitUse: Readonly<Record<string, FileUse>> = {
  status: 'lists',
  log: 'lists',
  diff: 'lists',
  show: 'lists',
  branch: 'lists',
  'rev-parse': 'lists',
  'ls-files': 'lists',
  blame: 'lists',
  commit: 'lists',
  tag: 'lists',
  remote: 'lists',
  fetch: 'lists',
  describe: 'lists',
  add: 'reads',
  rm: 'changes',
  mv: 'changes',
};

export function readCommandUse(given: readonly string[]): CommandUse {
  const all = given.slice(given.findIndex((word) => !/^\w+=/.test(word)));
  const program = baseName(all[0] ?? '');
  const rest = all.slice(1);
  const quittance = quittanceUse(all);
  const runsQuittance = quittance === 'controls';
  const as = (use: FileUse, actsOnWorkingDirectory = false): CommandUse => ({
    use,
    actsOnWorkingDirectory,
    runsQuittance,
  });
  if (quittance === 'harmless') return as('reads');
  if (program === 'git') return { ...useOfGit(rest), runsQuittance };
  if (changers.has(program)) return as('changes');
  if (wrappers.has(program))
    return as(rest.some((word) => changers.has(baseName(word))) ? 'changes' : 'unknown');
  if (program === 'find' || program === 'fd') return as(useOfFind(rest), true);
  const plain = rest.filter((word) => !word.startsWith('-'));
  if (searchers.has(program)) return as('reads', plain.length <= 1);
  if (
    /^[ef]?grep$/.test(program) &&
    rest.some((word) => /^-[a-z]*r|^--(?:dereference-)?recursive$/i.test(word))
  )
    return as('reads', plain.length <= 1);
  if ((program === 'sed' || program.endsWith('awk')) && mayWrite(rest)) return as('unknown');
  if (program === 'sort' && rest.some((word) => /^(?:-[a-z]*o|--output)/.test(word))) return as('changes');
  return as(listers.has(program) ? 'lists' : readers.has(program) ? 'reads' : 'unknown');
}

const baseName = (word: string): string =>
  (word.split(/[/\\]/).at(-1) ?? '').toLowerCase().replace(/\.(?:exe|cmd|bat)$/, '');

function useOfFind(rest: readonly string[]): FileUse {
  if (rest.some((word) => /^(?:-delete|-f(?:print|ls))/.test(word))) return 'changes';
  if (!rest.some((word) => /^(?:-exec(?:dir)?|-ok(?:dir)?|-x|-X|--exec(?:-batch)?)$/.test(word)))
    return 'lists';
  return rest.some((word) => changers.has(baseName(word))) ? 'changes' : 'unknown';
}

/** Writes in place, into a file named by the script, or by means of another program. */
const mayWrite = (rest: readonly string[]): boolean =>
  rest.some((word) => /^-[a-z]*i|^--in-place|>|\bsystem\b|(?:^|[;\d/$}\s])[wW]\s|inplace|\|/.test(word));

function useOfGit(rest: readonly string[]): Omit<CommandUse, 'runsQuittance'> {
  let at = 0;
  let configured = false;
  for (; rest[at]?.startsWith('-') === true; at++) {
    if (rest[at]?.startsWith('-c') === true || /^--(?:config-env|exec-path)/.test(rest[at] ?? ''))
      configured = true;
    if (/^(?:-C|-c|--git-dir|--work-tree|--namespace)$/.test(rest[at] ?? '')) at++;
  }
  const subcommand = rest[at] ?? '';
  const options = rest.slice(at + 1);
  const has = (pattern: RegExp): boolean => options.some((word) => pattern.test(word));
  if (configured) return { use: 'unknown', actsOnWorkingDirectory: true };
  if (subcommand === 'clean')
    return { use: has(/^-[a-z]*x/i) ? 'changes' : 'unknown', actsOnWorkingDirectory: true };
  if (subcommand === 'add') return { use: 'reads', actsOnWorkingDirectory: has(/^(?:-[a-z]*A|--all)/) };
  if (subcommand === 'stash')
    return { use: 'unknown', actsOnWorkingDirectory: has(/^(?:-[a-z]*[ua]|--include-untracked|--all)/) };
  return {
    use: Object.hasOwn(gitUse, subcommand) ? (gitUse[subcommand] ?? 'unknown') : 'unknown',
    actsOnWorkingDirectory: false,
  };
}

/** `quittance approve`, `npx quittance tokens create`, `npm exec -- quittance …`. */
function quittanceUse(all: readonly string[]): 'none' | 'harmless' | 'controls' {
  const startsOther = wrappers.has(baseName(all[0] ?? ''));
  for (const [index, word] of all.entries()) {
    const name = baseName(word).replace(/@[\w.^~-]*$/, '');
    if (name === 'quittance')
      return harmlessSubcommands.has(all[index + 1] ?? 'help') ? 'harmless' : 'controls';
    if (!startsOther) return 'none';
  }
  return 'none';
}
