/** Package managers and their runners. */
import { all, mean, plain, prefix, prefixAfterOne, refused } from './build-grammar.ts';
import type { ProgramGrammar, Programs } from './grammar.ts';

const packageFlags =
  '-s -d -q -y --yes -n -g --global -r --recursive -f --force -ws --workspaces --include-workspace-root --if-present ' +
  '--json --offline --prefer-offline --ignore-scripts --dry-run --legacy-peer-deps --ignore-existing --production ' +
  '-D --save-dev -E --save-exact -P --prod --frozen-lockfile --immutable --parallel --stream --reverse --color';

const packageRunner = (values: string): ProgramGrammar =>
  prefix(values, packageFlags, { options: mean('text', '-c --call --shell-mode') });

const npmCommands = [
  'test t run run-script rum urn start stop restart install i ci add install-test it uninstall un remove rm update',
  'up upgrade ls list ll outdated audit view v info show pack publish version prune dedupe ddp link root prefix',
  'bin fund doctor cache ping whoami search help docs repo bugs deprecate owner dist-tag token profile team access org star',
  'stars unstar shrinkwrap rebuild query sbom diff explain why find-dupes login logout adduser get completion licenses store',
  'import fetch patch deploy workspace workspaces set-script',
].join(' ');

const packageManager = (
  values: string,
  extra: Readonly<Record<string, ProgramGrammar>>,
  flags = '',
): ProgramGrammar => ({
  options: {
    ...mean('flag', packageFlags),
    ...mean('flag', flags),
    ...mean('value', values),
    ...mean('refused', '--script-shell --node-options --shell --shell-emulator'),
    ...mean('text', '-c --call'),
  },
  commands: {
    ...all(npmCommands, plain),
    exec: packageRunner('-w --workspace -p --package --filter -F'),
    x: packageRunner('-w --workspace -p --package'),
    dlx: packageRunner('-p --package'),
    explore: { runs: { after: 1, as: 'words' } },
    edit: refused,
    create: prefix(''),
    init: plain,
    innit: plain,
    ...all('config c', { commands: { get: plain, list: plain, ls: plain, delete: plain } }),
    ...extra,
  },
});

export const packages: Programs = {
  bun: {
    options: {
      ...mean('refused', '-e --eval -p --print -r --preload'),
      ...mean('flag', '--bun -b --watch --hot --smol'),
      ...mean('value', '--cwd --filter -F --env-file'),
    },
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
  npm: packageManager('--prefix -C -w --workspace --registry --loglevel --userconfig --cache --tag --otp', {
    exec: packageRunner('-w --workspace -p --package'),
    init: prefix(''),
  }),
  pnpm: packageManager(
    '-C --dir --filter -F --workspace-concurrency --loglevel',
    {
      exec: packageRunner('--filter -F'),
      node: refused,
    },
    '-w --workspace-root',
  ),
  yarn: { ...packageManager('--cwd', { node: refused }), otherCommands: 'harmless' },
  npx: packageRunner('-p --package -w --workspace'),
  bunx: packageRunner('-p --package'),
  pnpx: packageRunner('-p --package'),
  corepack: { commands: { enable: plain, disable: plain, prepare: plain } },
  concurrently: refused,
  nodemon: refused,
  uv: {
    options: {
      ...mean('value', '--project --directory --cache-dir --config-file --color'),
      ...mean('flag', '-q -v -n --offline --native-tls'),
    },
    commands: {
      run: prefix(
        '--with --with-editable --with-requirements -p --python --project --directory --env-file --extra --group --only-group --package --index --index-url --default-index',
        '--frozen --locked --offline --isolated --active --exact --all-extras --all-groups --dev --only-dev -q -v -n -U --upgrade --refresh',
        { options: mean('module', '-m') },
      ),
      sync: plain,
      lock: plain,
      add: plain,
      remove: plain,
      pip: plain,
      tree: plain,
      venv: plain,
      version: plain,
      python: plain,
      tool: {
        commands: { run: prefix('--from --with', '-q -v --isolated --refresh'), list: plain, install: plain },
      },
    },
  },
  uvx: prefix('--from --with -p --python --index', '-q -v -n --offline --isolated --refresh'),
  pipx: {
    commands: {
      run: prefix('--spec --python --index-url -i', '-q -v --no-cache'),
      list: plain,
      install: plain,
    },
  },
  poetry: {
    options: {
      ...mean('value', '-C --directory -P --project'),
      ...mean('flag', '-n -q -v --no-interaction --ansi'),
    },
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
  conda: {
    commands: {
      run: prefix('-n --name -p --prefix --cwd', '-v --live-stream'),
      list: plain,
      info: plain,
      env: plain,
    },
  },
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
  ...all('apt apt-get aptitude', { options: mean('refused', '-o --option -c --config-file') }),
  dpkg: { refusedStart: /^--(?:pre|post)-invoke|^--admindir|^--instdir|^--root/ },
  rpm: { options: mean('refused', '-E --eval --pipe -D --define --macros --rcfile --load') },
  ...all('dnf yum', { options: mean('refused', '--setopt -c --config') }),
  pip: { options: mean('refused', '--python') },
  ...all('pdm hatch rye pixi', {
    commands: {
      run: prefix(''),
      ...all('install add remove update lock list show build env version', plain),
    },
  }),
  ...all('rbenv pyenv nodenv asdf nvm fnm stack cabal opam', {
    commands: { exec: prefix(''), ...all('versions version list which current local', plain) },
  }),
  ...all('mise', {
    commands: { ...all('exec x', prefix('')), ...all('ls list current which install', plain) },
  }),
  rustup: {
    commands: {
      run: prefixAfterOne('', '--install'),
      ...all('show toolchain target component update which default doc', plain),
    },
  },
  ...all(
    'nix nix-shell guix lerna nx turbo cross-env cross-env-shell env-cmd dotenv dotenvx doppler',
    refused,
  ),
  ...all('npm-run-all run-s run-p', refused),
};
