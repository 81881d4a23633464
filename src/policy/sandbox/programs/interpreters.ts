/** Interpreters. Code in an option is not read; a file of code is a file. */
import { interpreter, mean, plain, refused } from './build-grammar.ts';
import type { Programs } from './grammar.ts';

export const interpreters: Programs = {
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
  osascript: refused,
  tclsh: interpreter('-encoding'),
  Rscript: interpreter('-e'),
  julia: interpreter('-e -E --eval --print -L'),
  groovy: interpreter('-e'),
  ghci: refused,
  elixir: interpreter('-e --eval -r -pr --rpc-eval'),
  irb: refused,
  jshell: refused,
};
