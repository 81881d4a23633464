/** Shells. */
import { all, mean, prefix, refused } from './build-grammar.ts';
import type { ProgramGrammar, Programs } from './grammar.ts';

const shell: ProgramGrammar = {
  shell: true,
  needsOperand: true,
  firstOperandEnds: true,
  options: {
    ...mean('enough', '--version --help'),
    ...mean('operand-text', '-c'),
    ...mean('value', '-o +o -O +O'),
    ...mean('refused', '--rcfile --init-file -s'),
  },
};

/** Builtins that set variables: others than the harmless ones change what later commands run. */
const setsVariables: ProgramGrammar = { assignments: 'skip' };

export const shells: Programs = {
  ...all('sh bash dash zsh ksh mksh ash rbash csh tcsh yash', shell),
  fish: { ...shell, options: { ...shell.options, ...mean('refused', '-C -d -D -p') } },
  // Their texts are in another language.
  ...all('pwsh powershell cmd wscript cscript mshta rundll32 forfiles', refused),
  // These change what later words mean, or run a text later.
  ...all('alias trap hash enable bind complete mapfile readarray shopt unset set', refused),
  ...all('export declare typeset local readonly', setsVariables),
  eval: { runs: { after: 0, as: 'text' } },
  source: { needsOperand: true },
  exec: prefix('-a', '-c -l'),
  command: prefix('', '-p -v -V'),
  builtin: prefix(''),
  su: refused,
  expect: refused,
};
