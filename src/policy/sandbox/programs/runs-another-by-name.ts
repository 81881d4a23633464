/** Does the name of an option say that it runs something? */
export function runsAnotherByName(name: string): boolean {
  const words = name
    .replace(/^-+/, '')
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_.]/);
  return !/^(?:no|ignore|list|without)$/.test(words[0] ?? '') && words.some((word) => runningWords.has(word));
}

const runningWords: ReadonlySet<string> = new Set(
  (
    'exec execute execdir command commands cmd shell rsh eval pager editor program hook hooks interpreter wrapper ' +
    'launcher preload plugin plugins viewer browser askpass toolexec preprocessor postprocessor'
  ).split(' '),
);
