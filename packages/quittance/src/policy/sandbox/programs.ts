/**
 * Plain programs: their arguments are paths, words or hosts. Nothing in these arguments runs another program, loads code
 * or takes file names from a file. This table is all that rules know about programs.
 *
 * A command is plain if its program is here and each of its options is one that the row allows. Every other command is
 * opaque: interpreters, launchers, package runners, build tools, unknown programs, and plain programs with an option
 * that the row does not list. Its words do not show what it does, so a rule must name all of them.
 */

/**
 * What a command does with the files and folders it names:
 *
 * - `lists`: shows names and metadata, never contents;
 * - `reads`: shows or compares contents;
 * - `writes`: may write files;
 * - `changes`: also removes, moves or alters folders with everything in them.
 */
export type FileUse = 'lists' | 'reads' | 'writes' | 'changes';

export type PlainCommand = {
  readonly use: FileUse;
  /** The words that may name a path or a host. */
  readonly words: readonly string[];
  /** Words that the program connects to, whatever they look like: `curl intranet`. */
  readonly hosts: readonly string[];
  /** It searches or changes its working directory although it names none. */
  readonly actsHere: boolean;
};

type Row = {
  readonly use: FileUse | ((options: readonly string[], operands: readonly string[]) => FileUse);
  /** The options it may have. Absent: any. */
  readonly options?: RegExp;
  /** Options whose value names nothing: a pattern, a message, a number. Without `=` the value is the next word. */
  readonly dataOptions?: RegExp;
  /** Options whose next word may name a file, but is not an operand. */
  readonly valueOptions?: RegExp;
  /** Operands that name nothing. `first`: unless one of `patternOptions` is given. */
  readonly data?: 'all' | 'first';
  readonly patternOptions?: RegExp;
  /** The operands are hosts. `remote`: the first one is a name for a host that only git knows. */
  readonly hosts?: true | 'remote';
  /** Does it act on its working directory? */
  readonly actsHere?: (options: readonly string[], operands: readonly string[]) => boolean;
  /** A further condition. Without it the command is opaque. */
  readonly accepts?: (options: readonly string[], operands: readonly string[]) => boolean;
  /** `--` does not end its options. */
  readonly noEnd?: true;
  /** The first word must be one of these. Options before it are never plain. */
  readonly commands?: Readonly<Record<string, Row>>;
};

/** The plain reading of a command's words, program first. Undefined if the command is opaque. */
export function readPlain(words: readonly string[]): PlainCommand | undefined {
  const [program = '', ...rest] = words;
  return Object.hasOwn(programs, program) ? readRow(programs[program] as Row, rest) : undefined;
}

function readRow(row: Row, words: readonly string[]): PlainCommand | undefined {
  if (row.commands !== undefined) {
    const [command = '', ...rest] = words;
    return Object.hasOwn(row.commands, command) ? readRow(row.commands[command] as Row, rest) : undefined;
  }
  const options: string[] = [];
  const operands: string[] = [];
  const named: string[] = [];
  let next: 'any' | 'data' | 'value' = 'any';
  let optionsOver = false;
  for (const word of words) {
    const role = next;
    next = 'any';
    if (role === 'value') named.push(word);
    else if (role === 'data') continue;
    else if (word === '--' && !optionsOver && row.noEnd !== true) optionsOver = true;
    else if (!optionsOver && /^[-+]./.test(word)) {
      if (row.options !== undefined && !row.options.test(word)) return undefined;
      options.push(word);
      const isDash = word.startsWith('-');
      if (isDash && row.dataOptions?.test(word) === true) next = word.includes('=') ? 'any' : 'data';
      else if (isDash && row.valueOptions?.test(word) === true) next = 'value';
      else if (row.data !== 'all') named.push(word);
    } else operands.push(word);
  }
  const hasPattern = options.some((option) => row.patternOptions?.test(option) === true);
  const skipped = row.data === 'all' ? operands.length : row.data === 'first' && !hasPattern ? 1 : 0;
  // Without an operand, programs that connect take hosts from their input.
  if (row.hosts === true && operands.length === 0) return undefined;
  if (row.accepts?.(options, operands) === false) return undefined;
  return {
    use: typeof row.use === 'function' ? row.use(options, operands) : row.use,
    words: [...named, ...operands.slice(skipped)],
    hosts: row.hosts === 'remote' ? [operands[0] ?? 'unknown.invalid'] : row.hosts === true ? operands : [],
    actsHere: row.actsHere?.(options, operands) === true,
  };
}

const split = (names: string): readonly string[] => names.split(' ');

const rows = (names: string, row: Row): Readonly<Record<string, Row>> =>
  Object.fromEntries(split(names).map((name) => [name, row]));

const options = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`, 's');

/** `s/a/b/g`, `10p`, `1,80p`, `/x/p`: exactly this, so that every sed reads it alike. */
const isPlainSed = (script: string): boolean => {
  const address = String.raw`(?:\d+|\$|/[^/\\[\]]*/)`;
  return (
    new RegExp(`^(?:${address}(?:,${address})?)?p$`).test(script) ||
    /^s([/|#,])(?:(?!\1)[^\\[\]])*\1(?:(?!\1)[^\\])*\1[gpI\d]*$/.test(script)
  );
};

const searchesHere = (given: readonly string[], operands: readonly string[]): boolean =>
  given.some((option) => /^-[a-z]*r|^--recursive$/i.test(option)) &&
  (operands.length <= 1 || given.some((option) => /^-[a-zA-Z]*e|^--regexp/.test(option)));

const takesNothing = (_: readonly string[], operands: readonly string[]): boolean => operands.length === 0;

const grep: Row = {
  use: 'reads',
  // `-f` takes patterns from a file.
  options: options(
    String.raw`-[abcEFGhHiIlLnoPqrsvwxyzZ]*(?:[ABCm]\d*|e)?|-\d+|--(?:include|exclude|exclude-dir|colou?r|max-count|context|after-context|before-context|regexp)(?:=.*)?|` +
      '--(?:line-number|ignore-case|recursive|files-with-matches|files-without-match|count|word-regexp|invert-match|' +
      'only-matching|extended-regexp|fixed-strings|perl-regexp|no-messages|quiet|with-filename|no-filename)',
  ),
  dataOptions:
    /^-[cEFhHilLnoPqrsvwx]*[ABCme]$|^--regexp(?:=|$)|^--(?:include|exclude|exclude-dir|max-count|context|after-context|before-context)(?:=|$)/,
  data: 'first',
  patternOptions: /^-[a-zA-Z]*e|^--regexp/,
  actsHere: searchesHere,
};

const gitOptions = [
  /-[a-zA-Z]+\d*|-\d+|-L[\d,+-]+/,
  /--(?:stat|shortstat|numstat|name-only|name-status|cached|staged|oneline|graph|all|decorate|color|no-color|patch)/,
  /--(?:no-patch|short|branch|porcelain|long|reverse|merges|no-merges|first-parent|follow|summary|abbrev-commit)/,
  /--(?:abbrev-ref|show-current|show-toplevel|is-inside-work-tree|verify|list|remotes|merged|no-merged|contains)/,
  /--(?:others|modified|deleted|exclude-standard|word-diff|ignore-all-space|ignore-space-change|minimal|check)/,
  /--(?:exit-code|tags|verbose|quiet)|--(?:author|since|until|before|after|grep|max-count)(?:=.*)?/,
  /--(?:format|pretty)=(?!.*%[-+ ]?G).*|--(?:date|diff-filter|unified|sort|abbrev|color|stat|decorate|porcelain)=.*/,
]
  .map(({ source }) => source)
  .join('|');

/** `:/` and `:(top)` name files above the working directory. */
const areGitPaths = (operands: readonly string[]): boolean => operands.every((each) => !each.startsWith(':'));

const git = (more: Partial<Row> = {}): Row => ({
  use: 'lists',
  options: options(gitOptions),
  ...more,
  accepts: (given, operands) => areGitPaths(operands) && more.accepts?.(given, operands) !== false,
});
const gitLog = git({
  dataOptions:
    /^-[SG]$|^--(?:author|since|until|before|after|grep|max-count)(?:=|$)|^--(?:format|pretty|date)=/,
});
const isFirst =
  (word: string) =>
  (_: readonly string[], [first = '']: readonly string[]): boolean =>
    first === word;
/** Without such an option, operands make or change a branch or a tag. */
const onlyLists = (given: readonly string[], operands: readonly string[]): boolean =>
  operands.length === 0 ||
  given.some((option) => /^(?:-l|--list|--contains|--merged|--no-merged)$/.test(option));

const programs: Readonly<Record<string, Row>> = {
  ...rows(
    'ls dir stat df pwd basename dirname realpath readlink which true false uname whoami id uptime free',
    {
      use: 'lists',
    },
  ),
  tree: { use: 'lists', options: options(String.raw`-[adfiLpshugDFtrCIP]+`), dataOptions: /^-[LIP]$/ },
  du: {
    use: 'lists',
    options: options(String.raw`-[a-zA-Z]+\d*|--max-depth=\d+|--exclude=.*`),
    dataOptions: /^-d$/,
  },
  // With operands they set the clock and the name of the machine.
  date: {
    use: 'lists',
    options: options(String.raw`\+.*|-[uRI]|-d|--utc|--iso-8601(?:=\w+)?`),
    dataOptions: /^-d$/,
    accepts: takesNothing,
  },
  hostname: { use: 'lists', options: options('-[fsdiI]'), accepts: takesNothing },
  ...rows('echo tr seq sleep', { use: 'lists', data: 'all' }),
  // `%n` sets a variable of the shell.
  printf: {
    use: 'lists',
    options: options('-'),
    data: 'all',
    accepts: (_, [format = '']) => /^(?:[^%\\]|%%|%-?\d*[sd]|\\[nt])*$/.test(format),
  },
  ...rows('cat nl tac rev cmp comm od fold column', { use: 'reads' }),
  hexdump: { use: 'reads', options: options(String.raw`-[bcCdovx]+|-[ns]\d*`), dataOptions: /^-[ns]$/ },
  // `-l` runs `pr`, and `-r` follows links.
  diff: {
    use: 'reads',
    options: options(
      String.raw`-[abBcdeEiNnpqstTuvwyZ]+\d*|-[CU]\d*|--(?:unified|brief|side-by-side)(?:=\d+)?`,
    ),
    dataOptions: /^-[CU]$/,
  },
  base64: { use: 'reads', options: options(String.raw`-d|--decode|-w\d*`), dataOptions: /^-w$/ },
  // `-c` takes file names from a file.
  ...rows('md5sum sha1sum sha256sum sha512sum b2sum', {
    use: 'reads',
    options: options('-[btz]+|--(?:binary|text|tag)'),
  }),
  ...rows('head tail', { use: 'reads', dataOptions: /^-[nc]$/ }),
  cut: { use: 'reads', dataOptions: /^-[dfcb]$|^--(?:delimiter|fields|characters)(?:=|$)/ },
  wc: { use: 'reads', options: options('-[clmwL]+|--(?:lines|words|bytes|chars)') },
  file: { use: 'reads', options: options('-[bihLkn]+|--(?:mime-type|mime|brief)') },
  // With two operands it writes the second.
  uniq: {
    use: (_, operands) => (operands.length > 1 ? 'writes' : 'reads'),
    options: options(String.raw`-[cdDiuz]+|-[fsw]\d+|--(?:count|repeated|unique|ignore-case)`),
  },
  sort: {
    use: 'reads',
    options: options(
      String.raw`-[bdfghiMnRrVcCmsuz]+|-k[\d.,bdfghiMnRrV]*|-t.?|--(?:key|field-separator)=.*|` +
        '--(?:reverse|unique|numeric-sort|human-numeric-sort|version-sort|ignore-case|stable|check)',
    ),
    dataOptions: /^-[kt]$/,
  },
  ...rows('grep egrep fgrep', grep),
  rg: {
    use: 'reads',
    // `-z` and `--pre` run programs, `-f` takes patterns from a file.
    options: options(
      String.raw`-[aFHiIlnNoPqsSuUvwxc]*(?:[ABCm]\d*|[egtT])?|--(?:type|type-not|glob|max-count|context|max-depth|sort|color|regexp)(?:=.*)?|` +
        '--(?:files|files-with-matches|line-number|ignore-case|hidden|no-ignore|word-regexp|count|json|multiline|' +
        'only-matching|fixed-strings|no-heading|stats|vimgrep|smart-case)',
    ),
    dataOptions:
      /^-[aFHiIlnNoPqsSuUvwxc]*[egtTABCm]$|^--(?:regexp|type|type-not|glob|max-count|context|max-depth|sort|color)$/,
    data: 'first',
    patternOptions: /^-[a-zA-Z]*e|^--(?:regexp|files$)/,
    actsHere: (given, operands) => operands.length <= (given.includes('--files') ? 0 : 1),
  },
  find: {
    use: 'lists',
    options: options(
      '-(?:name|iname|path|ipath|wholename|regex|iregex|type|maxdepth|mindepth|mtime|mmin|atime|ctime|newer|size|empty|' +
        'print|print0|prune|not|o|a|or|and|user|group|perm|links|P|xdev|mount|depth|true|false|readable|writable|executable)',
    ),
    dataOptions:
      /^-(?:i?name|i?path|wholename|i?regex|type|m..depth|[mac]time|mmin|size|user|group|perm|links)$/,
    noEnd: true,
    actsHere: () => true,
  },
  // Not with `-i`: BSD takes the next word as a suffix, and the one after that as the script.
  sed: {
    use: 'reads',
    options: options('-[nErsuz]+|--(?:quiet|silent|regexp-extended)'),
    data: 'first',
    accepts: (_, [script = '']) => isPlainSed(script),
  },
  // Some shells replace a part of the current directory if there are two operands.
  cd: { use: 'lists', options: options('-[LP]+'), accepts: (_, operands) => operands.length <= 1 },
  mkdir: { use: 'writes', options: options('-[pv]+|-m|--parents'), dataOptions: /^-m$/ },
  touch: { use: 'writes', options: options('-[acm]+') },
  tee: { use: 'writes', options: options('-[ai]+|--append') },
  cp: { use: 'writes', options: options('-[aRrpvfnu]+|--(?:recursive|archive|verbose|force|no-clobber)') },
  // Without `-s`: the target of a symbolic link starts at the folder of the link.
  ln: { use: 'writes', options: options('-[fnv]+') },
  rm: { use: 'changes', options: options('-[rRfdvI]+|--(?:recursive|force|verbose)') },
  mv: { use: 'changes', options: options('-[fnvu]+|--(?:force|no-clobber|verbose)') },
  chmod: { use: 'changes', options: options('-[Rvcf]+|--recursive') },
  truncate: { use: 'changes', options: options(String.raw`-s|-s\d+|-c|--size=\d+`), dataOptions: /^-s$/ },
  unlink: { use: 'changes', options: options('-') },
  rmdir: { use: 'changes', options: options('-v|--verbose') },
  curl: {
    use: 'writes',
    options: options(
      '-[vsSfIi]+|-[XHdmo]|--(?:verbose|silent|show-error|fail|head|include|request|header|data|json|max-time|output)',
    ),
    dataOptions: /^-[Xm]$|^--(?:request|max-time)$/,
    valueOptions: /^-[Hdo]$|^--(?:header|data|json|output)$/,
    hosts: true,
    // curl expands these to several addresses, and `#1` in a file name to one of them.
    accepts: (_, operands) => operands.every((each) => /^[^{}[\]]*$/.test(each)),
  },
  ...rows('dig nslookup host', {
    use: 'lists',
    options: options(String.raw`\+(?:short|trace|noall|answer)`),
    hosts: true,
  }),
  ping: {
    use: 'lists',
    options: options(String.raw`-[cwWi]|-[cwWi]\d+|-n`),
    dataOptions: /^-[cwWi]$/,
    hosts: true,
  },
  git: {
    use: 'lists',
    commands: {
      ...rows('status diff show log ls-files merge-base describe shortlog', gitLog),
      blame: git({ options: options(String.raw`-[wMCltsef]+|-L[\d,+-]*|--porcelain`), dataOptions: /^-L$/ }),
      'rev-parse': git({
        options: options('--(?:abbrev-ref|short|verify|show-toplevel|is-inside-work-tree)'),
      }),
      branch: git({
        options: options('-[arvl]+|--(?:list|all|remotes|show-current|verbose|contains|merged|no-merged)'),
        accepts: onlyLists,
      }),
      tag: git({ options: options(String.raw`--list|-l|-n\d*|--contains|--merged`), accepts: onlyLists }),
      remote: git({ options: options('-v|--verbose'), accepts: takesNothing }),
      ...rows('stash worktree', git({ options: options('-'), accepts: isFirst('list') })),
      grep: {
        ...grep,
        use: 'lists',
        // `-O` opens the files in a pager.
        options: options(
          String.raw`-[a-eg-zA-NP-Z]*\d*|--(?:line-number|ignore-case|word-regexp|files-with-matches|count|cached)`,
        ),
        actsHere: () => false,
      },
      add: git({
        use: 'reads',
        options: options('-[AuvnN]|--(?:all|update|verbose|dry-run|intent-to-add)'),
        actsHere: (given) => given.some((option) => /^(?:-[Au]|--all|--update)$/.test(option)),
      }),
      commit: git({
        options: options(
          '-[amqvs]+|--(?:message|amend|no-edit|all|quiet|verbose|signoff|allow-empty)|--message=.*',
        ),
        dataOptions: /^-[aqvs]*m$|^--message(?:=|$)/,
        // Otherwise it opens an editor.
        accepts: (given) => given.some((option) => /^-[aqvs]*m|^--message|^--no-edit$/.test(option)),
      }),
      switch: git({ options: options('-c|--create|--detach|-'), use: 'writes' }),
      fetch: git({
        options: options('-[apqtv]+|--(?:all|prune|tags|quiet|verbose|depth=\\d+)'),
        // With a colon it may be an address, or a helper that runs a program.
        accepts: (_, [remote = '']) => /^[\w./-]*$/.test(remote),
        hosts: 'remote',
      }),
    },
  },
};

/** For texts whose argument does not say that they are commands. */
export const isPlainProgram = (name: string): boolean => Object.hasOwn(programs, name);

/** Programs that run what they read from their input. */
const interpreters: ReadonlySet<string> = new Set(
  split(
    'sh bash dash zsh ksh mksh ash rbash csh tcsh yash fish pwsh powershell cmd busybox toybox perl python pypy ipython ' +
      'ruby irb php node nodejs deno bun tsx ts-node lua luajit r rscript julia groovy scala swift osascript tclsh wish ' +
      'expect gdb lldb sqlite psql mysql mongosh redis-cli ed ex ssh nc ncat netcat socat telnet ftp sftp nslookup su xargs parallel at batch ' +
      'ghci iex erl elixir jshell kotlin m4 dc bc gnuplot octave maxima sage racket guile sbcl clisp scheme mono wine dotnet',
  ),
);

/** Programs that run what their words or a file tells them. */
const otherLaunchers: ReadonlySet<string> = new Set(
  split(
    'wscript cscript mshta rundll forfiles awk gawk mawk nawk jq yq java env sudo doas pkexec runuser gosu su-exec nohup ' +
      'nice ionice chrt taskset numactl setarch prlimit choom cpulimit time timeout gtimeout stdbuf unbuffer setsid setpriv ' +
      'capsh chroot unshare nsenter bwrap firejail nsjail proot fakeroot flock strace ltrace valgrind perf watch script fd ' +
      'caffeinate systemd-run start-stop-daemon run-parts xterm dumb-init tini rlwrap torsocks proxychains sshpass faketime ' +
      'hyperfine mpirun srun xvfb-run direnv entr screen tmux crontab scp sftp rsync wget npm npx pnpm pnpx yarn bunx ' +
      'corepack pip pipx uv uvx poetry pdm conda gem bundle cargo rustup go make gmake cmake ninja mvn gradle gradlew ant ' +
      'bazel just task tox nox docker podman nerdctl ansible ansible-playbook vagrant vi vim nvim view nano emacs less more ' +
      'man tar zip cpio split pytest jest vitest mocha ava rspec phpunit eslint tsc mypy gcc clang eval exec source . ' +
      'command builtin alias trap hash enable set shopt export declare typeset local readonly read',
  ),
);

/** `/usr/bin/Python3.11` and `python.exe` are `python`. */
const bareName = (program: string): string =>
  program
    .replace(/^.*[/\\]/s, '')
    .toLowerCase()
    .replace(/\.exe$/, '')
    .replace(/(?<=[a-z])[-\d.]+$/, '');

/** No entry allows an interpreter alone: `bash` would run anything. */
export const isInterpreter = (program: string): boolean => interpreters.has(bareName(program));

/**
 * An entry with `*` does not cover these: `env *` would allow everything. The lists are a safety net for authors of
 * rules. Programs that are not in them are opaque too.
 */
export const isLauncher = (program: string): boolean =>
  isInterpreter(program) ||
  otherLaunchers.has(bareName(program)) ||
  isPlainProgram(program.replace(/^.*\//s, ''));
