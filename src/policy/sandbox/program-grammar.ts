/**
 * How programs run other programs. One row per program: the options that take a value, and the options or
 * operands that name a program, a shell text or code. A program without a row is read generically: options whose name
 * says that they run something (`--exec`, `--pager`) are refused.
 *
 * To add a program, add a row. A missing row can only matter for a program that a rule lists.
 */
import type { ScriptLanguage } from './harmless-script.ts';

export type OptionMeaning =
  | 'flag'
  /** With it the program needs no operand: `--version`, `node --test`. */
  | 'enough'
  /** Takes a value that runs nothing. Paths and hosts are found in it as in any word. */
  | 'value'
  /** Takes a value that names nothing: a pattern, a message, a format. */
  | 'data'
  /** Like `data`, and then no operand is a pattern. */
  | 'pattern'
  /** Takes a file with patterns, and then no operand is a pattern. */
  | 'patterns'
  /** Makes the program run or load something that the words do not show. */
  | 'refused'
  /** Makes the program connect to hosts that its words do not name. Outside every rule. */
  | 'reroutes'
  /** Its value is a file that lists file names. */
  | 'names'
  /** Its value is a module that is run. */
  | 'module'
  /** Its value is a shell text. */
  | 'text'
  /** Its value is a program, possibly with arguments. */
  | 'program'
  /** Its value is a script in the language of the program. */
  | 'script'
  /** Its value is `name=value`, judged by `isHarmlessSetting`. */
  | 'setting'
  /** As if the program ran `rm`. */
  | 'removes'
  /** As if the program ran `tee` with its value. */
  | 'writes'
  /** The words up to `;` or `+` are a command. */
  | 'exec'
  /** All words that follow are a command. */
  | 'rest';

export type ProgramGrammar = {
  readonly options?: Readonly<Record<string, OptionMeaning>>;
  /** The operands after this many are a command, as words or as a shell text. */
  readonly runs?: { readonly after: number; readonly as: 'words' | 'text' };
  /** Its first operand is a subcommand. */
  readonly commands?: Readonly<Record<string, ProgramGrammar>> | undefined;
  /** Subcommands that are not in the table: refused by default, since they may be aliases or plug-ins. */
  readonly otherCommands?: 'harmless';
  /** The command itself runs something that cannot be read. */
  readonly refused?: true;
  /** The first operand is a script. */
  readonly script?: ScriptLanguage;
  /** The first operand is a pattern or a filter and names nothing. */
  readonly pattern?: true;
  /** No operand names anything. */
  readonly operandsAreData?: true;
  /** Every operand must be harmless in this language. */
  readonly scripts?: ScriptLanguage;
  /** Options of the program come before its subcommand; after it they mean something else. */
  readonly ownOptionsFirst?: true;
  /** Two operands set the first to the second; `isHarmlessSetting` judges the first. */
  readonly setsOperand?: true;
  /** `skip`: `A=b` before the command is a variable of it. `refuse`: `A=b` anywhere changes what is run. */
  readonly assignments?: 'skip' | 'refuse';
  /** Without an operand it runs its input. */
  readonly needsOperand?: true;
  /** After its first operand, nothing is an option of its own. */
  readonly firstOperandEnds?: true;
  readonly optionsFirst?: true;
  readonly longWithOneDash?: true;
  readonly bundled?: true;
  readonly readsNames?: true;
  readonly isHarmlessSetting?: (setting: string) => boolean;
};

/** Does the name of an option say that it runs something? */
export function runsAnotherByName(name: string): boolean {
  const words = name
    .replace(/^-+/, '')
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_.]/);
  return !/^(?:no|ignore|list|without)$/.test(words[0] ?? '') && words.some((word) => runningWords.has(word));
}

const runningWords: ReadonlySet<string> = new Set(
  (
    'exec execute execdir command commands cmd shell rsh eval pager editor program hook hooks interpreter wrapper ' +
    'launcher preload plugin plugins viewer browser askpass toolexec preprocessor postprocessor'
  ).split(' '),
);

/** Variables before a command that neither choose a program nor load code. */
export const harmlessVariables: ReadonlySet<string> = new Set(
  (
    'CI NODE_ENV FORCE_COLOR NO_COLOR CLICOLOR CLICOLOR_FORCE DEBUG LANG LC_ALL TZ TERM COLUMNS LINES RUST_BACKTRACE ' +
    'RUST_LOG LOG_LEVEL PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE CGO_ENABLED GOOS GOARCH PORT APP_ENV RAILS_ENV ' +
    'RACK_ENV MIX_ENV FLASK_ENV AWS_REGION AWS_DEFAULT_REGION TEST_TIMEOUT VITEST_MAX_WORKERS NODE_NO_WARNINGS'
  ).split(' '),
);

type Rows = Readonly<Record<string, OptionMeaning>>;

const mean = (meaning: OptionMeaning, names: string): Rows =>
  Object.fromEntries(names.split(' ').map((name) => [name, meaning]));

/** Programs that run the command after their options; `values` are the options with a value. */
const prefix = (values: string, after = 0, more: ProgramGrammar = {}): ProgramGrammar => ({
  optionsFirst: true,
  runs: { after, as: 'words' },
  ...more,
  options: { ...mean('value', values), ...more.options },
});

const informs = mean('enough', '--version -V -v --help -h');

const interpreter = (refused: string, values = '', more: ProgramGrammar = {}): ProgramGrammar => ({
  needsOperand: true,
  firstOperandEnds: true,
  ...more,
  options: {
    ...informs,
    ...(refused !== '' && mean('refused', refused)),
    ...(values !== '' && mean('value', values)),
    ...more.options,
  },
});

const shell: ProgramGrammar = {
  needsOperand: true,
  firstOperandEnds: true,
  options: {
    ...mean('enough', '--version --help'),
    ...mean('text', '-c'),
    ...mean('value', '-o +o -O +O'),
    ...mean('refused', '--rcfile --init-file -s'),
  },
};

const refused: ProgramGrammar = { refused: true };
const plain: ProgramGrammar = {};

/** Settings of git that neither run a program nor move its files. */
const isHarmlessGitSetting = (setting: string): boolean =>
  /^(?:color\.[\w.]+|advice\.\w+|user\.(?:name|email)|core\.(?:quotepath|abbrev|autocrlf|eol|filemode|ignorecase|precomposeunicode)|diff\.(?:renames|renamelimit|context|algorithm|noprefix|mnemonicprefix|colormoved)|log\.\w+|init\.defaultbranch|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|merge\.(?:ff|conflictstyle)|rebase\.(?:autostash|autosquash)|fetch\.(?:prune|parallel)|commit\.gpgsign|tag\.gpgsign|column\.\w+|status\.\w+|grep\.\w+|branch\.sort|tag\.sort|protocol\.version|core\.pager=cat|gc\.auto)(?:=.*)?$/is.test(
    setting,
  );

/** What `git` runs by options that several of its subcommands take. */
const gitTransfer: ProgramGrammar = {
  scripts: 'git-remote',
  options: { ...mean('refused', '--upload-pack --receive-pack --exec -u --server-option --template') },
};
const gitPlain: ProgramGrammar = { options: mean('refused', '--ext-diff') };
const gitDiff: ProgramGrammar = {
  options: {
    ...mean('refused', '--ext-diff'),
    ...mean('data', '-S -G --author --since --until --before --after --format --pretty --grep --date'),
  },
};
/** Here `-m` takes a message; elsewhere in git it is a flag. */
const gitMessage: ProgramGrammar = {
  options: { ...mean('refused', '--ext-diff'), ...mean('data', '-m --message --author --date') },
};

const git: ProgramGrammar = {
  ownOptionsFirst: true,
  options: {
    ...mean('value', '-C --git-dir --work-tree --namespace --super-prefix --attr-source'),
    ...mean('setting', '-c'),
    ...mean('refused', '--exec-path --config-env'),
    ...mean(
      'flag',
      '-p --paginate --no-pager --bare --no-replace-objects --literal-pathspecs --version --help',
    ),
  },
  isHarmlessSetting: isHarmlessGitSetting,
  commands: {
    ...Object.fromEntries(
      (
        'add blame branch cat-file check-ignore checkout cherry cherry-pick clean commit count-objects describe ' +
        'fsck gc help init ls-files ls-tree merge merge-base mv name-rev notes reflog rev-list rev-parse reset ' +
        'restore revert rm shortlog show-ref stash status switch symbolic-ref tag version worktree apply am ' +
        'sparse-checkout for-each-ref diff-index diff-files diff-tree range-diff whatchanged hash-object var annotate ' +
        'format-patch rerere verify-commit verify-tag write-tree update-index read-tree mktree commit-tree prune repack'
      )
        .split(' ')
        .map((name) => [name, gitPlain]),
    ),
    commit: gitMessage,
    merge: gitMessage,
    tag: gitMessage,
    notes: gitMessage,
    stash: gitMessage,
    diff: gitDiff,
    log: gitDiff,
    show: gitDiff,
    clone: {
      ...gitTransfer,
      options: { ...gitTransfer.options, ...mean('setting', '-c --config') },
      isHarmlessSetting: isHarmlessGitSetting,
    },
    fetch: gitTransfer,
    pull: { ...gitTransfer, options: mean('refused', '--upload-pack') },
    push: { ...gitTransfer, options: mean('refused', '--receive-pack --exec') },
    remote: { scripts: 'git-remote', options: mean('flag', '-u') },
    'ls-remote': gitTransfer,
    archive: { ...gitTransfer, options: mean('refused', '--exec --remote') },
    bisect: {
      commands: Object.fromEntries(
        'start good bad old new skip reset log next terms visualize replay'
          .split(' ')
          .map((name) => [name, plain]),
      ),
    },
    grep: {
      pattern: true,
      options: {
        ...mean('refused', '-O --open-files-in-pager'),
        ...mean('pattern', '-e'),
        ...mean('patterns', '-f'),
      },
    },
    rebase: { options: mean('refused', '-x --exec -i --interactive') },
    submodule: {
      commands: {
        status: plain,
        init: plain,
        update: plain,
        add: gitTransfer,
        sync: plain,
        summary: plain,
        deinit: plain,
      },
    },
    config: {
      options: {
        ...mean('value', '-f --file --blob --type --default'),
        ...mean(
          'flag',
          '--global --local --system --worktree --get --get-all --get-regexp --list -l --unset --show-origin --show-scope',
        ),
        ...mean('refused', '-e --edit --add --replace-all --rename-section'),
      },
      commands: { get: plain, list: plain, unset: plain },
      otherCommands: 'harmless',
      setsOperand: true,
      isHarmlessSetting: isHarmlessGitSetting,
    },
  },
};

const docker: ProgramGrammar = {
  ownOptionsFirst: true,
  options: mean('value', '-H --host --context -c --config -l --log-level --tlscacert --tlscert --tlskey'),
  commands: {
    run: dockerRun(),
    create: dockerRun(),
    exec: {
      optionsFirst: true,
      runs: { after: 1, as: 'words' },
      options: mean('value', '-e --env --env-file -u --user -w --workdir --detach-keys'),
    },
    container: {
      commands: {
        run: dockerRun(),
        exec: {
          optionsFirst: true,
          runs: { after: 1, as: 'words' },
          options: mean('value', '-e --env --env-file -u --user -w --workdir'),
        },
        ls: plain,
        logs: plain,
        inspect: plain,
        stop: plain,
        start: plain,
        restart: plain,
        stats: plain,
        top: plain,
        rm: plain,
        prune: plain,
      },
    },
    compose: {
      options: mean('value', '-f --file -p --project-name --profile --env-file --project-directory'),
      commands: {
        exec: {
          optionsFirst: true,
          runs: { after: 1, as: 'words' },
          options: mean('value', '-e --env -u --user -w --workdir --index'),
        },
        run: {
          optionsFirst: true,
          runs: { after: 1, as: 'words' },
          options: {
            ...mean('value', '-e --env -u --user -w --workdir -v --volume -p --publish --name -l --label'),
            ...mean('program', '--entrypoint'),
          },
        },
        ...Object.fromEntries(
          'up down ps logs build pull push restart stop start config images top events port rm kill ls version create pause unpause'
            .split(' ')
            .map((name) => [name, plain]),
        ),
      },
    },
    ...Object.fromEntries(
      'ps images logs inspect stats top port diff info version events history pull push tag search stop start restart kill rm rmi build cp commit save load network volume image system login logout rename update wait pause unpause manifest'
        .split(' ')
        .map((name) => [name, plain]),
    ),
  },
};

function dockerRun(): ProgramGrammar {
  return {
    // The image decides what runs, so an entry must name the command.
    refused: true,
    optionsFirst: true,
    runs: { after: 1, as: 'words' },
    options: {
      ...mean(
        'value',
        '-e --env --env-file -v --volume --mount -p --publish --name -w --workdir -u --user --network --net -l --label -m --memory --cpus --restart --platform -h --hostname --add-host --pull --tmpfs --shm-size --ulimit --device --gpus --dns --log-driver --log-opt --cidfile --health-cmd --stop-signal --expose --link --ip --mac-address --pid --ipc --uts --userns --cgroupns --cap-drop --security-opt --sysctl --group-add --annotation --isolation --memory-swap --cpu-shares --cpuset-cpus --runtime --storage-opt --stop-timeout --volumes-from --volume-driver',
      ),
      ...mean('program', '--entrypoint'),
      ...mean('refused', '--privileged --cap-add'),
    },
  };
}

const kubectlValues =
  '-n --namespace --context --cluster --user --kubeconfig -s --server -o --output -l --selector -f --filename -c --container --as --token --request-timeout --field-selector -k --kustomize --since --tail --sort-by --template --dry-run --type -p --patch --timeout --for --replicas --port --image --from-literal --as-group';
const kubectl: ProgramGrammar = {
  options: mean('value', kubectlValues),
  commands: {
    exec: { options: { ...mean('value', kubectlValues) }, runs: { after: 1, as: 'words' } },
    debug: refused,
    run: {
      runs: { after: 1, as: 'words' },
      options: { ...mean('refused', '--overrides'), ...mean('flag', '--command') },
    },
    cp: plain,
    edit: refused,
    plugin: refused,
    ...Object.fromEntries(
      'get describe logs apply delete create scale rollout set label annotate patch top version config cluster-info explain api-resources api-versions auth diff wait port-forward proxy cordon uncordon drain taint expose autoscale replace events kustomize'
        .split(' ')
        .map((name) => [name, plain]),
    ),
  },
};

const packageRunner = (values: string): ProgramGrammar =>
  prefix(values, 0, { options: mean('text', '-c --call --shell-mode') });
const npmScripts =
  'test t run run-script rum urn start stop restart install i ci add install-test it uninstall un remove rm update up upgrade ls list ll outdated audit view v info show pack publish version prune dedupe ddp link root prefix bin fund doctor cache ping whoami search help docs repo bugs deprecate owner dist-tag token profile team access org star stars unstar shrinkwrap rebuild query sbom diff explain why find-dupes login logout adduser config c get set completion licenses store import fetch patch deploy workspace workspaces set-script';
const packageManager = (values: string, extra: Readonly<Record<string, ProgramGrammar>>): ProgramGrammar => ({
  options: {
    ...mean('value', values),
    ...mean('refused', '--script-shell --node-options --shell --shell-emulator'),
    ...mean('text', '-c --call'),
  },
  commands: {
    ...Object.fromEntries(npmScripts.split(' ').map((name) => [name, plain])),
    exec: packageRunner('-w --workspace -p --package --filter -F'),
    x: packageRunner('-w --workspace -p --package'),
    dlx: packageRunner('-p --package'),
    explore: { runs: { after: 1, as: 'words' } },
    edit: refused,
    create: prefix(''),
    init: plain,
    innit: plain,
    config: { commands: { get: plain, list: plain, ls: plain, delete: plain } },
    ...extra,
  },
});

const rows: Readonly<Record<string, ProgramGrammar>> = {
  // Shells and programs that only pass a command on.
  ...Object.fromEntries(
    'sh bash dash zsh ksh mksh ash rbash fish csh tcsh yash pwsh powershell'
      .split(' ')
      .map((name) => [name, shell]),
  ),
  env: prefix('-u --unset -C --chdir', 0, {
    assignments: 'skip',
    options: mean('text', '-S --split-string'),
  }),
  eval: { runs: { after: 0, as: 'text' } },
  source: { needsOperand: true },
  sudo: prefix(
    '-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot -T --command-timeout -U --other-user -r --role -t --type',
    0,
    { assignments: 'refuse', options: mean('refused', '-s --shell -i --login -e --edit -A --askpass') },
  ),
  doas: prefix('-u -C', 0, { options: mean('refused', '-s') }),
  pkexec: prefix('--user'),
  gosu: prefix('', 1),
  'su-exec': prefix('', 1),
  su: refused,
  runuser: prefix('-u --user -g --group', 0, { options: mean('text', '-c --command') }),
  nohup: prefix('-p'),
  nice: prefix('-n --adjustment'),
  ionice: prefix('-c --class -n --classdata -p --pid -P -u'),
  chrt: prefix('-T -P -D', 1),
  taskset: prefix('', 1),
  numactl: prefix('-N -m -C -i -p --cpunodebind --membind --interleave --physcpubind'),
  time: prefix('-f --format -o --output'),
  timeout: prefix('-k --kill-after -s --signal', 1),
  gtimeout: prefix('-k --kill-after -s --signal', 1),
  stdbuf: prefix('-i --input -o --output -e --error'),
  unbuffer: prefix(''),
  setsid: prefix(''),
  setpriv: prefix('--reuid --regid --groups --inh-caps --bounding-set'),
  exec: prefix('-a'),
  command: prefix(''),
  builtin: prefix(''),
  busybox: prefix(''),
  toybox: prefix(''),
  chroot: prefix('--userspec --groups', 1),
  unshare: prefix('--root --wd --propagation -S --setuid -G --setgid -w -R'),
  nsenter: prefix('-t --target -S -G -r -w'),
  bwrap: refused,
  firejail: refused,
  proot: prefix('-r -b -w -R -q'),
  fakeroot: prefix('-l -i -s'),
  flock: prefix('-w --timeout -E --conflict-exit-code', 1, { options: mean('text', '-c --command') }),
  strace: prefix('-o -e -p -s -u -E -a -P -S -O -I -b -X'),
  ltrace: prefix('-o -e -p -s -u -n -l -x'),
  valgrind: prefix('', 0, { options: {} }),
  perf: {
    commands: { stat: prefix('-e -o -r -p'), record: prefix('-e -o -F -p'), list: plain, report: plain },
  },
  watch: {
    optionsFirst: true,
    runs: { after: 0, as: 'text' },
    options: mean('value', '-n --interval -q --equexit -s --shotsdir'),
  },
  script: {
    options: { ...mean('text', '-c --command'), ...mean('value', '-I -O -B -T -m -o -E') },
    needsOperand: true,
  },
  parallel: {
    optionsFirst: true,
    runs: { after: 0, as: 'text' },
    readsNames: true,
    options: mean('value', '-j --jobs -n -N -I --delay --timeout --joblog -S --sshlogin --colsep -L'),
  },
  xargs: {
    optionsFirst: true,
    runs: { after: 0, as: 'words' },
    readsNames: true,
    options: mean('value', '-I -n -P -L -s -d -E --max-args --max-procs --delimiter --replace -a --arg-file'),
  },
  ssh: {
    optionsFirst: true,
    runs: { after: 1, as: 'text' },
    options: {
      ...mean('value', '-p -l -i -b -c -D -e -I -J -L -m -Q -R -S -w -W -B -E'),
      ...mean('refused', '-o -F'),
    },
  },
  scp: { options: { ...mean('value', '-P -i -l -c -J -D'), ...mean('refused', '-S -o -F') } },
  sftp: { options: { ...mean('value', '-P -i -l -c -J -B -R'), ...mean('refused', '-S -o -F -b -s -D') } },
  rsync: {
    options: {
      ...mean('refused', '-e --rsh --rsync-path --config'),
      ...mean('names', '--files-from'),
      ...mean(
        'value',
        '--exclude --include --exclude-from --include-from -f --filter --port --bwlimit -T --temp-dir --log-file --out-format --partial-dir --backup-dir --timeout',
      ),
    },
  },
  caffeinate: prefix('-t -w'),
  'systemd-run': refused,
  'dbus-run-session': prefix('--config-file --dbus-daemon'),
  'xvfb-run': prefix('-n -s -e -f -p -w'),
  direnv: { commands: { exec: prefix('', 1), status: plain, version: plain } },
  expect: refused,
  entr: prefix(''),
  screen: refused,
  tmux: refused,
  at: refused,
  batch: refused,
  crontab: refused,
  nc: { options: mean('refused', '-e -c --exec --sh-exec --lua-exec') },
  ncat: { options: mean('refused', '-e -c --exec --sh-exec --lua-exec') },
  socat: refused,
  gdb: refused,
  lldb: refused,

  // Interpreters: code in an option is not read; a file of code is a file.
  python: interpreter('-c -i', '-W -X --check-hash-based-pycs', { options: mean('module', '-m') }),
  perl: interpreter('-e -E -M -m -I -d -n -p', '-0 -C -D -F -i -l -x'),
  ruby: interpreter('-e -r -I -n -p', '-C -E -F -T -W -x'),
  php: interpreter('-r -B -R -E -F -a -d -S', '-c -t -z'),
  lua: interpreter('-e -l -i'),
  luajit: interpreter('-e -l -i -b'),
  node: interpreter(
    '-e --eval -p --print -i --interactive --inspect --inspect-brk --run',
    '--env-file --title --max-old-space-size --stack-trace-limit --test-reporter --test-name-pattern --test-concurrency --conditions -C',
    {
      options: {
        ...mean('module', '-r --require --import --loader --experimental-loader'),
        ...mean('enough', '--test'),
        ...mean('flag', '--watch'),
      },
    },
  ),
  deno: {
    commands: {
      eval: refused,
      repl: refused,
      run: interpreter('', '--config -c --import-map --lock'),
      test: plain,
      fmt: plain,
      lint: plain,
      check: plain,
      cache: plain,
      info: plain,
      task: plain,
      bench: plain,
      doc: plain,
    },
  },
  bun: {
    options: mean('refused', '-e --eval -p --print -r --preload'),
    commands: {
      test: plain,
      install: plain,
      i: plain,
      add: plain,
      remove: plain,
      run: plain,
      build: plain,
      x: packageRunner('-p --package'),
      pm: plain,
      outdated: plain,
      update: plain,
    },
  },
  osascript: refused,
  tclsh: interpreter('-encoding'),
  Rscript: interpreter('-e'),
  julia: interpreter('-e -E --eval --print -L'),
  groovy: interpreter('-e'),
  ghci: refused,
  elixir: interpreter('-e --eval -r -pr --rpc-eval'),
  irb: refused,
  jshell: refused,
  awk: {
    script: 'awk',
    options: {
      ...mean('data', '-F --field-separator'),
      ...mean('value', '-v --assign'),
      ...mean('script', '-e --source'),
      ...mean(
        'refused',
        '-f --file -E --exec -i --include -l --load -D --debug -p --profile -o --pretty-print',
      ),
    },
  },
  sed: {
    script: 'sed',
    options: {
      ...mean('script', '-e --expression'),
      ...mean('value', '-l --line-length'),
      ...mean('refused', '-f --file'),
      ...mean('flag', '-n -E -r -s -z -u -i --in-place --regexp-extended --quiet --silent'),
    },
  },
  sqlite3: {
    scripts: 'sql',
    options: {
      ...mean('refused', '-init -cmd -A --init --cmd'),
      ...mean('value', '-separator -nullvalue -newline -vfs -maxsize'),
    },
    longWithOneDash: true,
  },
  psql: {
    options: {
      ...mean('script', '-c --command'),
      ...mean('refused', '-f --file -o --output -L'),
      ...mean('value', '-h --host -p --port -U --username -d --dbname -F -R -T -v -P'),
    },
    script: 'sql',
  },
  mysql: {
    options: {
      ...mean('script', '-e --execute'),
      ...mean('value', '-h --host -P --port -u --user -D --database -S --socket'),
      ...mean('refused', '--pager --plugin-dir --init-command'),
    },
    script: 'sql',
  },

  // Programs with an option that runs another program.
  git,
  find: {
    longWithOneDash: true,
    options: {
      ...mean('data', '-name -iname -path -ipath -wholename -regex -iregex -printf -size -mtime -mmin -type'),
      ...mean('exec', '-exec -execdir -ok -okdir'),
      ...mean('removes', '-delete'),
      ...mean('writes', '-fprint -fprint0 -fls -fprintf'),
      ...mean('names', '-files0-from'),
    },
  },
  fd: {
    options: {
      ...mean('rest', '-x --exec -X --exec-batch'),
      ...mean('value', '-e --extension -t --type -d --max-depth -E --exclude -g --glob'),
    },
  },
  tar: {
    bundled: true,
    options: {
      ...mean(
        'refused',
        '-I --use-compress-program --checkpoint-action --to-command --rsh-command --rmt-command -F --info-script --new-volume-script --index-file',
      ),
      ...mean('names', '-T --files-from -X'),
      ...mean(
        'value',
        '-f --file -C --directory --exclude --transform --xform -b --blocking-factor -K --strip-components --owner --group --mode --mtime',
      ),
    },
  },
  cpio: { readsNames: true, options: mean('refused', '--rsh-command --to-stdout-command') },
  zip: { options: { ...mean('refused', '-TT --unzip-command -T --test'), ...mean('names', '-@') } },
  split: { options: { ...mean('text', '--filter'), ...mean('value', '-b -l -n -a -C') } },
  sort: {
    options: {
      ...mean('program', '--compress-program'),
      ...mean('names', '--files0-from'),
      ...mean('value', '-k --key -t --field-separator -o --output -S --buffer-size -T --temporary-directory'),
    },
  },
  wc: { options: mean('names', '--files0-from') },
  du: { options: mean('names', '--files0-from') },
  rg: {
    pattern: true,
    options: {
      ...mean('pattern', '-e --regexp'),
      ...mean('patterns', '-f --file'),
      ...mean('program', '--pre'),
      ...mean('refused', '--hostname-bin'),
      ...mean(
        'value',
        '-g --glob -t --type -A -B -C -m --max-count --pre-glob -T --type-not -r --replace -j --threads --max-depth -d -E --encoding --sort --color --colors',
      ),
    },
  },
  ag: { pattern: true, options: mean('refused', '--pager') },
  grep: {
    pattern: true,
    options: {
      ...mean('value', '-A -B -C -m --max-count --include --exclude --exclude-dir --color --label -D -d'),
      ...mean('pattern', '-e --regexp'),
      ...mean('patterns', '-f --file'),
    },
  },
  man: {
    options: mean('refused', '-P --pager -H --html -T -X --gxditview -C --config-file -p --preprocessor'),
  },
  less: { options: mean('refused', '+ -k -o -O --lesskey-file --lesskey-src --log-file --LOG-FILE') },
  more: refused,
  vi: refused,
  vim: refused,
  nvim: refused,
  view: refused,
  ex: refused,
  ed: refused,
  nano: refused,
  emacs: refused,
  make: {
    assignments: 'refuse',
    options: {
      ...mean('refused', '--eval -E'),
      ...mean('value', '-f --file --makefile -C --directory -I --include-dir -j --jobs -l -o -W'),
    },
  },
  cmake: { options: mean('refused', '-P -E -C') },
  ninja: { options: mean('value', '-C -f -j -k -l') },
  go: {
    longWithOneDash: true,
    commands: {
      ...Object.fromEntries(
        'build test vet list mod fmt version env doc clean get install fix telemetry work'
          .split(' ')
          .map((name) => [
            name,
            {
              longWithOneDash: true,
              options: mean('refused', '-exec -toolexec -vettool -overlay'),
            } as ProgramGrammar,
          ]),
      ),
      run: { longWithOneDash: true, options: mean('refused', '-exec -toolexec -overlay') },
      env: { longWithOneDash: true, options: mean('refused', '-w') },
      generate: refused,
      tool: refused,
    },
  },
  cargo: {
    options: mean('refused', '--config'),
    commands: Object.fromEntries(
      'build b check c test t clippy fmt doc run r bench add remove update tree metadata clean search install fetch vendor publish package version fix init new nextest audit'
        .split(' ')
        .map((name) => [name, { options: mean('refused', '--config') } as ProgramGrammar]),
    ),
  },
  gcc: { longWithOneDash: true, options: mean('refused', '-wrapper -B -specs') },
  java: {
    longWithOneDash: true,
    needsOperand: true,
    options: {
      ...mean('value', '-cp -classpath --class-path --module-path'),
      ...mean('module', '-jar -m --module'),
      ...mean('refused', '-javaagent'),
    },
  },
  npm: packageManager('--prefix -C -w --workspace --registry --loglevel --userconfig --cache', {
    exec: packageRunner('-w --workspace -p --package'),
    init: prefix(''),
  }),
  pnpm: packageManager('-C --dir --filter -F -w', { node: refused }),
  yarn: { ...packageManager('--cwd', { node: refused }), otherCommands: 'harmless' },
  npx: packageRunner('-p --package -w --workspace'),
  bunx: packageRunner('-p --package'),
  pnpx: packageRunner('-p --package'),
  corepack: { commands: { enable: plain, disable: plain, prepare: plain } },
  concurrently: refused,
  nodemon: refused,
  uv: {
    commands: {
      run: prefix('--with -p --python --project --directory --env-file --extra --group', 0, {
        options: mean('module', '-m'),
      }),
      sync: plain,
      lock: plain,
      add: plain,
      remove: plain,
      pip: plain,
      tree: plain,
      venv: plain,
      version: plain,
      python: plain,
      tool: { commands: { run: prefix('--from --with'), list: plain, install: plain } },
    },
  },
  uvx: prefix('--from --with -p --python'),
  pipx: { commands: { run: prefix('--spec'), list: plain, install: plain } },
  poetry: {
    options: mean('value', '-C --directory -P --project'),
    commands: {
      run: prefix(''),
      install: plain,
      add: plain,
      remove: plain,
      show: plain,
      check: plain,
      lock: plain,
      update: plain,
      build: plain,
      version: plain,
      env: plain,
    },
  },
  pipenv: {
    commands: { run: prefix(''), install: plain, lock: plain, graph: plain, check: plain, sync: plain },
  },
  conda: { commands: { run: prefix('-n --name -p --prefix --cwd'), list: plain, info: plain, env: plain } },
  bundle: {
    commands: {
      exec: prefix(''),
      install: plain,
      check: plain,
      list: plain,
      outdated: plain,
      show: plain,
      update: plain,
      info: plain,
    },
  },
  docker,
  podman: docker,
  kubectl,
  oc: kubectl,
  helm: {
    options: {
      ...mean('program', '--post-renderer'),
      ...mean('value', '-n --namespace --kube-context --kubeconfig -f --values --set --version --repo'),
    },
    commands: Object.fromEntries(
      'list ls status get history show search repo template lint upgrade install uninstall rollback test version dependency pull package env'
        .split(' ')
        .map((name) => [name, { options: { ...mean('program', '--post-renderer') } } as ProgramGrammar]),
    ),
  },
  ansible: { options: mean('refused', '-a --args') },
  terraform: {
    options: mean('value', '-chdir'),
    longWithOneDash: true,
    commands: Object.fromEntries(
      'plan apply init validate fmt show state output providers version workspace refresh import graph destroy taint untaint get test'
        .split(' ')
        .map((name) => [name, { longWithOneDash: true } as ProgramGrammar]),
    ),
  },
  echo: { operandsAreData: true },
  printf: { operandsAreData: true },
  tr: { operandsAreData: true },
  cut: { options: mean('data', '-d --delimiter -f --fields -c -b') },
  jq: {
    pattern: true,
    options: {
      ...mean('data', '--indent'),
      // Some take two values, so the filter cannot be distinguished from a file.
      ...mean('patterns', '-f --from-file --arg --argjson --slurpfile --rawfile --args --jsonargs'),
      ...mean('value', '-L'),
    },
  },
  yq: { pattern: true },
  curl: {
    options: {
      ...mean('refused', '--engine'),
      ...mean(
        'reroutes',
        '-K --config --unix-socket --abstract-unix-socket --resolve --connect-to --dns-servers --doh-url --haproxy-clientip',
      ),
      ...mean(
        'value',
        '-o --output -H --header -X --request -d --data --data-raw --data-binary --data-urlencode -F --form -u --user -A --user-agent -e --referer -b --cookie -c --cookie-jar -T --upload-file -x --proxy -m --max-time --connect-timeout --retry -w --write-out --url -r --range -E --cert --key --cacert --json -D --dump-header -z --interface',
      ),
    },
  },
  wget: {
    options: {
      ...mean('refused', '--use-askpass'),
      ...mean('reroutes', '-e --execute --config -i --input-file'),
      ...mean(
        'value',
        '-O --output-document -P --directory-prefix -U --user-agent -o --output-file -t --tries -T --timeout --header --post-data --post-file',
      ),
    },
  },
  gh: {
    commands: Object.fromEntries(
      'pr issue repo run workflow release api auth status search label gist secret variable cache browse project ruleset'
        .split(' ')
        .map((name) => [name, plain]),
    ),
  },
  ip: {
    commands: Object.fromEntries(
      'addr a address link l route r neigh n rule -br'.split(' ').map((name) => [name, plain]),
    ),
  },
  tcpdump: { options: mean('refused', '-z') },
  openssl: { options: mean('refused', '-engine -provider -config') },
};

const aliases: Readonly<Record<string, string>> = {
  python2: 'python',
  python3: 'python',
  py: 'python',
  pypy: 'python',
  pypy3: 'python',
  nodejs: 'node',
  gawk: 'awk',
  mawk: 'awk',
  nawk: 'awk',
  gsed: 'sed',
  gtar: 'tar',
  bsdtar: 'tar',
  gmake: 'make',
  bmake: 'make',
  gfind: 'find',
  fdfind: 'fd',
  egrep: 'grep',
  fgrep: 'grep',
  'g++': 'gcc',
  cc: 'gcc',
  clang: 'gcc',
  mariadb: 'mysql',
  '.': 'source',
  'docker-compose': 'docker-compose',
  pex: 'python',
};

const generic: ProgramGrammar = {};

export const isKnownProgram = (name: string): boolean => grammarOf(name) !== generic;

export function grammarOf(name: string): ProgramGrammar {
  const versioned = name.replace(/^(python|perl|ruby|php|lua|node|pypy|gcc|clang)[\d.-]+$/, '$1');
  const known = Object.hasOwn(aliases, versioned) ? (aliases[versioned] ?? versioned) : versioned;
  return (Object.hasOwn(rows, known) ? rows[known] : undefined) ?? generic;
}
