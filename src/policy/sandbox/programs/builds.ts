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
    options: mean('refused', '--config'),
    commands: all(
      'build b check c test t clippy fmt doc run r bench add remove update tree metadata clean search install fetch vendor publish package version fix init new nextest audit',
      { options: mean('refused', '--config') },
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
};
