/** Package managers and their runners. */
import { all, mean, plain, prefix, refused } from './build-grammar.ts';
import type { ProgramGrammar, Programs } from './grammar.ts';

const packageRunner = (values: string): ProgramGrammar =>
  prefix(values, 0, { options: mean('text', '-c --call --shell-mode') });

const npmCommands = [
  'test t run run-script rum urn start stop restart install i ci add install-test it uninstall un remove rm update',
  'up upgrade ls list ll outdated audit view v info show pack publish version prune dedupe ddp link root prefix',
  'bin fund doctor cache ping whoami search help docs repo bugs deprecate owner dist-tag token profile team access org star',
  'stars unstar shrinkwrap rebuild query sbom diff explain why find-dupes login logout adduser config c get set completion licenses store',
  'import fetch patch deploy workspace workspaces set-script',
].join(' ');

const packageManager = (values: string, extra: Readonly<Record<string, ProgramGrammar>>): ProgramGrammar => ({
  options: {
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
    config: { commands: { get: plain, list: plain, ls: plain, delete: plain } },
    ...extra,
  },
});

export const packages: Programs = {
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
};
