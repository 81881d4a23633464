/** git. */
import { all, mean, plain } from './build-grammar.ts';
import type { ProgramGrammar, Programs } from './grammar.ts';

/** Settings of git that neither run a program nor move its files. */
const isHarmlessGitSetting = (setting: string): boolean =>
  /^(?:color\.[\w.]+|advice\.\w+|user\.(?:name|email)|core\.(?:quotepath|abbrev|autocrlf|eol|filemode|ignorecase|precomposeunicode)|diff\.(?:renames|renamelimit|context|algorithm|noprefix|mnemonicprefix|colormoved)|log\.\w+|init\.defaultbranch|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|merge\.(?:ff|conflictstyle)|rebase\.(?:autostash|autosquash)|fetch\.(?:prune|parallel)|commit\.gpgsign|tag\.gpgsign|column\.\w+|status\.\w+|grep\.\w+|branch\.sort|tag\.sort|protocol\.version|core\.pager=cat|gc\.auto)(?:=.*)?$/is.test(
    setting,
  );

/** What `git` runs by options that several of its subcommands take. */
const gitTransfer: ProgramGrammar = {
  scripts: 'git-remote',
  hosts: 'first-before-colon',
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
      '-p -P --paginate --no-pager --no-optional-locks --glob-pathspecs --icase-pathspecs --bare --no-replace-objects --literal-pathspecs --version --help',
    ),
  },
  isHarmlessSetting: isHarmlessGitSetting,
  commands: {
    ...all(
      'add blame branch cat-file check-ignore checkout cherry cherry-pick clean commit count-objects describe ' +
        'fsck gc help init ls-files ls-tree merge merge-base mv name-rev notes reflog rev-list rev-parse reset ' +
        'restore revert rm shortlog show-ref stash status switch symbolic-ref tag version worktree apply am ' +
        'sparse-checkout for-each-ref diff-index diff-files diff-tree range-diff whatchanged hash-object var annotate ' +
        'format-patch rerere verify-commit verify-tag write-tree update-index read-tree mktree commit-tree prune repack',
      gitPlain,
    ),
    init: { options: mean('refused', '--template') },
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
    remote: { scripts: 'git-remote', hosts: 'before-colon', options: mean('flag', '-u') },
    'ls-remote': gitTransfer,
    archive: { ...gitTransfer, options: mean('refused', '--exec --remote') },
    bisect: {
      commands: all('start good bad old new skip reset log next terms visualize replay', plain),
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
          '--global --local --system --worktree --get --get-all --get-regexp --list -l --unset --unset-all --show-origin --show-scope --bool --int --path -z --null --name-only --includes',
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

export const versionControl: Programs = {
  git,
};
