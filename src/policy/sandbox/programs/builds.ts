/** Compilers and build tools. */
import { all, mean, refused } from './build-grammar.ts';
import type { Programs } from './grammar.ts';

export const builds: Programs = {
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
    options: mean('value', '-C'),
    commands: {
      ...all('build test vet list mod fmt version env doc clean get install fix telemetry work', {
        longWithOneDash: true,
        options: mean('refused', '-exec -toolexec -vettool -overlay'),
      }),
      run: { longWithOneDash: true, options: mean('refused', '-exec -toolexec -overlay') },
      env: { longWithOneDash: true, options: mean('refused', '-w') },
      generate: refused,
      tool: refused,
    },
  },
  cargo: {
    options: {
      ...mean('refused', '--config'),
      ...mean('value', '--color -C -Z'),
      ...mean('flag', '-q -v --offline --locked --frozen --list +'),
    },
    commands: all(
      'build b check c test t clippy fmt doc run r bench add remove update tree metadata clean search install fetch vendor publish package version fix init new nextest audit',
      { options: mean('refused', '--config') },
    ),
  },
  // `-fplugin=x` and `-Bdir` are one word each.
  gcc: {
    longWithOneDash: true,
    refusedStart: /^(?:-wrapper|-B|-?-specs|-f(?:pass-)?plugin|-fuse-ld|-Xclang|-Wl,.*plugin|@)/,
  },
  java: {
    longWithOneDash: true,
    needsOperand: true,
    options: {
      ...mean('value', '-cp -classpath --class-path --module-path'),
      ...mean('module', '-jar -m --module'),
    },
    refusedStart: /^(?:-javaagent|-agentlib|-agentpath|-XX:(?:On|Flags|VMOptions)|@)/,
  },
};
