/** The paths and directories in the words of one command. */
import { longestPath } from './path-collector.ts';

/** The texts in a word that may be a path: the word, and its parts as in `--file=x`, `if=x`, `-fx`, `host:x`, `@x`. */
export function pathsInCommandWord(word: string): readonly string[] {
  if (word === '' || word.length > longestPath) return [];
  const pieces = word.split(/[=:,@]/);
  const glued = /^-\w(.+)$/s.exec(word)?.[1];
  return [
    word,
    ...(pieces.length > 1 ? pieces.filter((piece) => piece !== '') : []),
    ...(glued === undefined ? [] : [glued]),
  ];
}

/** `cp contracts.yaml folder` makes `folder/contracts.yaml`. */
export function movedPaths(words: readonly string[]): readonly string[] {
  const program = words.findIndex((word) => /(?:^|\/)(?:cp|mv|install|ln|rsync|scp)$/.test(word));
  if (program < 0) return [];
  const operands = words.slice(program + 1).filter((word) => !word.startsWith('-'));
  const option = words.findIndex((word) => word === '-t' || word === '--target-directory');
  const glued = words.find((word) => /^(?:--target-directory=|-t.)/.test(word));
  const target =
    option >= 0 ? words[option + 1] : (glued?.replace(/^(?:--target-directory=|-t)/, '') ?? operands.at(-1));
  if (target === undefined) return [];
  return operands.flatMap((operand) => {
    const name = operand.split('/').findLast((part) => part !== '');
    return name === undefined || operand === target ? [] : [`${target}/${name}`];
  });
}

/** The directories that `cd`, `-C` and similar words name. */
export function changedDirectories(words: readonly string[]): readonly string[] {
  return words.flatMap((word, index) => {
    const next = words[index + 1];
    const changes = /^(?:cd|chdir|pushd|-C|--directory|--cwd|--prefix|--work-tree|-D|--chdir)$/.test(word);
    const glued = /^(?:-C|--(?:directory|cwd|prefix|work-tree|chdir)=)(.+)$/s.exec(word)?.[1];
    return [...(changes && next !== undefined ? [next] : []), ...(glued === undefined ? [] : [glued])];
  });
}
