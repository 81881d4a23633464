/** Shells. */
import { all, mean, prefix, refused } from './build-grammar.ts';
import type { ProgramGrammar, Programs } from './grammar.ts';

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

export const shells: Programs = {
  ...all('sh bash dash zsh ksh mksh ash rbash fish csh tcsh yash pwsh powershell', shell),
  eval: { runs: { after: 0, as: 'text' } },
  source: { needsOperand: true },
  exec: prefix('-a'),
  command: prefix(''),
  builtin: prefix(''),
  su: refused,
  expect: refused,
};
