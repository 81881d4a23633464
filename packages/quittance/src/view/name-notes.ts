/**
 * Finds member names that look like each other, or like names in another script.
 *
 * `createNameNotes` refers to nothing outside itself: the decision page runs its source in a browser.
 */
import { safeText } from '../base/safe-text.ts';

export function createNameNotes(
  show: (text: string) => string,
): (names: readonly string[]) => ReadonlyMap<string, string> {
  /** Letters of other scripts and the Latin letters they resemble. */
  const alike: readonly (readonly [string, string])[] = [
    ['АВЕЗКМНОРСТУХЅІЈҺӀԌԚԜаезкорусхѕіјһӏԁԛԝьѵү', 'ABE3KMHOPCTYXSIJhlGQWae3kopycxsijhldqwbvy'],
    ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορυωϲϳ', 'ABEZHIKMNOPTYXayiKvopuwcj'],
    ['օսհոցզՕՍՏ', 'ouhngqOUS'],
    ['ıɑɡ', 'iag'],
  ];
  const latin = new Map(
    alike.flatMap(([from, to]) => {
      const shown = Array.from(to);
      return Array.from(from, (letter, index): [string, string] => [letter, shown[index] ?? letter]);
    }),
  );
  const quote = (name: string): string => `"${show(name)}"`;

  /** Names with the same skeleton look alike. */
  const skeletonOf = (name: string): string => {
    const letters = /^[ -~]*$/.test(name)
      ? name
      : Array.from(
          name.normalize('NFKD').replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}\p{Cc}\s]/gu, ''),
          (letter) => latin.get(letter) ?? letter,
        ).join('');
    return letters
      .replaceAll(/[I|1!]/g, 'l')
      .toLowerCase()
      .replaceAll('0', 'o')
      .replaceAll('rn', 'm')
      .replaceAll('vv', 'w');
  };

  return (names) => {
    const notes = new Map<string, string>();
    const bySkeleton = new Map<string, string[]>();
    for (const name of names) {
      const skeleton = skeletonOf(name);
      const same = bySkeleton.get(skeleton);
      if (same === undefined) bySkeleton.set(skeleton, [name]);
      else same.push(name);
      if (show(name) !== name)
        notes.set(
          name,
          `The name ${quote(name)} contains characters that are invisible or look like other characters.`,
        );
    }
    for (const same of bySkeleton.values())
      if (same.length > 1)
        for (const name of same) {
          const others = same.filter((other) => other !== name).slice(0, 3);
          notes.set(name, `The name ${quote(name)} looks like ${others.map(quote).join(', ')}.`);
        }
    return notes;
  };
}

/** Warnings about misleading names among the given siblings, by name. */
export const noteNames: (names: readonly string[]) => ReadonlyMap<string, string> = createNameNotes(safeText);
