/**
 * How programs run other programs. One row per program: the options that take a value, and the options or operands that
 * name a program, a shell text or code. A program without a row is read generically: options whose name says that they
 * run something (`--exec`, `--pager`) are refused.
 *
 * To add a program, add a row to its family in `programs`. A missing row can only matter for a program that a rule
 * lists.
 */
import type { ProgramGrammar, Programs } from './programs/grammar.ts';
import { builds } from './programs/builds.ts';
import { containers } from './programs/containers.ts';
import { files } from './programs/files.ts';
import { interpreters } from './programs/interpreters.ts';
import { network } from './programs/network.ts';
import { packages } from './programs/packages.ts';
import { scripts } from './programs/scripts.ts';
import { shells } from './programs/shells.ts';
import { versionControl } from './programs/version-control.ts';
import { wrappers } from './programs/wrappers.ts';

const programs: Programs = {
  ...shells,
  ...wrappers,
  ...network,
  ...interpreters,
  ...scripts,
  ...files,
  ...builds,
  ...packages,
  ...containers,
  ...versionControl,
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
  pip3: 'pip',
  pex: 'python',
};

const generic: ProgramGrammar = {};

export const isKnownProgram = (name: string): boolean => grammarOfProgram(name) !== generic;

export function grammarOfProgram(name: string): ProgramGrammar {
  const versioned = name.replace(/^(python|perl|ruby|php|lua|node|pypy|gcc|clang)[\d.-]+$/, '$1');
  const known = Object.hasOwn(aliases, versioned) ? (aliases[versioned] ?? versioned) : versioned;
  if (Object.hasOwn(programs, known)) return programs[known] ?? generic;
  // Windows finds `PowerShell` by every spelling.
  const lower = known.toLowerCase();
  return lower === known ? generic : grammarOfProgram(lower);
}
