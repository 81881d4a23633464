/**
 * The programs a plain command line would run: its first word, and what well-known programs run in turn
 * (`sudo rm`, `env X=1 rm`, `find . -exec rm {} +`, `bash -c 'rm x'`). What other programs can be talked into by
 * their own options (`git -c alias.x='!rm'`, `awk 'system()'`) stays theirs: whoever allows them allows that.
 */
import { readCommandLine, type ShellWord } from './command-line.ts';

const wrappers: ReadonlySet<string> = new Set(
  (
    'sudo doas env nohup nice ionice time timeout xargs exec command builtin setsid stdbuf chroot unshare nsenter ' +
    'busybox toybox strace ltrace watch flock runuser su script parallel caffeinate proot fakeroot'
  ).split(' '),
);
const shells: ReadonlySet<string> = new Set('sh bash dash zsh ksh ash fish rbash'.split(' '));
const deepest = 4;

/** Each as the words it begins with. Undefined where that cannot be told. */
export function programsRun(
  words: readonly ShellWord[],
  depth = 0,
): readonly (readonly string[])[] | undefined {
  const texts = words.map(({ text }) => text);
  const [first] = texts;
  if (first === undefined || words[0]?.wildcard === true || depth > deepest) return undefined;
  const programs: (readonly string[])[] = [texts];
  const inner: (readonly (readonly string[])[] | undefined)[] = [];
  const name = first.slice(first.lastIndexOf('/') + 1);
  if (wrappers.has(name)) {
    // An option's own value is taken for the program: it is then not on any list, which errs on the safe side.
    const at = texts.findIndex((text, index) => index > 0 && !/^-|^\w+=|^\d+[smhd]?$/.test(text));
    if (at > 0) inner.push(programsRun(words.slice(at), depth + 1));
  }
  if (name === 'eval') inner.push(runText(texts.slice(1).join(' '), depth));
  if (shells.has(name)) {
    const flag = texts.findIndex((text, index) => index > 0 && /^[-+][a-z]*c[a-z]*$/i.test(text));
    if (flag > 0)
      inner.push(runText(texts.slice(flag + 1).find((text) => !text.startsWith('-')) ?? '', depth));
  }
  if (name === 'find')
    for (const [at, text] of texts.entries())
      if (/^-(?:exec|ok)(?:dir)?$/.test(text)) inner.push(programsRun(words.slice(at + 1), depth + 1));
  for (const found of inner) {
    if (found === undefined) return undefined;
    programs.push(...found);
  }
  return programs;
}

function runText(text: string, depth: number): readonly (readonly string[])[] | undefined {
  const line = readCommandLine(text);
  return line.plain ? programsRun(line.words, depth + 1) : undefined;
}
